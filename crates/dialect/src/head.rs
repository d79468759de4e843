//! Request line and header fields. What is the same in every request of a run is encoded once; the ids and the
//! length are spliced in.

use crate::url;
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_types::uuid_text;

/// One piece of a head.
#[derive(Clone, Debug)]
enum Part {
    Text(Vec<u8>),
    RequestId,
    CorrelationId,
}

/// The value of a header field: fixed, or one of the ids.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    Text(String),
    RequestId,
    CorrelationId,
}

/// The head of every request to one URL.
#[derive(Clone, Debug)]
pub struct HeadTemplate {
    url: String,
    fields: Vec<(String, Field)>,
    parts: Vec<Part>,
}

impl HeadTemplate {
    /// The head for one of the plan's URLs.
    pub fn new(endpoint: &EndpointPlan, base: &BaseUrl, version: &str) -> Self {
        let url = url::join(base.as_str(), endpoint.kind, endpoint.streaming, endpoint.path.as_deref(), &[]);
        let fields = fields(endpoint, base, version);
        let mut parts = vec![Part::Text(format!("POST {} HTTP/1.1\r\n", url::request_target(&url)).into_bytes())];
        let collapsed = collapse(&fields);
        if !collapsed.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text(&mut parts, &format!("Host: {}\r\n", base.host_header()));
        }
        for (name, value) in &collapsed {
            text(&mut parts, name);
            text(&mut parts, ": ");
            match value {
                Field::Text(value) => text(&mut parts, value),
                Field::RequestId => parts.push(Part::RequestId),
                Field::CorrelationId => parts.push(Part::CorrelationId),
            }
            text(&mut parts, "\r\n");
        }
        text(&mut parts, "Content-Length: ");
        Self { url, fields, parts }
    }

    /// The URL requests go to.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Header fields in order, before names that differ only in case are made one.
    pub fn fields(&self, request_id: &str, correlation_id: &str) -> Vec<(String, String)> {
        let shown = |field: &Field| match field {
            Field::Text(text) => text.clone(),
            Field::RequestId => request_id.to_owned(),
            Field::CorrelationId => correlation_id.to_owned(),
        };
        self.fields.iter().map(|(name, value)| (name.clone(), shown(value))).collect()
    }

    /// Appends the head of one request.
    pub fn write(&self, out: &mut Vec<u8>, request_id: u128, correlation_id: u128, body_len: usize) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::RequestId => out.extend_from_slice(&uuid_text(request_id)),
                Part::CorrelationId => out.extend_from_slice(&uuid_text(correlation_id)),
            }
        }
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        let mut rest = body_len;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        out.extend_from_slice(&digits[at..]);
        out.extend_from_slice(b"\r\n\r\n");
    }
}

fn text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.extend_from_slice(text.as_bytes()),
        _ => parts.push(Part::Text(text.as_bytes().to_vec())),
    }
}

fn fields(endpoint: &EndpointPlan, base: &BaseUrl, version: &str) -> Vec<(String, Field)> {
    let mut fields: Vec<(String, Field)> = vec![
        ("User-Agent".into(), Field::Text(format!("aiperf/{version}"))),
        ("X-Request-ID".into(), Field::RequestId),
        ("X-Correlation-ID".into(), Field::CorrelationId),
    ];
    for (name, value) in &endpoint.headers {
        set(&mut fields, name, Field::Text(value.clone()));
    }
    if let Some(key) = &endpoint.api_key {
        set(&mut fields, "Authorization", Field::Text(format!("Bearer {key}")));
    } else if let Some(credentials) = base.credentials()
        && !fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("Authorization"))
    {
        fields.push(("Authorization".into(), Field::Text(credentials.basic())));
    }
    let accept = if endpoint.streaming { "text/event-stream" } else { "application/json" };
    set(&mut fields, "Accept", Field::Text(accept.into()));
    set(&mut fields, "Content-Type", Field::Text("application/json".into()));
    if endpoint.http.session_affinity {
        fields.retain(|(name, _)| !name.eq_ignore_ascii_case("X-Session-Affinity"));
        fields.push(("X-Session-Affinity".into(), Field::CorrelationId));
    }
    fields
}

/// A later value of the same spelling replaces the earlier one in its place.
fn set(fields: &mut Vec<(String, Field)>, name: &str, value: Field) {
    match fields.iter_mut().find(|(known, _)| known == name) {
        Some(field) => field.1 = value,
        None => fields.push((name.to_owned(), value)),
    }
}

/// Names that differ only in case become one: the last spelling and value, in the first one's place.
fn collapse(fields: &[(String, Field)]) -> Vec<(String, Field)> {
    let mut out: Vec<(String, Field)> = Vec::new();
    for (name, value) in fields {
        match out.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some(field) => *field = (name.clone(), value.clone()),
            None => out.push((name.clone(), value.clone())),
        }
    }
    out
}
