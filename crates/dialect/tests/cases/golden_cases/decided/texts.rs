//! Chat, completions, responses and messages.

use super::{Decided, Part};
use crate::golden_cases::shapes::kind;
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

pub(super) const READINGS: &[Decided] = &[
    Decided {
        reason: "do better, endpoints 8: what made the reference fail is read, or is no data",
        differs: &[Part::Failure],
        applies: |case, _| {
            let failure = case["expected"]["error"]["type"].as_str();
            matches!(failure, Some("AttributeError" | "TypeError" | "KeyError" | "IndexError"))
        },
        holds: |parsed, _| {
            let kind = parsed.error.as_ref().map(|error| error.kind.as_deref());
            kind.is_none_or(|kind| kind == Some("InvalidInferenceResultError"))
        },
    },
    Decided {
        reason: "decided: an error inside an answer is an error, and not gone on from",
        differs: &[Part::Failure, Part::Id],
        applies: reports_error,
        holds: |parsed, _| {
            parsed.error.is_some() && parsed.reply.as_ref().is_none_or(|reply| reply.response_id.is_none())
        },
    },
    Decided {
        reason: "do better, endpoints 7: `object` may be missing or different",
        differs: &[Part::Responses, Part::Text, Part::Reasoning, Part::Content, Part::Turn],
        applies: |case, bodies| match kind(case) {
            EndpointKind::Chat => bodies.iter().any(|body| !is_known_chat(&body["object"]) && has_any(&message(body))),
            EndpointKind::Completions => {
                let is_mute = |body: &Value| body.get("object").is_none() && is_text(&body["choices"][0]["text"]);
                bodies.iter().any(is_mute)
            }
            _ => false,
        },
        holds: |parsed, _| !parsed.content.is_empty(),
    },
    Decided {
        reason: "do better, endpoints 3: all choices are counted, each by its index",
        differs: &[Part::Text, Part::Reasoning, Part::Turn],
        applies: |case, bodies| has_choices(case) && bodies.iter().any(has_other_choices),
        holds: |parsed, _| !parsed.choice_ends.is_empty() || !parsed.reasoning_ends.is_empty(),
    },
    Decided {
        reason: "do better, endpoints 3: a response may have content of any choice",
        differs: &[Part::Responses, Part::Content],
        applies: |case, bodies| {
            let others = |body: &Value| body["choices"].as_array().is_some_and(|choices| choices.len() > 1);
            has_choices(case) && bodies.iter().any(others)
        },
        holds: |parsed, wanted| parsed.content.len() >= stamps(wanted),
    },
    Decided {
        reason: "do better, endpoints 6: a refusal is an answer",
        differs: &[Part::Responses, Part::Text, Part::Content, Part::Turn],
        applies: |case, bodies| match kind(case) {
            EndpointKind::Chat => bodies.iter().map(message).any(|message| is_text(&message["refusal"])),
            EndpointKind::Responses => bodies.iter().any(|body| {
                is_a(body, "response.refusal.delta") || parts(body).iter().any(|part| is_text(&part["refusal"]))
            }),
            _ => false,
        },
        holds: |parsed, _| parsed.output_text.as_ref().is_some_and(|text| !text.is_empty()),
    },
    Decided {
        reason: "do better, endpoints 6: a summary is reasoning",
        differs: &[Part::Responses, Part::Reasoning, Part::Content, Part::Turn],
        applies: |case, bodies| {
            let is_thought = |body: &Value| {
                is_a(body, "response.reasoning_summary_text.delta")
                    || parts(body).iter().any(|part| is_a(part, "reasoning_text"))
            };
            kind(case) == EndpointKind::Responses && bodies.iter().any(is_thought)
        },
        holds: |parsed, _| parsed.reasoning_text.as_ref().is_some_and(|text| !text.is_empty()),
    },
    Decided {
        reason: "do better, endpoints 6: a tool's name counts",
        differs: &[Part::Responses, Part::Text, Part::Content],
        applies: |case, bodies| {
            let names = |body: &Value| is_a(body, "response.output_item.added") && is_text(&body["item"]["name"]);
            kind(case) == EndpointKind::Responses && bodies.iter().any(names)
        },
        holds: |parsed, _| parsed.output_text.as_ref().is_some_and(|text| !text.is_empty()),
    },
    Decided {
        reason: "do better, endpoints 4 and 5: what is beside tool calls is counted, and so are they",
        differs: &[Part::Text],
        applies: |case, bodies| match kind(case) {
            EndpointKind::Chat => bodies.iter().map(message).any(|message| calls_tools(&message) && has_more(&message)),
            EndpointKind::Messages => {
                bodies.iter().any(|body| has_several(&body["content"], &["text", "thinking"], "tool_use"))
            }
            EndpointKind::Responses => {
                bodies.iter().any(|body| has_several(&body["output"], &["message", "reasoning"], "function_call"))
            }
            _ => false,
        },
        holds: |parsed, wanted| {
            let wanted = wanted["output_text"].as_str().unwrap_or_default().len();
            parsed.output_text.as_ref().is_some_and(|text| text.len() >= wanted)
        },
    },
    Decided {
        reason: "do better, endpoints 5: a call beside a message is one",
        differs: &[Part::Responses],
        applies: |case, bodies| {
            let is_both = |body: &Value| has_several(&body["output"], &["message"], "function_call");
            kind(case) == EndpointKind::Responses && bodies.iter().any(is_both)
        },
        holds: |parsed, _| !parsed.content.is_empty(),
    },
    Decided {
        reason: "seed 000: the last usage that was reported counts, of an answer that was cut short too",
        differs: &[Part::Usage],
        applies: |case, bodies| {
            let is_cut_short =
                |body: &Value| is_a(body, "response.incomplete") && is_truthy(&body["response"]["usage"]);
            kind(case) == EndpointKind::Responses && bodies.iter().any(is_cut_short)
        },
        holds: |parsed, _| parsed.usage.is_some(),
    },
];

/// How many responses with content a case has.
fn stamps(wanted: &Value) -> usize {
    wanted["content_timestamps"].as_array().or(wanted["parsed"].as_array()).map_or(0, Vec::len)
}

fn reports_error(case: &Value, bodies: &[Value]) -> bool {
    let is_failure = |body: &Value, kinds: &[&str]| kinds.iter().any(|kind| is_a(body, kind));
    bodies.iter().any(|body| match kind(case) {
        EndpointKind::VideoGeneration => false,
        EndpointKind::Messages if is_failure(body, &["error"]) => true,
        EndpointKind::Responses if is_failure(body, &["error", "response.failed", "response.error"]) => true,
        _ => is_truthy(&body["error"]),
    })
}

fn has_choices(case: &Value) -> bool {
    matches!(kind(case), EndpointKind::Chat | EndpointKind::Completions)
}

fn message(body: &Value) -> Value {
    let choice = &body["choices"][0];
    if choice["delta"].is_null() { choice["message"].clone() } else { choice["delta"].clone() }
}

fn is_known_chat(object: &Value) -> bool {
    matches!(object.as_str(), Some("chat.completion" | "chat.completion.chunk"))
}

fn has_any(message: &Value) -> bool {
    calls_tools(message) || has_more(message) || is_text(&message["refusal"]) || is_truthy(&message["content"][0])
}

/// The parts of all items of a whole response.
fn parts(body: &Value) -> Vec<Value> {
    let items = body["output"].as_array().into_iter().flatten();
    items.flat_map(|item| item["content"].as_array().cloned().unwrap_or_default()).collect()
}

fn is_a(value: &Value, kind: &str) -> bool {
    value["type"] == kind
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

pub(super) fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Object(members) => !members.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        other => other.as_f64() != Some(0.0),
    }
}

/// Whether a list holds calls of tools, and something else of what is counted.
fn has_several(list: &Value, others: &[&str], call: &str) -> bool {
    let has = |kind: &str| list.as_array().is_some_and(|list| list.iter().any(|one| is_a(one, kind)));
    has(call) && others.iter().any(|kind| has(kind))
}

/// Whether a body has content in a choice that is not the first.
fn has_other_choices(body: &Value) -> bool {
    let choices = body["choices"].as_array().into_iter().flatten().enumerate();
    let is_filled =
        |choice: &Value| is_text(&choice["text"]) || has_any(&choice["delta"]) || has_any(&choice["message"]);
    let is_other = |at: usize, choice: &Value| choice["index"].as_u64().unwrap_or(at as u64) != 0;
    choices.into_iter().any(|(at, choice)| is_other(at, choice) && is_filled(choice))
}

fn calls_tools(message: &Value) -> bool {
    message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty())
}

/// Whether a message has content beside its tool calls.
fn has_more(message: &Value) -> bool {
    ["content", "reasoning_content", "reasoning"].iter().any(|member| is_text(&message[*member]))
}
