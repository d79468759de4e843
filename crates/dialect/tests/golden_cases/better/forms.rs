//! Forms, templates, payloads as they are, and paths into answers.

use crate::requests::endpoint;
use crate::shapes::kind;
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
    let told = case["expected"]["body_text"].as_str().unwrap_or_default();
    let is_given = |text: &str| case["request"].to_string().contains(text);
    let audio = turns().last().and_then(|turn| turn["audios"][0]["contents"][0].as_str()).unwrap_or_default();
    if is_form && extras().any(is_nested) {
        Some("do better, endpoints 11: lists and objects of a form are JSON")
    } else if kind(case) == EndpointKind::AudioTranscription && audio.starts_with("data:") {
        Some("do better, endpoints 13: an audio may be a data URI")
    } else if kind(case) == EndpointKind::Template
        && ENTITIES.iter().any(|entity| told.contains(entity) && !is_given(entity))
    {
        Some("do better, endpoints 14: nothing is escaped for HTML")
    } else {
        None
    }
}

pub(crate) fn reading(case: &Value, bodies: &[Value]) -> Option<&'static str> {
    let expected = &case["expected"];
    let fails = expected["error"]["type"].is_string();
    let is_free = matches!(kind(case), EndpointKind::Raw | EndpointKind::Template);
    let field = endpoint(case).response_field;
    let mut events = case["responses"].as_array().into_iter().flatten().filter_map(|response| response["raw"].as_str());
    let is_end = |event: &str| event.trim_start_matches("data:").trim() == "[DONE]";
    if is_free && matches!(Api::new(&endpoint(case), "m"), Err(ApiError::ResponseField { .. })) {
        Some("an expression that is none is refused before anything is sent")
    } else if is_free && events.any(is_end) {
        Some("endpoints 7: the mark at the end of a stream is no content")
    } else if let Some(field) = field.filter(|_| kind(case) == EndpointKind::Raw)
        && expected["valid"] == true
        && bodies.iter().any(|body| !is_usable(&found(&field, body)))
    {
        Some("do better, endpoints 15: a field that does not match is no data")
    } else if kind(case) == EndpointKind::AudioTranscription && fails && bodies.iter().any(|body| !body.is_object()) {
        Some("do better, endpoints 8: what made the reference fail is no data")
    } else if kind(case) == EndpointKind::ImageEdit && bodies.iter().any(|body| body["data"][0].is_null()) {
        Some("do better, endpoints 9: an answer without images is none")
    } else {
        None
    }
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
