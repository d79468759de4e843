//! OpenAI chat completions.

use super::{Carries, Dialect, Ending, History, Opening};
use crate::kinds::shared::chunk::{Chunk, Finish};
use crate::kinds::shared::content::{self, Parts};
use crate::request::{DialectError, Frame, Request};
use crate::response::capture::{Capture, TextCapture};
use crate::response::reader::{Data, Piece, Stateless};
use crate::settings::ApiSettings;
use crate::text::json::{self, is_truthy};
use crate::text::lenient::{Content, Index, List, Object, Str, joined_texts};
use crate::text::strict::{Only, Text};
use aiperf_types::{EndpointKind, Reply, Turn};
use memchr::memmem;
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub const DIALECT: Dialect = Dialect {
    carries: Carries::History(&HISTORY),
    capture: |_| Box::new(ChatCapture::default()),
    has_steady_frame: true,
    ending: Ending::Done,
    counts_additions: true,
    smallest_request: Some(smallest_request),
    ..Dialect::new(EndpointKind::Chat, frame, |_| Box::new(Stateless(|json, _| parse(json))))
};

pub(super) const HISTORY: History = History { items, text_end: "}", opening };

pub(crate) fn smallest_request(model: &str) -> Value {
    json!({"messages": [{"role": "user", "content": "Lo"}], "max_tokens": 1, "model": model})
}

const PARTS: Parts = Parts {
    text: "text",
    image: |url| json!({"type": "image_url", "image_url": {"url": url}}),
    image_ids: true,
    audio: true,
    video: true,
};

pub(super) fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let endpoint = &request.api.endpoint;
    let mut frame = Frame::default();
    frame.items("messages");
    frame.set("model", request.model());
    frame.set("stream", request.streaming());
    if let Some(tools) = request.tools {
        frame.set_encoded("tools", tools.clone());
    }
    if let Some(max) = request.turn.max_tokens {
        frame.set(if endpoint.legacy_max_tokens { "max_tokens" } else { "max_completion_tokens" }, max);
    }
    frame.extend(request.extras());
    request.ask_for_usage(&mut frame, endpoint.per_chunk_usage);
    Ok(frame)
}

fn items(api: &ApiSettings, turn: &Turn) -> Result<Vec<Value>, DialectError> {
    match &turn.raw_messages {
        Some(messages) => Ok(messages.clone()),
        None => Ok(vec![content::message(api, turn, &PARTS)?]),
    }
}

/// A system message goes before one that the turns begin with, in the same message.
fn opening(request: &Request<'_>, first: Option<&Value>) -> Opening {
    let mut opening = Opening::default();
    if let Some(system) = request.system_message() {
        match first.filter(|first| first.get("role").and_then(Value::as_str) == Some("system")) {
            Some(first) => {
                opening.items.push(merged(system, first));
                opening.replaces_first = true;
            }
            None => opening.items.push(json!({"role": "system", "content": system})),
        }
    }
    if let Some(context) = request.user_context_message() {
        opening.items.push(json!({"role": "user", "content": context}));
    }
    opening
}

fn merged(system: &str, message: &Value) -> Value {
    let content = match message.get("content") {
        Some(Value::String(text)) if !text.is_empty() => format!("{system}\n\n{text}").into(),
        Some(Value::Array(parts)) => {
            let first = json!({"type": "text", "text": system});
            Value::Array(std::iter::once(first).chain(parts.iter().cloned()).collect())
        }
        _ => system.into(),
    };
    let mut message = message.clone();
    message["content"] = content;
    message
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: Index,
    #[serde(default, borrow)]
    delta: Object<Message<'a>>,
    #[serde(default, borrow)]
    message: Object<Message<'a>>,
    #[serde(default, borrow)]
    finish_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    native_finish_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default, borrow)]
    content: Content<'a>,
    #[serde(default, borrow)]
    reasoning_content: Content<'a>,
    #[serde(default, borrow)]
    reasoning: Content<'a>,
    #[serde(default, borrow)]
    tool_calls: Option<&'a RawValue>,
    #[serde(default, borrow)]
    refusal: Content<'a>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(default, borrow)]
    function: Object<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(default, borrow)]
    name: Str<'a>,
    #[serde(default, borrow)]
    arguments: Str<'a>,
}

/// The one choice that nearly every chunk has.
#[derive(Deserialize)]
struct UsualChoice<'a> {
    #[serde(default)]
    index: Option<u32>,
    #[serde(borrow)]
    delta: UsualDelta<'a>,
    #[serde(default, borrow)]
    finish_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    native_finish_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct UsualDelta<'a> {
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
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

/// The content of a chunk of the usual form; `None` if it needs the general parser.
fn parse_usual(json: &str) -> Option<Piece<'_>> {
    let chunk: Chunk<'_, Only<UsualChoice<'_>>> = json::object(json)?;
    if chunk.has_error() {
        return None;
    }
    let piece = chunk.beside_choices();
    let Some(UsualChoice { index, delta, finish_reason, native_finish_reason, stop_reason, error }) = chunk.choices.0
    else {
        return Some(piece);
    };
    if delta.tool_calls.is_some() || delta.refusal.is_some() || delta.error.is_some() {
        return None;
    }
    let reasoning = Text::filled(delta.reasoning_content).or(Text::filled(delta.reasoning));
    let mut finish = Finish::default();
    finish.take(finish_reason, error);
    finish.take_native(native_finish_reason);
    finish.take_stop(stop_reason, finish_reason);
    Some(finish.of(piece.with_choice(index, Data::of(reasoning, Text::filled(delta.content), None))))
}

fn parse(json: &str) -> Option<Piece<'_>> {
    parse_usual(json).or_else(|| parse_any(json))
}

fn parse_any(json: &str) -> Option<Piece<'_>> {
    let chunk: Chunk<'_, List<Choice<'_>>> = json::object(json)?;
    let (beside, mut finish) = (chunk.beside_choices(), Finish::default());
    let texts = chunk.choices.objects().map(|(at, choice)| {
        finish.take(choice.finish_reason, choice.error);
        finish.take_native(choice.native_finish_reason);
        finish.take_stop(choice.stop_reason, choice.finish_reason);
        let message = choice.delta.0.or(choice.message.0);
        finish.take(None, message.as_ref().and_then(|message| message.error));
        (choice.index.0.unwrap_or(at as u32), message.and_then(message_data))
    });
    let piece = beside.of_choices(texts);
    Some(finish.of(piece))
}

/// Names and arguments of calls.
fn tool_text(calls: &RawValue) -> Option<Cow<'_, str>> {
    let calls: List<Call<'_>> = serde_json::from_str(calls.get()).ok()?;
    let functions = calls.objects().filter_map(|(_, call)| call.function.0);
    joined_texts(functions.flat_map(|function| [function.name.0, function.arguments.0]))
}

fn message_data(message: Message<'_>) -> Option<Data<'_>> {
    let calls = message.tool_calls.and_then(tool_text);
    // A refusal is a response: it took as long, and the user reads it.
    let content = joined_texts([message.content.text, message.refusal.whole()]);
    let apart = message.reasoning_content.whole().or_else(|| message.reasoning.whole());
    Data::of(apart.or(message.content.thought), content, calls)
}

/// Text, or a message with tool calls in the form that a later turn must repeat.
#[derive(Default)]
struct ChatCapture {
    text: TextCapture,
    /// The output without reasoning; `None` while there is none.
    content: Option<String>,
    /// A response had calls, so similar ones may have them too.
    has_calls: bool,
    /// Calls by their index, as far as they have arrived.
    calls: BTreeMap<u64, Map<String, Value>>,
}

impl Capture for ChatCapture {
    fn take(&mut self, piece: &Piece<'_>, text: &str) {
        if self.content.is_none() && piece.of_choice(0).any(|data| matches!(data, Data::Reasoning { .. })) {
            self.content = Some(self.text.text().to_owned());
        }
        if let Some(spoken) = &mut self.content {
            piece.of_choice(0).filter_map(Data::content).for_each(|content| spoken.push_str(content));
        }
        self.text.take(piece, text);
        if may_call(text)
            && let Some(body) = json::read::<Value>(text)
        {
            self.has_calls = true;
            self.take_calls(&body);
        }
    }

    fn takes_texts(&self) -> bool {
        !self.has_calls
    }

    fn ignores(&self, text: &str) -> bool {
        !may_call(text)
    }

    fn take_texts(&mut self, choice: u32, text: &str) {
        if let Some(content) = self.content.as_mut().filter(|_| choice == 0) {
            content.push_str(text);
        }
        self.text.take_texts(choice, text);
    }

    fn finish(self: Box<Self>) -> Reply {
        if self.calls.is_empty() {
            return Reply { turn: self.text.turn(), response_id: None };
        }
        let content = self.content.as_deref().unwrap_or(self.text.text());
        let content = if content.is_empty() { Value::Null } else { content.into() };
        let calls: Vec<Value> = self.calls.into_values().map(Value::Object).collect();
        let message = json!({"role": "assistant", "content": content, "tool_calls": calls});
        let turn = Turn { raw_messages: Some(vec![message]), ..Turn::default() };
        Reply { turn: Some(turn), response_id: None }
    }
}

impl ChatCapture {
    fn take_calls(&mut self, body: &Value) {
        let choices = body.get("choices").and_then(Value::as_array).into_iter().flatten().enumerate();
        let index = |at: usize, choice: &Value| choice.get("index").and_then(Value::as_u64).unwrap_or(at as u64);
        let Some((_, choice)) = choices.into_iter().find(|(at, choice)| index(*at, choice) == 0) else { return };
        let (message, is_whole) = match (choice.get("delta"), choice.get("message")) {
            (Some(delta @ Value::Object(_)), _) => (delta, false),
            (_, Some(message)) => (message, true),
            _ => return,
        };
        let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        for call in calls.filter_map(Value::as_object) {
            let at = call.get("index").and_then(Value::as_u64).unwrap_or(self.calls.len() as u64);
            if is_whole {
                let mut call = call.clone();
                call.shift_remove("index");
                self.calls.insert(at, call);
            } else {
                merge_call(self.calls.entry(at).or_default(), call);
            }
        }
        if let Some(function) = message.get("function_call").and_then(Value::as_object) {
            let at = if is_whole { self.calls.len() as u64 } else { 0 };
            let call = self.calls.entry(at).or_default();
            call.entry("type").or_insert("function".into());
            for member in ["name", "arguments"] {
                append(object_in(call, "function"), member, function.get(member));
            }
        }
    }
}

/// Whether there are `tool_calls` or, as older servers have it, a `function_call`. Some servers have empty ones in
/// every chunk.
fn may_call(text: &str) -> bool {
    let is_empty = |at: usize| {
        let rest = &text[at + "_call".len()..];
        let value = rest.strip_prefix('s').unwrap_or(rest).strip_prefix("\":").map(str::trim_start);
        value.is_some_and(|value| value.starts_with("[]") || value.starts_with("null"))
    };
    CALL.find_iter(text.as_bytes()).any(|at| !is_empty(at))
}

/// The searcher for every chunk is prepared once.
static CALL: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("_call"));

/// Adds the delta of a chunk to a call.
fn merge_call(call: &mut Map<String, Value>, delta: &Map<String, Value>) {
    for member in ["id", "type"] {
        if let Some(value) = delta.get(member).filter(|value| is_truthy(Some(value))) {
            call.insert(member.into(), value.clone());
        }
    }
    if let Some(Value::Object(function)) = delta.get("function") {
        let known = object_in(call, "function");
        if let Some(name) = function.get("name").filter(|name| is_truthy(Some(name))) {
            known.insert("name".into(), name.clone());
        }
        if let Some(arguments) = function.get("arguments") {
            append(known, "arguments", Some(arguments));
        }
    }
}

fn append(object: &mut Map<String, Value>, member: &str, text: Option<&Value>) {
    let known = object.entry(member).or_insert_with(|| "".into());
    if let (Value::String(known), Some(Value::String(text))) = (known, text) {
        known.push_str(text);
    }
}

fn object_in<'a>(object: &'a mut Map<String, Value>, member: &str) -> &'a mut Map<String, Value> {
    let inner = object.entry(member).or_insert(Value::Null);
    if !inner.is_object() {
        *inner = Value::Object(Map::new());
    }
    match inner {
        Value::Object(inner) => inner,
        _ => unreachable!("it was made one"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::reader::ResponseError;

    #[test]
    fn the_usual_way_and_the_other_read_the_same() {
        for json in [
            r#"{"choices":[{"delta":{"content":"a\n\"b"}}]}"#,
            r#"{"choices":[{"index":1,"delta":{"role":"assistant","content":""}}],"usage":null}"#,
            r#"{"choices":[{"index":3,"delta":{"content":"x","reasoning":"y"},"logprobs":null}]}"#,
            r#"{"choices":[{"delta":{"reasoning_content":"","reasoning":"y"}}]}"#,
            r#"{"choices":[{"delta":{"content":null,"tool_calls":null,"refusal":null}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f"}}]}}]}"#,
            r#"{"choices":[{"delta":{"refusal":"no"}}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":1}}"#,
            r#"{"choices":[],"metrics":{"speculative_decoding":{"num_drafts":2},"other":1}}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"error":null}"#,
        ] {
            assert_eq!(parse(json), parse_any(json), "{json}");
        }
    }

    fn delta(json: &str) -> Piece<'static> {
        let chunk = format!(r#"{{"choices":[{{"delta":{json}}}]}}"#).leak();
        parse(chunk).unwrap()
    }

    #[test]
    fn everything_in_a_chunk_counts() {
        let text = |text: &str| Some(Data::Text(text.to_owned().into()));
        for (json, data) in [
            (r#"{"content":"a\n\"b"}"#, text("a\n\"b")),
            (r#"{"role":"assistant","content":""}"#, None),
            (r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, text("ab")),
            (r#"{"refusal":"no"}"#, text("no")),
            (r#"{"content":7}"#, None),
            (
                r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"},{"type":"text","text":"m"}]}]}"#,
                Data::of(Some("hm".into()), None, None),
            ),
            (
                r#"{"content":[{"type":"thinking","thinking":"hm","closed":true},{"type":"text","text":"a"}]}"#,
                Data::of(Some("hm".into()), Some("a".into()), None),
            ),
            (r#"{"content":[{"type":"thinking","thinking":[{"text":7},null,[]]}]}"#, None),
            (
                r#"{"content":"x","reasoning_content":"","reasoning":"y"}"#,
                Data::of(Some("y".into()), Some("x".into()), None),
            ),
            (
                r#"{"content":"x","reasoning":"y","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}"#,
                Data::of(Some("y".into()), Some("x".into()), Some("f{}".into())),
            ),
            (
                r#"{"content":"x","tool_calls":[{"function":{"name":"f"}},null,{"function":{"name":"g"}}]}"#,
                Data::of(None, Some("x".into()), Some("fg".into())),
            ),
        ] {
            assert_eq!(delta(json).data, data, "{json}");
        }
    }

    #[test]
    fn choices_are_distinguished_by_their_index() {
        let piece =
            parse(r#"{"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}"#).unwrap();
        assert_eq!((piece.choice, &piece.data), (1, &Some(Data::Text("b".into()))));
        assert_eq!(piece.others, [(0, Data::Text("a".into()))]);
        let unnumbered = parse(r#"{"choices":[{"message":{}},{"message":{"content":"b"}}]}"#).unwrap();
        assert_eq!((unnumbered.choice, unnumbered.others.len()), (1, 0));
    }

    #[test]
    fn reports_beside_the_choices_are_read() {
        let piece =
            parse(r#"{"choices":[],"usage":{"prompt_tokens":1},"metrics":{"speculative_decoding":{"n":2}}}"#).unwrap();
        assert_eq!(Value::Object(piece.usage.unwrap()), json!({"prompt_tokens": 1}));
        assert_eq!(Value::Object(piece.spec_decode.unwrap()), json!({"n": 2}));
        assert_eq!(parse(r#"{"usage":null,"metrics":{"speculative_decoding":null}}"#), Some(Piece::default()));
    }

    #[test]
    fn an_error_object_is_an_error_with_its_code() {
        let piece = parse(r#"{"error":{"message":"bad","code":500}}"#).unwrap();
        assert_eq!(piece.error, Some(ResponseError::Reported { code: Some(500), message: "bad".into() }));
    }

    fn captured(deltas: &[Value]) -> Value {
        let mut capture = Box::new(ChatCapture::default());
        for delta in deltas {
            let chunk = json!({"choices": [{"index": 0, "delta": delta}]}).to_string();
            capture.take(&parse(&chunk).unwrap(), &chunk);
        }
        json!(capture.finish().turn.and_then(|turn| turn.raw_messages))
    }

    #[test]
    fn calls_are_put_together_from_their_pieces() {
        let call = |call: Value| json!({"tool_calls": [call]});
        let message =
            |content: Value, calls: Value| json!([{"role": "assistant", "content": content, "tool_calls": calls}]);
        assert_eq!(
            captured(&[
                json!({"reasoning": "r", "content": "a"}),
                call(json!({"index": 1, "id": "c", "type": "function", "function": {"name": "g"}})),
                call(json!({"index": 0, "id": "b", "function": {"name": "f", "arguments": null}})),
                call(json!({"index": 0, "function": {"name": "", "arguments": "{}"}})),
            ]),
            message(
                json!("a"),
                json!([
                    {"id": "b", "function": {"name": "f", "arguments": "{}"}},
                    {"id": "c", "type": "function", "function": {"name": "g"}},
                ])
            )
        );
        assert_eq!(captured(&[call(json!({"id": "b"}))]), message(Value::Null, json!([{"id": "b"}])));
        assert_eq!(captured(&[json!({"content": "a", "tool_calls": []})]), Value::Null);
    }

    #[test]
    fn chunks_without_calls_are_not_searched_for_them() {
        for no in [r#"{"tool_calls":[],"function_call":null}"#, r#"{"tool_calls": [], "function_call": null}"#, "{}"] {
            assert!(!may_call(no), "{no}");
        }
        for yes in [
            r#"{"tool_calls":[],"function_call":{}}"#,
            r#"{"tool_calls":[{}]}"#,
            r#"{"tool_calls" :[{}]}"#,
            "_call",
            "_calls",
        ] {
            assert!(may_call(yes), "{yes}");
        }
    }

    #[test]
    fn a_call_of_the_older_kind_may_come_beside_a_text() {
        let deltas = [
            json!({"content": "a", "function_call": {"name": "f"}}),
            json!({"function_call": {"name": "g", "arguments": "1"}}),
        ];
        let calls = json!([{"type": "function", "function": {"name": "fg", "arguments": "1"}}]);
        assert_eq!(captured(&deltas), json!([{"role": "assistant", "content": "a", "tool_calls": calls}]));
    }

    #[test]
    fn rubbish_is_no_piece() {
        assert_eq!(parse("{nope"), None);
        assert_eq!(parse("[1]"), None);
    }
}
