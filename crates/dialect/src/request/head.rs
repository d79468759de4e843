//! Request line and header fields. What is the same in every request of a run is encoded once; the ids and the
//! length are spliced in.

use crate::request::EncodedRequest;
use crate::request::url;
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_types::{BodyKind, CorrelationId, uuid_text};
use std::borrow::Cow;

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

impl Field {
    fn text(&self, request_id: &str, correlation_id: &str) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::RequestId => request_id.to_owned(),
            Self::CorrelationId => correlation_id.to_owned(),
        }
    }
}

/// The head of every request to one URL.
#[derive(Clone, Debug)]
pub struct HeadTemplate {
    url: String,
    fields: Vec<(String, Field)>,
    /// What is sent of them, `Host` included.
    sent: Vec<(String, Field)>,
    parts: Vec<Part>,
}

impl HeadTemplate {
    /// The head for one of the plan's URLs.
    pub fn new(endpoint: &EndpointPlan, base: &BaseUrl, version: &str) -> Self {
        Self::with_headers(endpoint, base, version, &[])
    }

    /// The same, of requests with header fields of their own.
    pub fn with_headers(endpoint: &EndpointPlan, base: &BaseUrl, version: &str, own: &[(String, String)]) -> Self {
        let url = url::join(base.request_base(), endpoint.kind, endpoint.streaming, endpoint.path.as_deref(), &[]);
        let fields = fields(endpoint, base, version, own);
        let mut parts = vec![Part::Text(format!("POST {} HTTP/1.1\r\n", url::request_target(&url)).into_bytes())];
        let mut sent = collapse(&fields);
        // The user's own or ours, it comes first.
        let host = match sent.iter().position(|(name, _)| name.eq_ignore_ascii_case("host")) {
            Some(at) => sent.remove(at),
            None => ("Host".to_owned(), Field::Text(base.host_header())),
        };
        sent.insert(0, host);
        for (name, value) in &sent {
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
        Self { url, fields, sent, parts }
    }

    /// The URL requests go to.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Header fields in order, before names that differ only in case are made one.
    pub fn fields(&self, request_id: &str, correlation_id: &str) -> Vec<(String, String)> {
        self.fields.iter().map(|(name, value)| (name.clone(), value.text(request_id, correlation_id))).collect()
    }

    /// Header fields as one request sends them: `Host` and `Content-Length` too, each name once.
    pub fn sent_fields(
        &self,
        request_id: &str,
        correlation_id: &str,
        request: &EncodedRequest,
    ) -> Vec<(String, String)> {
        let length = ("Content-Length".to_owned(), request.body.len().to_string());
        let content_type = request.content_type.iter().map(|kind| ("Content-Type".to_owned(), kind.to_string()));
        let sent = self.sent.iter().map(|(name, value)| (name.clone(), value.text(request_id, correlation_id)));
        sent.chain([length]).chain(content_type).collect()
    }

    /// Appends the head of one request.
    pub fn write(&self, out: &mut Vec<u8>, request_id: u128, correlation_id: &CorrelationId, request: &EncodedRequest) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::RequestId => out.extend_from_slice(&uuid_text(request_id)),
                Part::CorrelationId => correlation_id.write(out),
            }
        }
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        let mut rest = request.body.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        out.extend_from_slice(&digits[at..]);
        if let Some(content_type) = &request.content_type {
            out.extend_from_slice(b"\r\nContent-Type: ");
            out.extend_from_slice(content_type.as_bytes());
        }
        out.extend_from_slice(b"\r\n\r\n");
    }
}

fn text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.extend_from_slice(text.as_bytes()),
        _ => parts.push(Part::Text(text.as_bytes().to_vec())),
    }
}

fn fields(endpoint: &EndpointPlan, base: &BaseUrl, version: &str, own: &[(String, String)]) -> Vec<(String, Field)> {
    let mut fields: Vec<(String, Field)> = vec![
        ("User-Agent".into(), Field::Text(format!("aiperf/{version}"))),
        ("X-Request-ID".into(), Field::RequestId),
        (endpoint.session_header.clone().unwrap_or_else(|| "X-Correlation-ID".into()), Field::CorrelationId),
    ];
    let api = endpoint.kind.traits().headers;
    for (name, value) in api.before {
        set(&mut fields, name, Field::Text((*value).to_owned()));
    }
    for (name, value) in &endpoint.headers {
        set(&mut fields, name, Field::Text(value.clone()));
    }
    match (&endpoint.api_key, base.credentials()) {
        (Some(key), _) => set(&mut fields, api.key.0, Field::Text(format!("{}{key}", api.key.1))),
        (None, Some(credentials)) => add(&mut fields, "Authorization", credentials.basic()),
        (None, None) => {}
    }
    for (name, value) in api.usual {
        add(&mut fields, name, (*value).to_owned());
    }
    for (name, value) in own {
        set(&mut fields, name, Field::Text(value.clone()));
    }
    let accept = if endpoint.streaming { "text/event-stream" } else { "application/json" };
    set(&mut fields, "Accept", Field::Text(accept.into()));
    match endpoint.body {
        BodyKind::Json => set(&mut fields, "Content-Type", Field::Text("application/json".into())),
        // The boundary between parts is each form's own.
        BodyKind::Multipart => fields.retain(|(name, _)| !name.eq_ignore_ascii_case("Content-Type")),
    }
    // Routers go by these: nothing else may identify a session.
    for header in &endpoint.http.session_headers {
        fields.retain(|(name, _)| !name.eq_ignore_ascii_case(header.name()));
        fields.push((header.name().to_owned(), Field::CorrelationId));
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

/// The same, unless there is one in any spelling.
fn add(fields: &mut Vec<(String, Field)>, name: &str, value: String) {
    if !fields.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
        fields.push((name.to_owned(), Field::Text(value)));
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

/// A text as the value of a header field: what would break or lose it there, control characters and a blank at either
/// end, is percent-encoded.
pub fn field_value(text: &str) -> Cow<'_, str> {
    let is_at_an_end = |at: usize| at == 0 || at + 1 == text.len();
    let is_unfit = |(at, c): (usize, char)| c.is_ascii_control() || c == ' ' && is_at_an_end(at);
    if !text.char_indices().any(is_unfit) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for (at, c) in text.char_indices() {
        match is_unfit((at, c)) {
            true => out.push_str(&format!("%{:02X}", u32::from(c))),
            false => out.push(c),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_fits_into_a_header_field() {
        assert_eq!(
            field_value("fixed-schedule-\u{e9} 100% a"),
            "fixed-schedule-\u{e9} 100% a",
            "what fits stays as it is"
        );
        assert_eq!(field_value("a\r\nX-Own: 1"), "a%0D%0AX-Own: 1");
        assert_eq!(field_value(" a\tb\u{7f}\0 "), "%20a%09b%7F%00%20");
    }
}
