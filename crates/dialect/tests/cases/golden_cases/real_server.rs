//! Whole responses of a real vLLM server, distinguished by their content.

use crate::golden_cases::requests::endpoint;
use aiperf_dialect::{Api, ResponseParser, sse};
use aiperf_golden::cases::{Cases, Trial};
use aiperf_golden::kinds::servers::CAPTURED_RESPONSE;
use aiperf_types::{EndpointKind, MonoNs};
use serde_json::{Value, json};

/// A response as it was received, with CRLF as LF.
struct Captured {
    is_stream: bool,
    body: String,
}

/// A file that begins as an HTTP/1.1 response with status 200 does.
fn captured(text: &str) -> Option<Captured> {
    let text = text.replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n")?;
    let status = head.split(' ').nth(1).filter(|_| head.starts_with("HTTP/1.1 "))?;
    let is_stream = head.to_ascii_lowercase().contains("content-type: text/event-stream");
    (status == "200").then(|| Captured { is_stream, body: body.to_owned() })
}

impl Captured {
    /// The type of a response, by what its first JSON names.
    fn kind(&self) -> Option<EndpointKind> {
        let first = if self.is_stream { self.body.split("\n\n").next().unwrap_or_default() } else { "" };
        let json =
            if self.is_stream { sse::data(first.as_bytes()).into_owned() } else { self.body.clone().into_bytes() };
        let json: Value = serde_json::from_slice(&json).ok()?;
        match json["object"].as_str().or(json["type"].as_str())? {
            "chat.completion" | "chat.completion.chunk" => Some(EndpointKind::Chat),
            "text_completion" => Some(EndpointKind::Completions),
            "response" | "response.created" => Some(EndpointKind::Responses),
            "message" | "message_start" => Some(EndpointKind::Messages),
            _ => None,
        }
    }
}

pub(crate) fn golden_real_responses_are_read_with_their_usage() -> Vec<Trial> {
    let mut cases = Cases::of(CAPTURED_RESPONSE);
    for file in CAPTURED_RESPONSE.whole_files() {
        let read = captured(&file.text).map(|captured| (captured.kind(), captured));
        let reason = match &read {
            None => Some("no response with status 200: the transport's to judge"),
            Some((None, _)) => Some("a page that is no answer to a request"),
            Some((Some(_), _)) => None,
        };
        cases.add(&file.name(), reason.map(str::to_owned), move || {
            let (kind, captured) = read.unwrap();
            check(kind.unwrap(), &captured);
            None
        });
    }
    cases.trials()
}

fn check(kind: EndpointKind, captured: &Captured) {
    let api = Api::new(&endpoint(&json!({"endpoint_type": kind.name(), "config": {}})), "m").unwrap();
    let mut parser = ResponseParser::new(&api, MonoNs(1));
    if captured.is_stream {
        parser.feed_stream(captured.body.as_bytes(), MonoNs(2));
    } else {
        parser.feed_body(captured.body.as_bytes(), MonoNs(2));
    }
    let parsed = parser.finish();
    assert!(parsed.error.is_none() && !parsed.content.is_empty());
    let usage = parsed.usage.unwrap();
    assert!(usage.prompt_tokens.is_some() && usage.completion_tokens.is_some());
    assert!(parsed.output_text.is_some_and(|text| !text.is_empty()));
}
