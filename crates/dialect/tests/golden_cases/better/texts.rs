//! Chat, completions, responses and messages.

use crate::shapes::kind;
use aiperf_types::EndpointKind;
use serde_json::Value;

pub(crate) fn request(case: &Value) -> Option<&'static str> {
    let config = &case["config"];
    let pairs = |key: &str| config[key].as_array().cloned().unwrap_or_default();
    let body = &case["expected"]["body"];
    let reason = match kind(case) {
        EndpointKind::Responses
            if config["use_server_token_count"] == true
                && (config["streaming"] == true) != is_truthy(&body["stream"]) =>
        {
            "do better, endpoints 16: usage is asked for where the body asks for a stream"
        }
        EndpointKind::Messages
            if pairs("headers")
                .iter()
                .filter_map(|pair| pair[0].as_str())
                .any(|name| name != "anthropic-version" && name.eq_ignore_ascii_case("anthropic-version")) =>
        {
            "do better, endpoints 17: a header field has one name, whatever its letter case"
        }
        _ => return None,
    };
    Some(reason)
}

pub(crate) fn reading(case: &Value, bodies: &[Value]) -> Option<&'static str> {
    let any = |is: &dyn Fn(&Value) -> bool| bodies.iter().any(is);
    let has_error = |body: &Value| !body["error"].is_null() && body.get("choices").is_none();
    let is_mute = |body: &Value| body.get("object").is_none() && is_text(&body["choices"][0]["text"]);
    if TEXTS.contains(&kind(case)) && case["expected"]["error"]["type"].is_string() {
        return Some("do better, endpoints 8: what made the reference fail is read, or is no data");
    }
    match kind(case) {
        EndpointKind::Chat => chat(bodies),
        EndpointKind::Completions if any(&is_mute) => Some("do better, endpoints 7: `object` may be missing"),
        EndpointKind::Completions if any(&has_other_choices) => Some(ALL_CHOICES),
        EndpointKind::ChatEmbeddings if any(&|body| is_truthy(&body["usage"])) => {
            Some("do better, endpoints 9: the usage of embeddings is read")
        }
        EndpointKind::Responses => responses(bodies),
        EndpointKind::Messages if any(&|body| is_a(body, "error")) => Some(ERRORS),
        EndpointKind::Messages if any(&|body| has_several(&body["content"], &["text", "thinking"], "tool_use")) => {
            Some(ALL_PARTS)
        }
        _ => any(&has_error).then_some(ERRORS),
    }
}

const TEXTS: [EndpointKind; 5] = [
    EndpointKind::Chat,
    EndpointKind::ChatEmbeddings,
    EndpointKind::Completions,
    EndpointKind::Responses,
    EndpointKind::Messages,
];

const ALL_CHOICES: &str = "do better, endpoints 3: all choices are counted, each by its index";
const ALL_PARTS: &str =
    "do better, endpoints 4 and 5: text and reasoning beside tool calls are counted, and so are they";
const REFUSALS: &str = "do better, endpoints 6: a refusal is an answer, a summary is reasoning, a tool's name counts";
const ERRORS: &str = "decided: an error inside an answer is an error";

fn chat(bodies: &[Value]) -> Option<&'static str> {
    let message = |body: &Value| {
        let choice = &body["choices"][0];
        if choice["delta"].is_null() { choice["message"].clone() } else { choice["delta"].clone() }
    };
    let is_known = |object: &Value| matches!(object.as_str(), Some("chat.completion" | "chat.completion.chunk"));
    let reason = if bodies.iter().any(|body| !body["error"].is_null() && body.get("choices").is_none()) {
        ERRORS
    } else if bodies.iter().any(|body| !is_known(&body["object"]) && message(body).is_object()) {
        "do better, endpoints 7: `object` may be missing or different"
    } else if bodies.iter().any(has_other_choices) {
        ALL_CHOICES
    } else if bodies.iter().map(message).any(|said| is_text(&said["refusal"])) {
        REFUSALS
    } else if bodies.iter().map(message).any(|said| calls_tools(&said) && says_more(&said)) {
        ALL_PARTS
    } else {
        return None;
    };
    Some(reason)
}

fn responses(bodies: &[Value]) -> Option<&'static str> {
    let any = |is: &dyn Fn(&Value) -> bool| bodies.iter().any(is);
    let parts = |body: &Value| -> Vec<Value> {
        let items = body["output"].as_array().cloned().unwrap_or_default();
        items.iter().flat_map(|item| item["content"].as_array().cloned().unwrap_or_default()).collect()
    };
    let names_tool = |body: &Value| is_a(body, "response.output_item.added") && is_text(&body["item"]["name"]);
    let is_cut_short = |body: &Value| is_a(body, "response.incomplete") && is_truthy(&body["response"]["usage"]);
    let reason = if any(&|body| {
        ["error", "response.failed", "response.error"].iter().any(|kind| is_a(body, kind)) || is_truthy(&body["error"])
    }) {
        ERRORS
    } else if any(&|body| {
        is_a(body, "response.reasoning_summary_text.delta")
            || is_a(body, "response.refusal.delta")
            || names_tool(body)
            || parts(body).iter().any(|part| is_text(&part["refusal"]))
    }) {
        REFUSALS
    } else if any(&|body| has_several(&body["output"], &["message", "reasoning"], "function_call"))
        || any(&|body| parts(body).iter().any(|part| is_a(part, "reasoning_text")))
    {
        ALL_PARTS
    } else if any(&is_cut_short) {
        "seed 000: the last usage that was told counts, of an answer that was cut short too"
    } else {
        return None;
    };
    Some(reason)
}

fn is_a(value: &Value, kind: &str) -> bool {
    value["type"] == kind
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Object(members) => !members.is_empty(),
        Value::String(text) => !text.is_empty(),
        other => other.as_f64() != Some(0.0),
    }
}

/// Whether a list holds calls of tools, and something else of what is counted.
fn has_several(list: &Value, others: &[&str], call: &str) -> bool {
    let has = |kind: &str| list.as_array().is_some_and(|list| list.iter().any(|one| is_a(one, kind)));
    has(call) && others.iter().any(|kind| has(kind))
}

/// Whether a body has a choice that is not the first.
fn has_other_choices(body: &Value) -> bool {
    let choices = body["choices"].as_array().into_iter().flatten().enumerate();
    choices.into_iter().any(|(at, choice)| choice["index"].as_u64().unwrap_or(at as u64) != 0)
}

fn calls_tools(message: &Value) -> bool {
    message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty())
}

/// Whether a message says something beside its tool calls.
fn says_more(message: &Value) -> bool {
    ["content", "reasoning_content", "reasoning"].iter().any(|member| is_text(&message[*member]))
}
