//! OpenAI chat completions.

use super::{Carries, Dialect, History, Opening};
use crate::api::Api;
use crate::capture::TextCapture;
use crate::reader::{
    Data, First, Piece, Stateless, Text, error_of, spec_decode_from, spec_decode_of, usage_from, usage_of,
};
use crate::request::{DialectError, Frame, Request};
use crate::{inputs, json};
use aiperf_types::{EndpointKind, Media, Turn};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use std::borrow::Cow;

pub const DIALECT: Dialect = Dialect {
    kind: EndpointKind::Chat,
    carries: Carries::History(&History { items, opening }),
    frame,
    reader: |_| Box::new(Stateless(|json, _| parse(json))),
    capture: |_| Box::new(TextCapture::default()),
    inputs: inputs::of_messages,
};

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let endpoint = &request.api.endpoint;
    let mut frame = Frame::default();
    frame.items("messages");
    frame.set("model", request.model());
    frame.set("stream", request.streaming());
    if let Some(tools) = request.tools {
        frame.set("tools", tools);
    }
    if let Some(max) = request.turn.max_tokens {
        frame.set(if endpoint.legacy_max_tokens { "max_tokens" } else { "max_completion_tokens" }, max);
    }
    frame.extend(request.extras());
    request.ask_for_usage(&mut frame, endpoint.per_chunk_usage);
    Ok(frame)
}

fn opening(request: &Request<'_>, _: Option<&Value>) -> Opening {
    let conversation = request.conversation;
    let mut items = Vec::new();
    if let Some(system) = conversation.system_message.as_deref().filter(|text| !text.is_empty()) {
        items.push(json!({"role": "system", "content": system}));
    }
    if let Some(context) = conversation.user_context_message.as_deref().filter(|text| !text.is_empty()) {
        items.push(json!({"role": "user", "content": context}));
    }
    Opening { items, replaces_first: false }
}

fn items(_: &Api, turn: &Turn) -> Result<Vec<Value>, DialectError> {
    match &turn.raw_messages {
        Some(messages) => Ok(messages.clone()),
        None => Ok(vec![json!({"role": turn.role.as_deref().unwrap_or("user"), "content": content(turn)?})]),
    }
}

fn content(turn: &Turn) -> Result<Value, DialectError> {
    let plain = turn.images.is_empty() && turn.audios.is_empty() && turn.videos.is_empty();
    if let ([Media { contents, .. }], true) = (turn.texts.as_slice(), plain)
        && let [only] = contents.as_slice()
    {
        return Ok(only.as_str().into());
    }
    let mut parts = Vec::new();
    let each =
        |media: &[Media]| media.iter().flat_map(|m| m.contents.clone()).filter(|c| !c.is_empty()).collect::<Vec<_>>();
    parts.extend(each(&turn.texts).into_iter().map(|text| json!({"type": "text", "text": text})));
    parts.extend(each(&turn.images).into_iter().map(|url| json!({"type": "image_url", "image_url": {"url": url}})));
    for audio in each(&turn.audios) {
        let (format, data) = audio_parts(&audio)?;
        parts.push(json!({"type": "input_audio", "input_audio": {"data": data, "format": format}}));
    }
    parts.extend(each(&turn.videos).into_iter().map(|url| json!({"type": "video_url", "video_url": {"url": url}})));
    Ok(if parts.is_empty() { "".into() } else { Value::Array(parts) })
}

/// `wav,<base64>` or `data:audio/wav;base64,<base64>`.
fn audio_parts(text: &str) -> Result<(&str, &str), DialectError> {
    let (head, data) = text.split_once(',').ok_or(DialectError::Unsupported("chat", "audio without a format"))?;
    let format = match head.strip_prefix("data:audio/") {
        Some(rest) => rest.split(';').next().filter(|format| !format.is_empty()).unwrap_or("wav"),
        None => head,
    };
    Ok((format, data))
}

/// The shape nearly every chunk has, read without building a tree.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(default, borrow)]
    choices: Option<First<Choice<'a>>>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    metrics: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Choice<'a> {
    #[serde(default, borrow)]
    delta: Option<Message<'a>>,
    #[serde(default, borrow)]
    message: Option<Message<'a>>,
}

#[derive(Default, Deserialize)]
struct Message<'a> {
    #[serde(default, borrow)]
    content: Option<Text<'a>>,
    #[serde(default, borrow)]
    reasoning_content: Option<Text<'a>>,
    #[serde(default, borrow)]
    reasoning: Option<Text<'a>>,
    #[serde(default, borrow)]
    tool_calls: Option<&'a RawValue>,
    #[serde(default, borrow)]
    refusal: Option<Text<'a>>,
}

fn parse(json: &str) -> Option<Piece<'_>> {
    match serde_json::from_str::<Chunk<'_>>(json) {
        Ok(chunk) if chunk.error.is_none() => Some(from_chunk(chunk)),
        // An error object, or a shape no server we know sends: read it as a tree and take what is there.
        _ => parse_tree(json),
    }
}

fn from_chunk(chunk: Chunk<'_>) -> Piece<'_> {
    let choice = chunk.choices.and_then(|first| first.0).unwrap_or_default();
    let data = choice.delta.or(choice.message).and_then(message_data);
    let spec_decode = chunk.metrics.and_then(spec_decode_from);
    Piece { data, usage: chunk.usage.and_then(usage_from), spec_decode, ..Piece::default() }
}

fn message_data(message: Message<'_>) -> Option<Data<'_>> {
    let some = |text: Option<Text<'_>>| text.map(|text| text.0).filter(|text| !text.is_empty()).map(|t| t.into_owned());
    let reasoning = message.reasoning_content.filter(|text| !text.0.is_empty()).or(message.reasoning);
    if let Some(Text(reasoning)) = reasoning.filter(|text| !text.0.is_empty()) {
        return Some(Data::Reasoning { reasoning, content: message.content.map(|text| text.0), tool_calls: None });
    }
    if let Some(raw) = message.tool_calls
        && let Some(calls) = json::read::<Value>(raw.get())
        && let Some(text) = tool_text(&calls)
    {
        return Some(Data::ToolCall { text: text.into(), content: some(message.content).map(Cow::Owned) });
    }
    match message.content {
        Some(Text(text)) if !text.is_empty() => Some(Data::Text(text)),
        // A refusal is an answer: it took as long, and the user reads it.
        _ => message.refusal.map(|text| text.0).filter(|text| !text.is_empty()).map(Data::Text),
    }
}

fn tool_text(calls: &Value) -> Option<String> {
    let mut text = String::new();
    for function in calls.as_array()?.iter().filter_map(|call| call.get("function")) {
        for part in ["name", "arguments"] {
            text.push_str(function.get(part).and_then(Value::as_str).unwrap_or_default());
        }
    }
    Some(text).filter(|text| !text.is_empty())
}

fn parse_tree(json: &str) -> Option<Piece<'_>> {
    let value: Value = serde_json::from_str(json).ok()?;
    let object = value.as_object()?;
    let choice = object.get("choices").and_then(Value::as_array).and_then(|choices| choices.first());
    let part = |key: &str| choice.and_then(|choice| choice.get(key)).filter(|part| !part.is_null());
    let message = part("delta").or_else(|| part("message"));
    let data = message.and_then(tree_data);
    let (usage, spec_decode) = (usage_of(object), spec_decode_of(object));
    Some(Piece { data, usage, spec_decode, error: error_of(object), ..Piece::default() })
}

fn tree_data(message: &Value) -> Option<Data<'static>> {
    let text = |key: &str| message.get(key).and_then(joined_text).filter(|text| !text.is_empty());
    let content = text("content");
    if let Some(reasoning) = text("reasoning_content").or_else(|| text("reasoning")) {
        return Some(Data::Reasoning {
            reasoning: reasoning.into(),
            content: content.map(Cow::Owned),
            tool_calls: None,
        });
    }
    if let Some(calls) = message.get("tool_calls").and_then(tool_text) {
        return Some(Data::ToolCall { text: calls.into(), content: content.map(Cow::Owned) });
    }
    content.or_else(|| text("refusal")).map(|text| Data::Text(text.into()))
}

/// A string, or the text parts of a list.
fn joined_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::ResponseError;

    #[test]
    fn the_short_way_and_the_tree_read_the_same() {
        for json in [
            r#"{"choices":[{"delta":{"content":"a\n\"b"}}]}"#,
            r#"{"choices":[{"delta":{"role":"assistant","content":""}}],"usage":null}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":1}}"#,
            r#"{"choices":[{"message":{"content":"x","reasoning":"y"}}]}"#,
            r#"{"choices":[{"delta":null,"message":{"content":"x"}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"refusal":"no"}}]}"#,
            r#"{"choices":[],"metrics":{"speculative_decoding":{"num_drafts":2},"other":1}}"#,
            r#"{"choices":[],"metrics":{"speculative_decoding":null}}"#,
        ] {
            assert_eq!(parse(json), parse_tree(json), "{json}");
        }
    }

    #[test]
    fn an_error_object_is_an_error_with_its_code() {
        let piece = parse(r#"{"error":{"message":"bad","code":500}}"#).unwrap();
        assert_eq!(piece.error, Some(ResponseError::Told { code: Some(500), message: "bad".into() }));
    }

    #[test]
    fn rubbish_is_no_piece() {
        assert_eq!(parse("{nope"), None);
        assert_eq!(parse("[1]"), None);
    }
}
