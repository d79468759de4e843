//! Embeddings, rankings, images found and made, and what is counted of bodies.

use crate::shapes::kind;
use aiperf_types::EndpointKind;
use serde_json::Value;

const GIVE_VECTORS: &[EndpointKind] = &[EndpointKind::Embeddings, EndpointKind::NimEmbeddings];
const RANK: &[EndpointKind] = &[EndpointKind::CohereRankings, EndpointKind::HfTeiRankings, EndpointKind::NimRankings];
const OTHERS: &[EndpointKind] = &[
    EndpointKind::HuggingfaceGenerate,
    EndpointKind::ImageGeneration,
    EndpointKind::ImageRetrieval,
    EndpointKind::SolidoRag,
];

pub(crate) fn request(_case: &Value) -> Option<&'static str> {
    None
}

pub(crate) fn reading(case: &Value, bodies: &[Value]) -> Option<&'static str> {
    let kind = kind(case);
    let gives_counts = GIVE_VECTORS.contains(&kind) || RANK.contains(&kind);
    if !gives_counts && !OTHERS.contains(&kind) {
        return None;
    }
    let is_internal = |kind: Option<&str>| matches!(kind, Some("AttributeError" | "TypeError" | "KeyError"));
    if is_internal(case["expected"]["error"]["type"].as_str()) {
        return Some("do better, endpoints 8: what made the reference fail is no data");
    }
    let has_usage = |body: &Value| body["usage"].as_object().is_some_and(|usage| !usage.is_empty());
    if gives_counts && bodies.iter().any(has_usage) {
        return Some("do better, endpoints 9: usage of embeddings and rankings is read");
    }
    if kind == EndpointKind::ImageGeneration && !bodies.iter().all(has_image) {
        return Some("do better, endpoints 9: an answer without an image is none");
    }
    None
}

/// Whether an answer has an image that can be seen, or is nothing at all.
fn has_image(body: &Value) -> bool {
    let is_seen =
        |image: &Value| ["url", "b64_json"].iter().any(|key| image[*key].as_str().is_some_and(|t| !t.is_empty()));
    body == &Value::Null || is_seen(body) || body["data"].as_array().is_some_and(|images| images.iter().any(is_seen))
}

pub(crate) fn inputs(case: &Value) -> Option<&'static str> {
    let (kind, payload) = (kind(case), &case["payload"]);
    let is_said_elsewhere = ["messages", "input", "prompt"].iter().any(|key| !payload[*key].is_null());
    let ranked = ["passages", "documents", "texts"].map(|key| payload[key].is_array());
    let query = &payload["query"];
    // A plain query with `passages` is the one shape that the reference knows.
    let is_known = query.is_string() && ranked == [true, false, false];
    let is_asked = match kind {
        EndpointKind::SolidoRag => !query.is_null(),
        _ if RANK.contains(&kind) => !query.is_null(),
        _ => (query.is_string() || query["text"].is_string()) && ranked.contains(&true),
    };
    if is_asked && !is_said_elsewhere && !is_known {
        return Some("do better, endpoints 10: queries and what is ranked by them are input");
    }
    let has_file = |key: &str| payload[key]["b64_data"].is_string();
    let is_form = match kind {
        EndpointKind::ImageEdit => has_file("image") || payload["url"].is_string(),
        EndpointKind::AudioTranscription => has_file("file"),
        EndpointKind::NimEmbeddings => payload["input"].to_string().contains("data:image/"),
        _ => false,
    };
    is_form.then_some("metrics 5.1: images and recordings count in every shape that bodies carry them in")
}
