//! The messages of a recorded call, as messages of a chat API.

use serde_json::{Map, Value, json};

use super::super::row::Fault;

const SYSTEM: &str = "gen_ai.system_instructions";

/// The messages of a call: a list of objects, or its JSON text.
pub(in crate::public) fn messages(value: &Value) -> Result<Vec<Value>, Fault> {
    let recorded = objects(value, "gen_ai.input.messages")?;
    if recorded.is_empty() {
        return Err("gen_ai.input.messages must contain at least one message".into());
    }
    let mut messages = Vec::new();
    for message in &recorded {
        let (Some(role), Some(parts)) = (message["role"].as_str(), message["parts"].as_array()) else {
            return Err("each input message requires a string role and parts array".into());
        };
        let role = if role == "developer" { "system" } else { role };
        add_message(role, parts, &mut messages)?;
    }
    Ok(messages)
}

/// Adds one recorded message; tool responses become separate messages.
fn add_message(role: &str, parts: &[Value], messages: &mut Vec<Value>) -> Result<(), Fault> {
    // A message without parts is still a message.
    let mut open = Open { has_parts: parts.is_empty(), ..Open::new(role) };
    for part in parts {
        if !part.is_object() {
            return Err("message parts must be objects".into());
        }
        match part["type"].as_str() {
            Some("text") => open.add_text(as_text(&part["content"], "")),
            Some("thinking") => open.think(as_text(&part["thinking"], "")),
            Some("tool_call") => open.call(part),
            Some("tool_call_response") => {
                messages.extend(open.close());
                let content = as_text(&part["result"], "null");
                messages.push(json!({"role": "tool", "tool_call_id": part["id"], "content": content}));
                open = Open::new(role);
            }
            other => {
                let other = other.map_or_else(|| part["type"].to_string(), |other| format!("'{other}'"));
                return Err(format!("unsupported '{role}' message part {other}"));
            }
        }
    }
    messages.extend(open.close());
    Ok(())
}

/// A message under construction.
struct Open<'a> {
    role: &'a str,
    content: String,
    reasoning: Option<String>,
    calls: Vec<Value>,
    has_parts: bool,
}

impl<'a> Open<'a> {
    fn new(role: &'a str) -> Self {
        Self { role, content: String::new(), reasoning: None, calls: Vec::new(), has_parts: false }
    }

    fn add_text(&mut self, text: String) {
        self.has_parts = true;
        self.content.push_str(&text);
    }

    fn think(&mut self, text: String) {
        self.has_parts = true;
        self.reasoning.get_or_insert_default().push_str(&text);
    }

    fn call(&mut self, part: &Value) {
        self.has_parts = true;
        let arguments = as_text(&part["arguments"], "null");
        let function = json!({"name": part["name"], "arguments": arguments});
        self.calls.push(json!({"id": part["id"], "type": "function", "function": function}));
    }

    /// The message, unless it is empty since the last tool response.
    fn close(self) -> Option<Value> {
        if !self.has_parts {
            return None;
        }
        let mut message = Map::new();
        message.insert("role".into(), self.role.into());
        message.insert("content".into(), self.content.into());
        message.extend(self.reasoning.map(|reasoning| ("reasoning_content".into(), reasoning.into())));
        if !self.calls.is_empty() {
            message.insert("tool_calls".into(), self.calls.into());
        }
        Some(message.into())
    }
}

/// A text stays as it is, null becomes `nothing`, other values become compact JSON.
fn as_text(value: &Value, nothing: &str) -> String {
    match value {
        Value::Null => nothing.to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The system prompt of a call: a text, or a list of message parts, possibly as JSON text.
pub(in crate::public) fn system(value: &Value) -> Result<Vec<Value>, Fault> {
    let parts = match value {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) if text.is_empty() => return Ok(Vec::new()),
        Value::String(text) => match objects(value, SYSTEM) {
            Ok(parts) => parts,
            Err(_) => return Ok(vec![json!({"role": "system", "content": text})]),
        },
        Value::Array(_) => objects(value, SYSTEM)?,
        _ => return Err(format!("{SYSTEM} must be a string")),
    };
    let mut messages = Vec::new();
    add_message("system", &parts, &mut messages)?;
    Ok(messages)
}

pub(in crate::public) fn tools(value: &Value) -> Result<Option<Vec<Value>>, Fault> {
    if value.is_null() {
        return Ok(None);
    }
    let defined = objects(value, "gen_ai.tool.definitions")?;
    let tool = |tool: &Value| match &tool["type"] {
        Value::String(kind) if kind == "function" => {
            let Value::Object(members) = tool else { return Err("a tool must be an object".to_owned()) };
            // Tools in the nested form (`function`) keep their members.
            let of = members.get("function").and_then(Value::as_object).unwrap_or(members);
            let member = |name: &str| (name.to_owned(), of.get(name).cloned().unwrap_or_default());
            let function: Map<String, Value> = ["name", "description", "parameters"].map(member).into_iter().collect();
            Ok(json!({"type": "function", "function": function}))
        }
        Value::String(other) => Err(format!("unsupported tool type '{other}'")),
        other => Err(format!("unsupported tool type {other}")),
    };
    let tools = defined.iter().map(tool).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(tools).filter(|tools| !tools.is_empty()))
}

/// The other settings of a call.
pub(in crate::public) fn extra(attributes: &Value) -> Result<Option<Map<String, Value>>, Fault> {
    let mut extra = Map::new();
    match &attributes["gen_ai.request.temperature"] {
        Value::Null => {}
        Value::Number(number) => drop(extra.insert("temperature".into(), number.clone().into())),
        _ => return Err("gen_ai.request.temperature must be finite".into()),
    }
    match &attributes["gen_ai.request.stop_sequences"] {
        Value::Null => {}
        Value::Array(items) if items.iter().all(Value::is_string) => {
            if !items.is_empty() {
                extra.insert("stop".into(), items.clone().into());
            }
        }
        _ => return Err("gen_ai.request.stop_sequences must be a list of strings".into()),
    }
    Ok(Some(extra).filter(|extra| !extra.is_empty()))
}

fn objects(value: &Value, field: &str) -> Result<Vec<Value>, Fault> {
    let read = match value {
        Value::String(text) => {
            serde_json::from_str(text).map_err(|error| format!("{field} is not valid JSON: {error}"))?
        }
        other => other.clone(),
    };
    match read {
        Value::Array(items) if items.iter().all(Value::is_object) => Ok(items),
        _ => Err(format!("{field} must be a JSON array of objects")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_instructions_as_a_list_of_parts_become_the_text_of_the_parts() {
        let parts = json!([{"type": "text", "content": "be "}, {"type": "text", "content": "nice"}]);
        let nice = json!([{"role": "system", "content": "be nice"}]);
        for recorded in [parts.clone(), parts.to_string().into(), "be nice".into()] {
            assert_eq!(json!(system(&recorded).unwrap()), nice, "{recorded}");
        }
    }

    #[test]
    fn system_instructions_that_only_look_like_json_are_a_text() {
        for text in ["[be nice]", "[1, 2]", "{\"type\": \"text\"}", "3"] {
            let found = system(&text.into()).unwrap();
            assert_eq!(json!(found), json!([{"role": "system", "content": text}]));
        }
    }

    #[test]
    fn a_part_of_the_system_instructions_that_no_chat_api_has_is_refused_by_its_type() {
        let fault = system(&json!([{"type": "image", "content": "x"}])).unwrap_err();
        assert_eq!(fault, "unsupported 'system' message part 'image'");
        assert!(system(&json!([1])).unwrap_err().contains("must be a JSON array of objects"));
    }
}
