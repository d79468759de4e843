//! URLs, header fields and bodies of requests.

use crate::golden_cases::decided;
use crate::golden_cases::shapes::kind;
use aiperf_dialect::{Api, EncodedRequest, HeadTemplate, Session, url};
use aiperf_golden::cases::Trial;
use aiperf_golden::kinds::endpoints::{JOINED_URL, REQUEST};
use aiperf_plan::{BaseUrl, EndpointPlan, HttpSettings, SessionHeader};
use aiperf_types::{BodyKind, ContextMode, Conversation, EndpointKind};
use base64::Engine;
use serde_json::{Map, Value, json};

pub(crate) fn golden_urls_are_joined() -> Vec<Trial> {
    JOINED_URL.trials(
        |_| None,
        |case| {
            let params: Vec<(String, String)> = case["url_params"]
                .as_object()
                .map(|map| map.iter().map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned())).collect())
                .unwrap_or_default();
            let (base, path) = (case["url"].as_str().unwrap(), case["custom_endpoint"].as_str());
            let (streaming, wanted) = (case["streaming"].as_bool().unwrap(), case["expected"].as_str().unwrap());
            assert_eq!(url::join(base, kind(case), streaming, path, &params), wanted);
            // A run comes here by a URL that was found valid, and has no parameters of its own yet.
            if let (Ok(base), true) = (BaseUrl::parse(base), params.is_empty()) {
                let endpoint = EndpointPlan { streaming, path: path.map(str::to_owned), ..endpoint(case) };
                // Credentials are sent in a header field.
                assert_eq!(HeadTemplate::new(&endpoint, &base, "").url(), without_credentials(wanted));
            }
        },
    )
}

/// A URL without what is before its host, and with its scheme in small letters.
pub(crate) fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next().unwrap_or_default();
    format!("{}://{host}{}", scheme.to_lowercase(), &rest[end..])
}

pub(crate) fn credentials_end_before_the_host() {
    assert_eq!(without_credentials("HTTP://u:p@h:1/x@y?a=b@c"), "http://h:1/x@y?a=b@c");
    assert_eq!(without_credentials("http://h/x@y"), "http://h/x@y");
}

/// The variable that a header of sessions has in golden data.
fn variable(header: SessionHeader) -> String {
    header.variable().replacen("AIPERF_HTTP_", "HTTP.", 1)
}

/// Whether a case wants a header of sessions.
fn wants(case: &Value, header: SessionHeader) -> bool {
    let usual = HttpSettings::default().session_headers.contains(&header);
    case["config"]["env"][variable(header)].as_bool().unwrap_or(usual)
}

fn not_there_yet(case: &Value) -> Option<String> {
    let parent = &case["request"]["parent_correlation_id"];
    if parent.is_string() && wants(case, SessionHeader::DynamoSessionId) {
        return Some("not there yet: sessions that other sessions begin".to_owned());
    }
    decided::request(case)
}

pub(crate) fn endpoint(case: &Value) -> EndpointPlan {
    let config = &case["config"];
    let list = |key: &str| config[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let flag = |key: &str| config[key].as_bool().unwrap_or(false);
    let urls: Vec<BaseUrl> = list("urls").iter().map(|url| BaseUrl::parse(url.as_str().unwrap()).unwrap()).collect();
    let default = HttpSettings::default();
    let session_headers = SessionHeader::ALL.iter().copied().filter(|header| wants(case, *header)).collect();
    let urls = if urls.is_empty() { vec![BaseUrl::parse("http://localhost:8000").unwrap()] } else { urls };
    let template = &config["template"];
    let named = |value: &Value| value.as_str().map(str::to_owned);
    let mut extra: Map<String, Value> = list("extra").iter().map(|pair| (text(&pair[0]), pair[1].clone())).collect();
    let has_own = kind(case) == EndpointKind::Template || kind(case) == EndpointKind::Raw;
    // As the configuration has it: settings of templates and responses among the extra inputs are not sent.
    let (mut from_extra, mut field_from_extra) = (None, None);
    if has_own && template.is_null() {
        from_extra = extra.shift_remove("payload_template").as_ref().and_then(named);
        field_from_extra = extra.shift_remove("response_field").as_ref().and_then(named);
    }
    EndpointPlan {
        path: named(&config["custom_endpoint"]),
        streaming: flag("streaming"),
        api_key: named(&config["api_key"]),
        headers: list("headers").iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect(),
        extra,
        body: match config["request_content_type"].as_str() {
            Some("application/json") => BodyKind::Json,
            Some(_) => BodyKind::Multipart,
            None => kind(case).traits().body,
        },
        template: named(&template["body"]).or(from_extra).map(|source| match source.as_str() {
            "nv-embedqa" => r#"{"text": {{ texts|tojson }}}"#.to_owned(),
            _ => source,
        }),
        response_field: named(&template["response_field"])
            .or(field_from_extra)
            .filter(|field| kind(case) != EndpointKind::Template || field != "text"),
        force_content_parts: config["env"]["ENDPOINT.FORCE_CONTENT_PARTS"].as_bool().unwrap_or(false),
        session_header: named(&config["session_header"]),
        timeout_seconds: config["timeout"].as_f64().unwrap_or(0.0),
        legacy_max_tokens: flag("use_legacy_max_tokens"),
        server_token_count: flag("use_server_token_count"),
        per_chunk_usage: flag("per_chunk_usage"),
        http: HttpSettings { session_headers, ..default },
        ..EndpointPlan::new(kind(case), urls)
    }
}

/// The value of a header field that the case expects: its ids and version are those of the run that it was taken from.
fn header<'a>(case: &'a Value, field: &str) -> &'a str {
    let fields = case["expected"]["headers"].as_array().into_iter().flatten();
    fields.filter(|pair| pair[0] == field).find_map(|pair| pair[1].as_str()).unwrap_or_default()
}

/// The run's model. A case that names none was taken with one that shows in its body alone, unless a turn or an extra
/// member is there in its place.
fn model(case: &Value) -> &str {
    let is_named_elsewhere =
        case["request"]["turns"].as_array().into_iter().flatten().any(|turn| turn["model"].is_string())
            || case["config"]["extra"].as_array().into_iter().flatten().any(|pair| pair[0] == "model");
    let body = &case["expected"]["body"];
    let shown = body["model"].as_str().or(body["inference_model"].as_str()).filter(|_| !is_named_elsewhere);
    case["config"]["models"][0].as_str().or(shown).unwrap_or("test-model")
}

/// The request of a case's last turn: those before it were sent, responses among them.
fn encoded(case: &Value) -> Result<EncodedRequest, String> {
    let api = Api::new(&endpoint(case), model(case)).map_err(|error| error.to_string())?;
    let mut conversation: Conversation =
        serde_json::from_value(case["request"].clone()).map_err(|error| error.to_string())?;
    conversation.context_mode = Some(ContextMode::DeltasWithResponses);
    let last = conversation.turns.len().saturating_sub(1);
    let previous = case["request"]["previous_response_id"].as_str().map(str::to_owned);
    let mut session = Session::new(api.into(), conversation.into());
    session.continue_from(previous);
    session.ask(last).map_err(|error| error.to_string())
}

/// Reads a form as strictly as a server might, and holds its parts against those wanted.
fn compare_form(encoded: &EncodedRequest, wanted: &[Value]) {
    let content_type = encoded.content_type.as_deref().unwrap();
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
    let body = encoded.body.joined();
    let mut rest = body.strip_prefix(format!("--{boundary}").as_bytes()).unwrap();
    let mut parts = Vec::new();
    let delimiter = format!("\r\n--{boundary}").into_bytes();
    while let Some(part) = rest.strip_prefix(b"\r\n") {
        let end = part.windows(delimiter.len()).position(|window| window == delimiter).unwrap();
        let head = part.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        parts.push((String::from_utf8(part[..head].to_vec()).unwrap(), part[head + 4..end].to_vec()));
        rest = &part[end + delimiter.len()..];
    }
    assert_eq!(rest, b"--\r\n");
    assert_eq!(parts.len(), wanted.len(), "{parts:?}");
    for ((head, data), wanted) in parts.iter().zip(wanted) {
        let name = wanted["name"].as_str().unwrap();
        let file = wanted["filename"].as_str().map(|file| format!("; filename=\"{file}\"")).unwrap_or_default();
        let kind = wanted["content_type"].as_str().unwrap();
        let disposition = format!("Content-Disposition: form-data; name=\"{name}\"{file}");
        assert_eq!(*head, format!("Content-Type: {kind}\r\n{disposition}"));
        match wanted["data_base64"].as_str() {
            Some(coded) => assert_eq!(*data, base64::engine::general_purpose::STANDARD.decode(coded).unwrap()),
            None => assert_eq!(String::from_utf8_lossy(data), wanted["text"].as_str().unwrap()),
        }
    }
}

pub(crate) fn golden_requests_are_put_as_the_api_wants_them() -> Vec<Trial> {
    REQUEST.trials(not_there_yet, |case| {
        let wanted = &case["expected"];
        let endpoint = endpoint(case);
        let encoded = encoded(case);
        if !wanted["error"].is_null() {
            assert!(encoded.is_err(), "{encoded:?}");
            return;
        }
        let encoded = encoded.unwrap();
        match wanted["multipart"].as_array() {
            Some(parts) => {
                compare_form(&encoded, parts);
                let payload: Value = serde_json::from_slice(&encoded.body.payload()).unwrap();
                assert_eq!(payload, wanted["payload_json"]);
            }
            None => {
                assert_eq!(String::from_utf8_lossy(&encoded.body.joined()), wanted["body_text"].as_str().unwrap());
            }
        }
        let at = case["request"]["url_index"].as_u64().unwrap_or(0) as usize % endpoint.urls.len();
        let version = header(case, "User-Agent").trim_start_matches("aiperf/");
        let head = HeadTemplate::with_headers(&endpoint, &endpoint.urls[at], version, &encoded.headers);
        let of_session = endpoint.session_header.as_deref().unwrap_or("X-Correlation-ID");
        let fields = head.fields(header(case, "X-Request-ID"), header(case, of_session));
        assert_eq!(json!(fields), wanted["headers"]);
        assert_eq!(head.url(), wanted["url"].as_str().unwrap());
        let mut written = Vec::new();
        head.write(&mut written, 1, &aiperf_types::CorrelationId::Uuid(2), &encoded);
        let (id, of_session) = (uuid(1), uuid(2));
        let fields: String = head
            .sent_fields(&id, &of_session, &encoded)
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let written = String::from_utf8(written).unwrap();
        assert_eq!(written.split_once("\r\n").unwrap().1, format!("{fields}\r\n"), "listed as it is sent");
    })
}

fn uuid(id: u128) -> String {
    String::from_utf8(aiperf_types::uuid_text(id).to_vec()).unwrap()
}

pub(crate) fn requests_to_a_socket_are_as_to_localhost() {
    let case = json!({"endpoint_type": "chat", "config": {"urls": ["unix:///run/llm.sock"]}});
    let endpoint = endpoint(&case);
    let head = HeadTemplate::new(&endpoint, &endpoint.urls[0], "0");
    assert_eq!(head.url(), "http://localhost/v1/chat/completions");
    assert_eq!(head.sent_fields("", "", &EncodedRequest::default())[0], ("Host".to_owned(), "localhost".to_owned()));
}
