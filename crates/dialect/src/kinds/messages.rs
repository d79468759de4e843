//! Anthropic messages.

use super::{Carries, Dialect, Ending, History, Opening, chat};
use crate::kinds::shared::content::{self, Parts};
use crate::request::inputs;
use crate::request::{DialectError, Frame, Request};
use crate::response::capture::{Capture, TextCapture};
use crate::response::reader::{Data, Piece, ResponseError, Stateless, error_in, given_up, usage_from};
use crate::settings::ApiSettings;
use crate::text::data_uri::{DataUri, data_uri};
use crate::text::json::{self, is_truthy};
use crate::text::lenient::{Index, List, Object, Str, joined_texts};
use aiperf_types::{EndpointKind, Reply, Turn};
use bytes::Bytes;
use memchr::memmem;
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use std::borrow::Cow;
use std::collections::BTreeMap;

pub const DIALECT: Dialect = Dialect {
    carries: Carries::History(&History { items, text_end: "}", opening }),
    capture: |_| Box::new(MessagesCapture::default()),
    inputs: inputs::of_blocks,
    ending: Ending::Event,
    smallest_request: Some(chat::smallest_request),
    ..Dialect::new(EndpointKind::Messages, frame, |_| Box::new(Stateless(|json, _| parse(json))))
};

const PARTS: Parts = Parts { text: "text", image, image_ids: false, audio: false, video: false };

/// The API has no requests without a limit.
const MAX_TOKENS: u32 = 1024;

fn image(content: &str) -> Value {
    let Some(DataUri { media_type, data, .. }) = data_uri(content) else {
        return json!({"type": "image", "source": {"type": "url", "url": content}});
    };
    let media_type = if media_type.is_empty() { "image/png" } else { media_type };
    let data = data.unwrap_or_default();
    json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
}

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let mut frame = Frame::default();
    frame.set("model", request.model());
    frame.items("messages");
    frame.set("max_tokens", request.turn.max_tokens.unwrap_or(MAX_TOKENS));
    if request.streaming() {
        frame.set("stream", true);
    }
    match (request.system, request.system_message()) {
        (Some(blocks), None) => frame.set_encoded("system", blocks.clone()),
        (Some(blocks), Some(text)) => frame.set_encoded("system", with_text_first(text, blocks)),
        (None, Some(text)) => frame.set("system", text),
        (None, None) => {}
    }
    if let Some(tools) = request.tools {
        frame.set_encoded("tools", tools.clone());
    }
    frame.extend(request.extras());
    Ok(frame)
}

/// A list of blocks that is encoded, with a text before them.
fn with_text_first(text: &str, blocks: &[u8]) -> Bytes {
    let mut all = json!([{"type": "text", "text": text}]).to_string().into_bytes();
    if blocks != b"[]" {
        all.pop();
        all.push(b',');
        all.extend_from_slice(&blocks[1..]);
    }
    all.into()
}

fn items(api: &ApiSettings, turn: &Turn) -> Result<Vec<Value>, DialectError> {
    match &turn.raw_messages {
        Some(messages) => Ok(messages.clone()),
        None => Ok(vec![content::message(api, turn, &PARTS)?]),
    }
}

fn opening(request: &Request<'_>, _: Option<&Value>) -> Opening {
    let items = request.user_context_message().map(|context| json!({"role": "user", "content": context}));
    Opening { items: items.into_iter().collect(), replaces_first: false }
}

/// An event of a stream, or a whole message.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Str<'a>,
    #[serde(default, borrow)]
    delta: Object<Block<'a>>,
    #[serde(default, borrow)]
    message: Object<Message<'a>>,
    #[serde(default, borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
}

/// A block of content, or a piece of one.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Str<'a>,
    #[serde(default, borrow)]
    text: Str<'a>,
    #[serde(default, borrow)]
    thinking: Str<'a>,
    #[serde(default, borrow)]
    partial_json: Str<'a>,
    #[serde(default, borrow)]
    name: Str<'a>,
    #[serde(default, borrow)]
    input: Option<&'a RawValue>,
    /// Of a `message_delta`.
    #[serde(default, borrow)]
    stop_reason: Option<&'a RawValue>,
}

/// Names of the kinds that matter. They may be written in other ways.
const NAMES: [&str; 14] = [
    "content_block_delta",
    "text_delta",
    "thinking_delta",
    "signature_delta",
    "input_json_delta",
    "content_block_start",
    "message_start",
    "message_delta",
    "message_stop",
    "message",
    "error",
    "text",
    "thinking",
    "tool_use",
];

/// How the name of a kind is usually written.
fn usual(kind: &str) -> Option<&'static str> {
    let usual = |byte: u8| if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
    let is_alike = |name: &&str| name.len() == kind.len() && name.bytes().eq(kind.bytes().map(usual));
    NAMES.into_iter().find(is_alike)
}

impl Str<'_> {
    /// The kind that it names.
    fn kind(&self) -> Option<&'static str> {
        self.0.as_deref().and_then(usual)
    }
}

fn parse(json: &str) -> Option<Piece<'_>> {
    let event: Event<'_> = json::object(json)?;
    let usage = |usage: Option<&RawValue>| Piece { usage: usage.and_then(usage_from), ..Piece::default() };
    let stop_reason = event.stop_reason.or(event.delta.0.as_ref().and_then(|delta| delta.stop_reason));
    let error = error_in(event.error).or_else(|| given_up(&json::read(stop_reason?.get())?));
    let piece = match event.kind.kind() {
        Some("content_block_delta") => Piece { data: event.delta.0.and_then(delta), ..Piece::default() },
        Some("message") => Piece { data: event.content.and_then(whole), ..usage(event.usage) },
        Some("message_start") => usage(event.message.0.and_then(|message| message.usage)),
        Some("message_delta") => usage(event.usage),
        Some("message_stop") => Piece { finishes: true, ..Piece::default() },
        Some("error") => Piece { error: Some(unnamed_error()), ..Piece::default() },
        _ => Piece::default(),
    };
    Some(Piece { error: error.or(piece.error), ..piece })
}

fn unnamed_error() -> ResponseError {
    ResponseError::Reported { code: None, message: "the message failed".into() }
}

fn delta(delta: Block<'_>) -> Option<Data<'_>> {
    match delta.kind.kind() {
        Some("text_delta") => delta.text.0.map(Data::Text),
        Some("thinking_delta") => Data::of(delta.thinking.0, None, None),
        Some("input_json_delta") => Data::of(None, None, delta.partial_json.0),
        _ => None,
    }
}

fn whole(content: &RawValue) -> Option<Data<'_>> {
    let blocks: List<Block<'_>> = serde_json::from_str(content.get()).ok()?;
    let (mut thought, mut spoken, mut called) = (None, None, None);
    for (_, block) in blocks.objects() {
        match block.kind.kind() {
            Some("thinking") => thought = joined_texts([thought, block.thinking.0]),
            Some("text") => spoken = joined_texts([spoken, block.text.0]),
            Some("tool_use") => {
                let input = block.input.and_then(|input| json::read::<Value>(input.get()));
                let input = input.filter(|input| is_truthy(Some(input))).map(|input| Cow::Owned(input.to_string()));
                called = joined_texts([called, block.name.0, input]);
            }
            _ => {}
        }
    }
    Data::of(thought, spoken, called)
}

/// Text, or blocks in the form that a later turn must repeat.
#[derive(Default)]
struct MessagesCapture {
    text: TextCapture,
    output: String,
    /// Reasoning and calls by their index.
    blocks: BTreeMap<u32, OpenBlock>,
}

struct OpenBlock {
    is_thought: bool,
    block: Map<String, Value>,
    /// The input of a call, as far as it has arrived.
    input: String,
}

/// The parts of an event that later turns need.
#[derive(Deserialize)]
struct CapturedEvent<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Str<'a>,
    #[serde(default)]
    index: Index,
    #[serde(default, borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(default, borrow)]
    delta: Object<KeptDelta<'a>>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct KeptDelta<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Str<'a>,
    #[serde(default, borrow)]
    thinking: Str<'a>,
    #[serde(default, borrow)]
    signature: Str<'a>,
    #[serde(default, borrow)]
    partial_json: Str<'a>,
}

impl Capture for MessagesCapture {
    fn take(&mut self, piece: &Piece<'_>, text: &str) {
        self.text.take(piece, text);
        piece.of_choice(0).filter_map(Data::content).for_each(|content| self.output.push_str(content));
        // Most events are a piece of text. A whole message, which has its content, may contain more than what is
        // counted.
        if matches!(piece.data, Some(Data::Text(_))) && memmem::find(text.as_bytes(), b"\"content\"").is_none() {
            return;
        }
        let Some(event) = json::object::<CapturedEvent<'_>>(text) else { return };
        let index = event.index.0.unwrap_or_default();
        match event.kind.kind() {
            Some("message") => {
                let content = event.content.and_then(|content| json::read::<Vec<Value>>(content.get()));
                for (at, block) in content.into_iter().flatten().enumerate() {
                    self.blocks.extend(OpenBlock::of(block).map(|block| (at as u32, block)));
                }
            }
            Some("content_block_start") => {
                let block = event.content_block.and_then(|block| json::read(block.get()));
                self.blocks.extend(block.and_then(OpenBlock::started).map(|block| (index, block)));
            }
            Some("content_block_delta") => {
                if let (Some(open), Some(delta)) = (self.blocks.get_mut(&index), event.delta.0) {
                    open.take(delta);
                }
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>) -> Reply {
        if self.blocks.is_empty() {
            return Reply { turn: self.text.turn(), response_id: None };
        }
        let (thoughts, calls): (Vec<OpenBlock>, Vec<OpenBlock>) =
            self.blocks.into_values().partition(|block| block.is_thought);
        let output = (!self.output.is_empty()).then(|| json!({"type": "text", "text": self.output}));
        let content: Vec<Value> = thoughts
            .into_iter()
            .map(OpenBlock::close)
            .chain(output)
            .chain(calls.into_iter().map(OpenBlock::close))
            .collect();
        let message = json!({"role": "assistant", "content": content});
        let turn = Turn { raw_messages: Some(vec![message]), ..Turn::default() };
        Reply { turn: Some(turn), response_id: None }
    }
}

impl OpenBlock {
    /// A block that a later turn must repeat, if it is one.
    fn of(block: Value) -> Option<Self> {
        let Value::Object(block) = block else { return None };
        let is_thought = match block.get("type").and_then(Value::as_str).and_then(usual) {
            Some("thinking") => true,
            Some("tool_use") => false,
            _ => return None,
        };
        Some(Self { is_thought, block, input: String::new() })
    }

    /// The same at its beginning: it has the members that deltas extend.
    fn started(block: Value) -> Option<Self> {
        let mut open = Self::of(block)?;
        let added: &[(&str, Value)] = match open.is_thought {
            true => &[("thinking", json!("")), ("signature", json!(""))],
            false => &[("input", json!({}))],
        };
        for (member, empty) in added {
            let known = open.block.entry(*member).or_insert(Value::Null);
            if known.is_null() {
                known.clone_from(empty);
            }
        }
        Some(open)
    }

    fn take(&mut self, delta: KeptDelta<'_>) {
        let (member, more) = match (delta.kind.kind(), self.is_thought) {
            (Some("thinking_delta"), true) => ("thinking", delta.thinking.0),
            (Some("signature_delta"), true) => ("signature", delta.signature.0),
            (Some("input_json_delta"), false) => {
                return self.input.push_str(delta.partial_json.0.as_deref().unwrap_or_default());
            }
            _ => return,
        };
        if let (Some(Value::String(known)), Some(more)) = (self.block.get_mut(member), more) {
            known.push_str(&more);
        }
    }

    /// The block with its type first and without members that are null.
    fn close(mut self) -> Value {
        if !self.input.is_empty() {
            let input = json::read(&self.input).unwrap_or(Value::String(self.input));
            self.block.insert("input".into(), input);
        }
        let kind = self.block.shift_remove("type").map(|kind| ("type".to_owned(), kind));
        kind.into_iter().chain(self.block).filter(|(_, value)| !value.is_null()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(event: &Value) -> Piece<'static> {
        parse(event.to_string().leak()).unwrap()
    }

    fn captured(events: &[Value]) -> Value {
        let mut capture = Box::new(MessagesCapture::default());
        events.iter().for_each(|event| capture.take(&read(event), &event.to_string()));
        json!(capture.finish().turn.and_then(|turn| turn.raw_messages))
    }

    #[test]
    fn kinds_of_events_may_be_written_in_other_ways() {
        let delta = json!({"type": "text_delta", "text": "a"});
        for kind in ["content_block_delta", "Content-Block-Delta", "CONTENT_BLOCK-DELTA"] {
            assert_eq!(read(&json!({"type": kind, "delta": delta})).data, Some(Data::Text("a".into())), "{kind}");
        }
        let odd = json!({"type": "content_block_delta", "delta": {"type": "Text-Delta", "text": "a"}});
        assert_eq!(read(&odd).data, Some(Data::Text("a".into())));
        assert_eq!(read(&json!({"type": "content_block_delta2", "delta": delta})), Piece::default());
        assert_eq!(read(&json!({"delta": delta})), Piece::default());
    }

    #[test]
    fn all_blocks_of_a_whole_message_count() {
        let content = json!([
            {"type": "thinking", "thinking": "t"},
            {"type": "text", "text": "a"},
            {"type": "tool_use", "name": "f", "input": {"b": [1, 2]}},
            {"type": "tool_use", "name": "g", "input": {}},
        ]);
        let piece = read(&json!({"type": "message", "content": content, "usage": {"output_tokens": 3}}));
        assert_eq!(piece.data, Data::of(Some("t".into()), Some("a".into()), Some("f{\"b\":[1,2]}g".into())));
        assert_eq!(json!(piece.usage), json!({"output_tokens": 3}));
    }

    #[test]
    fn an_error_event_is_an_error() {
        let event = json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
        let busy = ResponseError::Reported { code: None, message: "busy".into() };
        assert_eq!(read(&event).error, Some(busy));
        assert_eq!(read(&json!({"type": "error"})).error, Some(unnamed_error()));
    }

    #[test]
    fn blocks_are_put_together_from_their_pieces() {
        let start =
            |index: u32, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
        let delta = |index: u32, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        let events = [
            start(2, json!({"id": "c", "type": "tool_use", "name": "f", "input": {}, "x": null})),
            delta(2, json!({"type": "input_json_delta", "partial_json": "{\"a\":"})),
            delta(2, json!({"type": "input_json_delta", "partial_json": "1}"})),
            start(0, json!({"type": "thinking", "thinking": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "t"})),
            delta(0, json!({"type": "signature_delta", "signature": "s"})),
            delta(1, json!({"type": "text_delta", "text": "a"})),
            delta(7, json!({"type": "thinking_delta", "thinking": "nowhere"})),
            delta(2, json!({"type": "thinking_delta", "thinking": "no thought"})),
            start(3, json!({"type": "tool_use", "name": "g", "input": {"k": 1}})),
            start(4, json!({"type": "tool_use", "name": "h"})),
            start(5, json!({"type": "text", "text": ""})),
        ];
        let content = json!([
            {"type": "thinking", "thinking": "t", "signature": "s"},
            {"type": "text", "text": "a"},
            {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
            {"type": "tool_use", "name": "g", "input": {"k": 1}},
            {"type": "tool_use", "name": "h", "input": {}},
        ]);
        assert_eq!(captured(&events), json!([{"role": "assistant", "content": content}]));
        assert_eq!(captured(&events[6..7]), json!(null));
    }

    #[test]
    fn a_block_that_is_not_counted_is_repeated_all_the_same() {
        let blocks = [json!({"type": "text", "text": "a"}), json!({"type": "tool_use", "id": "c", "input": {}})];
        let message = json!({"type": "message", "content": blocks});
        assert_eq!(read(&message).data, Some(Data::Text("a".into())));
        assert_eq!(captured(&[message]), json!([{"role": "assistant", "content": blocks}]));
    }
}
