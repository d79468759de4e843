//! Chat, completions, responses and messages.

use crate::shapes::kind;
use aiperf_types::EndpointKind;
use serde_json::Value;

pub(crate) fn request(_case: &Value) -> Option<&'static str> {
    None
}

pub(crate) fn reading(case: &Value, bodies: &[Value]) -> Option<&'static str> {
    let expected = &case["expected"];
    let message = |body: &Value| {
        let choice = &body["choices"][0];
        if choice["delta"].is_null() { choice["message"].clone() } else { choice["delta"].clone() }
    };
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let is_known = |object: &Value| matches!(object.as_str(), Some("chat.completion" | "chat.completion.chunk"));
    let chat = kind(case) == EndpointKind::Chat;
    let reason = if chat && expected["error"]["type"].is_string() {
        "do better, endpoints 8: what made the reference fail is read, or is no data"
    } else if bodies.iter().any(|body| !body["error"].is_null() && body.get("choices").is_none()) {
        "do better, transport 11: an error object in an answer is an error"
    } else if chat && bodies.iter().any(|body| !is_known(&body["object"]) && message(body).is_object()) {
        "do better, endpoints 7: `object` may be missing or different"
    } else if chat && bodies.iter().map(message).any(|said| text(&said["refusal"]) && !text(&said["content"])) {
        "do better, endpoints 6: a refusal is an answer"
    } else if chat && bodies.iter().map(message).any(|said| text(&said["content"]) && calls_tools(&said)) {
        "do better, endpoints 4: text beside tool calls is counted"
    } else {
        return None;
    };
    Some(reason)
}

/// Whether a message is read as tool calls: reasoning beside them comes first.
fn calls_tools(message: &Value) -> bool {
    let reasons =
        ["reasoning_content", "reasoning"].iter().any(|key| message[*key].as_str().is_some_and(|t| !t.is_empty()));
    !reasons && message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty())
}
