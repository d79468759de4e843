//! The text of a request body: what a tokenizer counts as input.

use crate::kinds::Dialect;
use aiperf_types::EndpointKind;
use serde_json::{Map, Value, json};

/// What a body holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    pub texts: Vec<String>,
    /// Texts of tools and tool calls: not part of a chat template's rendering.
    pub tool_texts: Vec<String>,
    /// Chat messages, when the body has an array of them.
    pub messages: Option<Vec<Value>>,
    pub images: u32,
    pub audios: u32,
    pub videos: u32,
    /// Tokens given as ids.
    pub pretokenised: u64,
}

/// Part types by endpoint type.
struct PartTypes {
    text: &'static [&'static str],
    image: &'static str,
    audio: &'static str,
    video: &'static str,
}

fn part_types(kind: EndpointKind) -> PartTypes {
    match kind {
        EndpointKind::Responses => {
            PartTypes { text: &["input_text", "output_text"], image: "input_image", audio: "input_audio", video: "" }
        }
        EndpointKind::Messages => PartTypes { text: &["text"], image: "image", audio: "", video: "" },
        _ => PartTypes { text: &["text"], image: "image_url", audio: "input_audio", video: "video_url" },
    }
}

/// Reads a request body; `None` when it is not a JSON object.
pub fn extract(dialect: &Dialect, body: &[u8]) -> Option<Inputs> {
    let value: Value = serde_json::from_slice(body).ok()?;
    Some((dialect.inputs)(value.as_object()?))
}

/// Of a body with messages, a prompt, an input, or a query with passages.
pub fn of_messages(body: &Map<String, Value>) -> Inputs {
    walk(EndpointKind::Chat, body)
}

fn walk(kind: EndpointKind, body: &Map<String, Value>) -> Inputs {
    let types = part_types(kind);
    let mut out = Inputs::default();
    for key in ["messages", "input"] {
        if let Some(items) = body.get(key).and_then(Value::as_array).filter(|items| is_item_list(items)) {
            let mut messages = out.messages.take().unwrap_or_default();
            for item in items.iter().filter_map(Value::as_object) {
                take_item(item, &types, &mut out, &mut messages);
            }
            out.messages = Some(messages);
        }
    }
    for tool in body.get("tools").and_then(Value::as_array).into_iter().flatten() {
        for source in [tool.get("function"), Some(tool)].into_iter().flatten().filter_map(Value::as_object) {
            take_tool(source, &mut out);
        }
    }
    if out.messages.is_none() {
        take_plain(body, &mut out);
    }
    out
}

fn is_item_list(items: &[Value]) -> bool {
    items.iter().any(|item| item.get("role").is_some() || item.get("type").is_some())
}

fn take_item(item: &Map<String, Value>, types: &PartTypes, out: &mut Inputs, messages: &mut Vec<Value>) {
    let role = item.get("role").and_then(Value::as_str);
    let mut said = Vec::new();
    match item.get("content") {
        Some(Value::String(text)) => said.push(text.clone()),
        Some(Value::Array(parts)) => {
            for part in parts {
                let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
                if types.text.contains(&kind) {
                    said.extend(part.get("text").and_then(Value::as_str).map(str::to_owned));
                } else if !kind.is_empty() {
                    out.images += u32::from(kind == types.image);
                    out.audios += u32::from(kind == types.audio);
                    out.videos += u32::from(kind == types.video);
                }
            }
        }
        _ => {}
    }
    out.texts.extend(said.iter().cloned());
    let calls = item.get("tool_calls").and_then(Value::as_array);
    for function in calls.into_iter().flatten().filter_map(|call| call.get("function")) {
        for key in ["name", "arguments"] {
            if let Some(text) = non_empty(function.get(key)) {
                out.texts.push(text.to_owned());
                if role.is_none() {
                    out.tool_texts.push(text.to_owned());
                }
            }
        }
    }
    let keys: &[&str] = match item.get("type").and_then(Value::as_str) {
        Some("function_call") => &["name", "arguments"],
        Some("function_call_output") => &["output"],
        _ => &[],
    };
    for text in keys.iter().filter_map(|key| non_empty(item.get(*key))) {
        out.texts.push(text.to_owned());
        out.tool_texts.push(text.to_owned());
    }
    if let Some(role) = role {
        let mut message = json!({"role": role, "content": said.concat()});
        if let (Some(calls), Value::Object(members)) = (item.get("tool_calls"), &mut message) {
            members.insert("tool_calls".into(), calls.clone());
        }
        messages.push(message);
    }
}

fn take_tool(tool: &Map<String, Value>, out: &mut Inputs) {
    let mut say = |text: String| {
        out.texts.push(text.clone());
        out.tool_texts.push(text);
    };
    for key in ["name", "description"] {
        if let Some(text) = non_empty(tool.get(key)) {
            say(text.to_owned());
        }
    }
    if let Some(parameters @ Value::Object(_)) = tool.get("parameters") {
        say(parameters.to_string());
    }
}

fn take_plain(body: &Map<String, Value>, out: &mut Inputs) {
    for key in ["prompt", "input"] {
        match body.get(key) {
            Some(Value::String(text)) => return out.texts.push(text.clone()),
            Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
                return out.texts.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            Some(Value::Array(items)) if items.iter().all(Value::is_i64) => {
                out.pretokenised = items.len() as u64;
                return;
            }
            Some(Value::Array(items))
                if items.iter().all(|item| item.as_array().is_some_and(|ids| ids.iter().all(Value::is_i64))) =>
            {
                out.pretokenised = items.iter().filter_map(Value::as_array).map(|ids| ids.len() as u64).sum();
                return;
            }
            _ => {}
        }
    }
    if let (Some(Value::String(query)), Some(Value::Array(passages))) = (body.get("query"), body.get("passages")) {
        out.texts.push(query.clone());
        let text = |passage: &Value| passage.as_str().or_else(|| passage.get("text")?.as_str()).map(str::to_owned);
        return out.texts.extend(passages.iter().filter_map(text));
    }
    out.texts.extend(body.get("inputs").and_then(Value::as_str).map(str::to_owned));
}

fn non_empty(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}
