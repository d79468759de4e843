//! Forms, templates, payloads as they are, and paths into responses.

use super::{Decided, Part};
use crate::golden_cases::requests::endpoint;
use crate::golden_cases::shapes::kind;
use aiperf_dialect::{Api, ApiError};
use aiperf_types::{BodyKind, EndpointKind};
use serde_json::Value;

/// What HTML writes for characters that mean something there.
const ENTITIES: [&str; 5] = ["&amp;", "&lt;", "&gt;", "&#39;", "&#34;"];

pub(crate) fn request(case: &Value) -> Option<&'static str> {
    let turns = || case["request"]["turns"].as_array().into_iter().flatten();
    let is_form = kind(case).traits().body == BodyKind::Multipart;
    let extras = || {
        let of_turns = turns().filter_map(|turn| turn["extra_body"].as_object()).flat_map(|extra| extra.values());
        case["config"]["extra"].as_array().into_iter().flatten().map(|pair| &pair[1]).chain(of_turns)
    };
    let is_nested = |value: &Value| value.is_array() || value.is_object() && !value["b64_data"].is_string();
    let body = case["expected"]["body_text"].as_str().unwrap_or_default();
    let is_given = |text: &str| case["request"].to_string().contains(text);
    let audio = turns().last().and_then(|turn| turn["audios"][0]["contents"][0].as_str()).unwrap_or_default();
    if is_form && extras().any(is_nested) {
        Some("do better, endpoints 11: lists and objects of a form are JSON")
    } else if kind(case) == EndpointKind::AudioTranscription && audio.starts_with("data:") {
        Some("do better, endpoints 13: an audio may be a data URI")
    } else if kind(case) == EndpointKind::Template
        && ENTITIES.iter().any(|entity| body.contains(entity) && !is_given(entity))
    {
        Some("do better, endpoints 14: nothing is escaped for HTML")
    } else {
        None
    }
}

pub(super) const READINGS: &[Decided] = &[
    Decided {
        reason: "endpoints 7: the mark at the end of a stream is no content",
        differs: &[Part::Responses, Part::Text, Part::Content, Part::Turn],
        applies: |case, _| is_free(case) && has_mark(case),
        holds: |parsed, _| parsed.output_text.as_ref().is_none_or(|text| !text.contains("[DONE]")),
    },
    Decided {
        reason: "do better, endpoints 15: a field that does not match is no data",
        differs: &[Part::Responses, Part::Text, Part::Content, Part::Turn],
        applies: |case, bodies| {
            let field = endpoint(case).response_field.filter(|_| kind(case) == EndpointKind::Raw);
            let is_read = case["expected"]["valid"] == true;
            is_read && field.is_some_and(|field| bodies.iter().any(|body| !is_usable(&found(&field, body))))
        },
        holds: |parsed, wanted| parsed.content.len() <= wanted["parsed"].as_array().map_or(0, Vec::len),
    },
];

/// Whether an expression that is none is refused before anything is sent: nothing of such a case is read.
pub(crate) fn is_refused(case: &Value) -> bool {
    is_free(case) && matches!(Api::new(&endpoint(case), "m"), Err(ApiError::ResponseField { .. }))
}

fn is_free(case: &Value) -> bool {
    matches!(kind(case), EndpointKind::Raw | EndpointKind::Template)
}

fn has_mark(case: &Value) -> bool {
    let mut events = case["responses"].as_array().into_iter().flatten().filter_map(|response| response["raw"].as_str());
    events.any(|event| event.trim_start_matches("data:").trim() == "[DONE]")
}

fn found(field: &str, body: &Value) -> Value {
    let found = jmespath::compile(field).and_then(|field| field.search(body));
    found.ok().and_then(|found| serde_json::to_value(&*found).ok()).unwrap_or_default()
}

/// Whether something can be made of what a field holds.
fn is_usable(found: &Value) -> bool {
    let first = &found[0];
    found.as_str().is_some_and(|text| !text.is_empty())
        || first.is_number()
        || first.is_boolean()
        || first.is_object()
        || first[0].is_number()
        || first[0].is_boolean()
}
