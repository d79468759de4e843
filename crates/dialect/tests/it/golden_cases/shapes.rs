//! What the cases of each kind look like, and which files hold none of them.

use aiperf_golden::{Area, File, Shape, has};
use aiperf_types::EndpointKind;
use serde_json::Value;

pub(crate) const URL: Shape =
    |case| has(case, "endpoint_type") && has(case, "custom_endpoint") && case["expected"].is_string();
pub(crate) const REQUEST: Shape = |case| has(case, "endpoint_type") && has(case, "request.turns");
pub(crate) const RESPONSE: Shape = |case| has(case, "endpoint_type") && case["responses"].is_array();
pub(crate) const BODIES: Shape = |case| has(case, "endpoint_type") && case["bodies"].is_array();
pub(crate) const INPUT: Shape =
    |case| has(case, "endpoint_type") && has(case, "payload") && has(case, "expected.tool_texts");
pub(crate) const EVENT_STREAM: Shape = |case| case["chunks_base64"].is_array() && has(case, "expected.messages");
pub(crate) const USAGE: Shape = |case| has(case, "usage") && has(case, "expected.prompt_tokens");

pub(crate) const INFERENCE: Shape = |case| case["kind"] == "inference_probe" && has(case, "expected.url");
pub(crate) const MODELS: Shape = |case| case["kind"] == "models_body" && case["expected"].is_boolean();
pub(crate) const HOOKS: Shape = |case| case["kind"] == "control_hooks" && has(case, "urls");

const READ: &[Shape] = &[URL, REQUEST, RESPONSE, BODIES, INPUT, EVENT_STREAM, USAGE, INFERENCE, MODELS, HOOKS];

/// The folders that hold cases about dialects.
fn areas() -> Vec<Area> {
    ["endpoints", "metrics"].iter().map(|area| Area::of(area)).collect()
}

pub(crate) fn files(shape: Shape) -> Vec<File> {
    areas().iter().flat_map(|area| area.files_of(shape)).collect()
}

pub(crate) fn kind(case: &Value) -> EndpointKind {
    EndpointKind::parse(case["endpoint_type"].as_str().unwrap()).unwrap()
}

#[test]
fn golden_files_that_nothing_here_reads_are_named() {
    for area in areas() {
        area.print_unread(&format!("dialect, {}", area.folder().display()), READ);
    }
}
