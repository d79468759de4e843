//! Requests and responses of every endpoint type, and what is around them.

use super::all_have;
use crate::Found::{Case, List};
use crate::has;
use serde_json::Value;

kinds! {
    JOINED_URL = ["endpoints"], ["dialect"], Case(|case| {
        has(case, "endpoint_type") && has(case, "custom_endpoint") && case["expected"].is_string()
    });
    REQUEST = ["endpoints"], ["dialect"], Case(|case| has(case, "endpoint_type") && has(case, "request.turns"));
    RESPONSE = ["endpoints"], ["dialect"], Case(|case| has(case, "endpoint_type") && case["responses"].is_array());
    /// Whole bodies, and the tokens that are counted of them.
    BODIES = ["metrics"], ["dialect"], Case(|case| has(case, "endpoint_type") && case["bodies"].is_array());
    /// A body, and the texts that it has for a model.
    INPUT_TEXTS = ["endpoints", "metrics"], ["dialect"], Case(|case| {
        has(case, "endpoint_type") && has(case, "payload") && has(case, "expected.tool_texts")
    });
    EVENT_STREAM = ["endpoints"], ["dialect"],
        Case(|case| case["chunks_base64"].is_array() && has(case, "expected.messages"));
    USAGE = ["endpoints", "metrics"], ["dialect"], Case(|case| has(case, "usage") && has(case, "expected.prompt_tokens"));
    INFERENCE_PROBE = ["endpoints"], ["dialect"],
        Case(|case| case["kind"] == "inference_probe" && has(case, "expected.url"));
    MODEL_LIST = ["endpoints"], ["dialect"],
        Case(|case| case["kind"] == "models_body" && case["expected"].is_boolean());
    /// What is called around a run.
    CONTROL_HOOKS = ["endpoints"], ["config", "dialect"],
        Case(|case| case["kind"] == "control_hooks" && has(case, "urls"));
    /// What a scripted server writes, and the record that comes of it.
    SCRIPTED_SERVER = ["endpoints"], ["engine"],
        Case(|case| has(case, "server.after") && has(case, "expected.responses"));
    /// Instants of a request: the times of its HTTP phases, and its trace.
    HTTP_TRACE = ["endpoints"], ["engine", "report"],
        Case(|case| has(case, "perf") && has(case, "expected.metrics_ns") && has(case, "expected.trace_data"));
    /// The text of an error, and whether it reports a context that is too long.
    CONTEXT_OVERFLOW = ["endpoints", "load"], ["engine"], Case(|case| {
        let has_text = has(case, "body") || case["kind"] == "context_overflow";
        has_text && !has(case, "model") && case["expected"].is_boolean()
    });
    /// A URL, and what to connect to.
    NETWORK_TARGET = ["endpoints"], ["engine"],
        Case(|case| case["kind"] == "network_target" && case["expected"].is_array());
    /// Probes of the network, and their summary.
    NETWORK_PROBES = ["endpoints"], ["observe"],
        Case(|case| case["samples"].is_array() && case["expected"]["target_summaries"].is_object());
    EXTRA_INPUTS = ["endpoints"], ["config"], List(|cases| {
        let is_one = |case: &Value| has(case, "expected.pairs") || has(case, "expected.error");
        all_have(cases, &["input", "expected"]) && cases.iter().all(is_one)
    });
    REDACTED_REQUEST = ["endpoints"], ["config"], List(|cases| {
        let is_one = |case: &Value| matches!(case["kind"].as_str(), Some("headers" | "url" | "string"));
        all_have(cases, &["input", "expected"]) && cases.iter().all(is_one)
    });
}
