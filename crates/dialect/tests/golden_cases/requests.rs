//! URLs, header fields and bodies of requests.

use crate::shapes::{self, REQUEST, URL, kind, unspoken};
use aiperf_dialect::kinds::Request;
use aiperf_dialect::{HeadTemplate, dialect, url};
use aiperf_golden::Tally;
use aiperf_plan::{BaseUrl, EndpointPlan, HttpSettings, ReuseStrategy, SessionHeader, Transport};
use aiperf_types::Conversation;
use serde_json::{Value, json};

#[test]
fn golden_urls_are_joined() {
    let mut tally = Tally::new("URLs");
    tally.run_files(
        &shapes::files(URL),
        URL,
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
                assert_eq!(HeadTemplate::new(&endpoint, &base, "").url(), wanted);
            }
        },
    );
    tally.finish();
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

/// What a case may set. A setting that is not listed is a feature that is not there yet.
const SETTINGS: &[&str] = &[
    "urls",
    "models",
    "streaming",
    "custom_endpoint",
    "headers",
    "extra",
    "api_key",
    "use_legacy_max_tokens",
    "use_server_token_count",
    "per_chunk_usage",
    "timeout",
    "env",
];
const REQUEST_MEMBERS: &[&str] =
    &["turns", "system_message", "user_context_message", "url_index", "parent_correlation_id"];
const TURN_MEMBERS: &[&str] = &["role", "model", "max_tokens", "texts", "images", "audios", "videos"];
const MEDIA_MEMBERS: &[&str] = &["name", "contents"];

/// The first member, with a value, that is not among those known.
fn unknown<'a>(object: &'a Value, known: &[&str]) -> Option<&'a str> {
    let members = object.as_object().into_iter().flatten();
    members.filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str()).find(|name| !known.contains(name))
}

fn not_there_yet(case: &Value) -> Option<String> {
    let turns = || case["request"]["turns"].as_array().into_iter().flatten();
    let media = || {
        let kinds = ["texts", "images", "audios", "videos"];
        turns().flat_map(move |turn| kinds.into_iter().flat_map(|kind| turn[kind].as_array().into_iter().flatten()))
    };
    let variables: [String; 4] = std::array::from_fn(|at| variable(SessionHeader::ALL[at]));
    let parent = &case["request"]["parent_correlation_id"];
    if parent.is_string() && wants(case, SessionHeader::DynamoSessionId) {
        return Some("not there yet: sessions that other sessions begin".to_owned());
    }
    let missing = unknown(&case["config"], SETTINGS)
        .or_else(|| unknown(&case["config"]["env"], &variables.each_ref().map(String::as_str)))
        .or_else(|| unknown(&case["request"], REQUEST_MEMBERS))
        .or_else(|| turns().find_map(|turn| unknown(turn, TURN_MEMBERS)))
        .or_else(|| media().find_map(|media| unknown(media, MEDIA_MEMBERS)));
    unspoken(case).or_else(|| missing.map(|name| format!("not there yet: {name}")))
}

pub(crate) fn endpoint(case: &Value) -> EndpointPlan {
    let config = &case["config"];
    let list = |key: &str| config[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let flag = |key: &str| config[key].as_bool().unwrap_or(false);
    let urls: Vec<BaseUrl> = list("urls").iter().map(|url| BaseUrl::parse(url.as_str().unwrap()).unwrap()).collect();
    let default = HttpSettings::default();
    let session_headers = SessionHeader::ALL.iter().copied().filter(|header| wants(case, *header)).collect();
    EndpointPlan {
        kind: kind(case),
        urls: if urls.is_empty() { vec![BaseUrl::parse("http://localhost:8000").unwrap()] } else { urls },
        transport: Transport::Http,
        path: config["custom_endpoint"].as_str().map(str::to_owned),
        streaming: flag("streaming"),
        api_key: config["api_key"].as_str().map(str::to_owned),
        headers: list("headers").iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect(),
        extra: list("extra").iter().map(|pair| (text(&pair[0]), pair[1].clone())).collect(),
        body: aiperf_types::BodyKind::Json,
        template: None,
        force_content_parts: false,
        session_header: None,
        video: aiperf_plan::VideoPlan::default(),
        timeout_seconds: config["timeout"].as_f64().unwrap_or(0.0),
        legacy_max_tokens: flag("use_legacy_max_tokens"),
        server_token_count: flag("use_server_token_count"),
        per_chunk_usage: flag("per_chunk_usage"),
        reuse: ReuseStrategy::Pooled,
        http: HttpSettings { session_headers, ..default },
        readiness: None,
        cache_reset: None,
        server_profiler: None,
    }
}

/// The value of a header field that the case expects: its ids and version are those of the run that it was taken from.
fn told<'a>(case: &'a Value, field: &str) -> &'a str {
    let fields = case["expected"]["headers"].as_array().into_iter().flatten();
    fields.filter(|pair| pair[0] == field).find_map(|pair| pair[1].as_str()).unwrap_or_default()
}

/// The run's model. A case that names none was taken with one that shows in its body alone, unless a turn or an extra
/// member stands there in its place.
fn model(case: &Value) -> &str {
    let is_named_elsewhere =
        case["request"]["turns"].as_array().into_iter().flatten().any(|turn| turn["model"].is_string())
            || case["config"]["extra"].as_array().into_iter().flatten().any(|pair| pair[0] == "model");
    let shown = case["expected"]["body"]["model"].as_str().filter(|_| !is_named_elsewhere);
    case["config"]["models"][0].as_str().or(shown).unwrap_or("the model of the run")
}

#[test]
fn golden_requests_are_put_as_the_api_wants_them() {
    let mut tally = Tally::new("requests");
    tally.run_files(&shapes::files(REQUEST), REQUEST, not_there_yet, |case| {
        let wanted = &case["expected"];
        let endpoint = endpoint(case);
        let conversation: Conversation = serde_json::from_value(case["request"].clone()).unwrap();
        let turn = conversation.turns.len().saturating_sub(1);
        let request = Request { endpoint: &endpoint, model: model(case), conversation: &conversation, turn };
        let body = request.encode(dialect(kind(case)).unwrap());
        if !wanted["error"].is_null() {
            assert!(body.is_err());
            return;
        }
        assert_eq!(String::from_utf8(body.unwrap()).unwrap(), wanted["body_text"].as_str().unwrap());
        let at = case["request"]["url_index"].as_u64().unwrap_or(0) as usize % endpoint.urls.len();
        let version = told(case, "User-Agent").trim_start_matches("aiperf/");
        let head = HeadTemplate::new(&endpoint, &endpoint.urls[at], version);
        let fields = head.fields(told(case, "X-Request-ID"), told(case, "X-Correlation-ID"));
        assert_eq!(json!(fields), wanted["headers"]);
        assert_eq!(head.url(), wanted["url"].as_str().unwrap());
        let mut written = Vec::new();
        head.write(&mut written, 1, 2, 3);
        let (id, of_session) = (uuid(1), uuid(2));
        let told: String =
            head.sent_fields(&id, &of_session, 3).iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let written = String::from_utf8(written).unwrap();
        assert_eq!(written.split_once("\r\n").unwrap().1, format!("{told}\r\n"), "told as it is sent");
    });
    tally.finish();
}

fn uuid(id: u128) -> String {
    String::from_utf8(aiperf_types::uuid_text(id).to_vec()).unwrap()
}

#[test]
fn requests_to_a_socket_are_as_to_localhost() {
    let case = json!({"endpoint_type": "chat", "config": {"urls": ["unix:///run/llm.sock"]}});
    let endpoint = endpoint(&case);
    let head = HeadTemplate::new(&endpoint, &endpoint.urls[0], "0");
    assert_eq!(head.url(), "http://localhost/v1/chat/completions");
    assert_eq!(head.sent_fields("", "", 0)[0], ("Host".to_owned(), "localhost".to_owned()));
}
