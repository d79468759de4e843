//! Embeddings, rankings, images found and made, and what is counted of bodies.

use super::texts::is_truthy;
use super::{Decided, Part};
use crate::golden_cases::shapes::kind;
use aiperf_types::EndpointKind;
use serde_json::Value;

const GIVE_VECTORS: &[EndpointKind] =
    &[EndpointKind::Embeddings, EndpointKind::ChatEmbeddings, EndpointKind::NimEmbeddings];
const RANK: &[EndpointKind] = &[EndpointKind::CohereRankings, EndpointKind::HfTeiRankings, EndpointKind::NimRankings];

pub(crate) fn request(_case: &Value) -> Option<&'static str> {
    None
}

pub(super) const READINGS: &[Decided] = &[
    Decided {
        reason: "do better, endpoints 9: usage of embeddings and rankings is read",
        differs: &[Part::Usage],
        applies: |case, bodies| {
            let has_usage = |body: &Value| body["usage"].as_object().is_some_and(|usage| !usage.is_empty());
            let kind = kind(case);
            (GIVE_VECTORS.contains(&kind) || RANK.contains(&kind)) && bodies.iter().any(has_usage)
        },
        holds: |parsed, _| parsed.usage.is_some(),
    },
    Decided {
        reason: "do better, endpoints 9: an answer without an image is none",
        differs: &[Part::Responses, Part::Text, Part::Content],
        applies: |case, bodies| {
            let makes = matches!(kind(case), EndpointKind::ImageGeneration | EndpointKind::ImageEdit);
            makes
                && case["expected"]["error"].is_null()
                && bodies.iter().any(|body| is_truthy(body) && !has_image(body))
        },
        holds: |parsed, wanted| parsed.content.len() < wanted["parsed"].as_array().map_or(0, Vec::len),
    },
];

/// Whether a response has an image that can be seen.
fn has_image(body: &Value) -> bool {
    let is_seen =
        |image: &Value| ["url", "b64_json"].iter().any(|key| image[*key].as_str().is_some_and(|t| !t.is_empty()));
    is_seen(body) || body["data"].as_array().is_some_and(|images| images.iter().any(is_seen))
}

pub(crate) fn inputs(case: &Value) -> Option<&'static str> {
    let (kind, payload) = (kind(case), &case["payload"]);
    let is_given_elsewhere = ["messages", "input", "prompt"].iter().any(|key| !payload[*key].is_null());
    let ranked = ["passages", "documents", "texts"].map(|key| payload[key].is_array());
    let query = &payload["query"];
    // A plain query with `passages` is the one shape that the reference knows.
    let is_known = query.is_string() && ranked == [true, false, false];
    let is_asked = match kind {
        EndpointKind::SolidoRag => !query.is_null(),
        _ if RANK.contains(&kind) => !query.is_null(),
        _ => (query.is_string() || query["text"].is_string()) && ranked.contains(&true),
    };
    if is_asked && !is_given_elsewhere && !is_known {
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
