//! OpenAI responses.

use super::{Carries, Dialect, Ending, History, Opening};
use crate::kinds::shared::content::{self, Parts};
use crate::request::inputs;
use crate::request::{DialectError, Frame, Request};
use crate::response::capture::{Capture, TextCapture};
use crate::response::reader::{
    Data, Delivery, Piece, Reader, ResponseError, error_in, error_of, shown_if_empty, usage_from,
};
use crate::settings::ApiSettings;
use crate::text::json::{self, is_truthy};
use crate::text::lenient::{Index, List, Object, Str, joined_texts};
use aiperf_types::{EndpointKind, Reply, Turn};
use memchr::memmem;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use std::borrow::Cow;
use std::collections::HashSet;

pub const DIALECT: Dialect = Dialect {
    carries: Carries::History(&History { items, text_end: TEXT_END, opening }),
    capture: |api| Box::new(ResponsesCapture::new(api)),
    inputs: inputs::of_responses,
    ending: Ending::Event,
    ..Dialect::new(EndpointKind::Responses, frame, |_| Box::new(ResponsesReader::default()))
};

const PARTS: Parts = Parts {
    text: "input_text",
    image: |url| json!({"type": "input_image", "image_url": url}),
    image_ids: false,
    audio: true,
    video: false,
};

/// Items of responses that servers do not accept as input.
const NOT_SENT: [&str; 6] = [
    "web_search_call",
    "file_search_call",
    "image_generation_call",
    "code_interpreter_call",
    "computer_call",
    "reasoning",
];

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let mut frame = Frame::default();
    match request.previous_response_id {
        Some(_) => frame.items_of_last_turn("input"),
        None => frame.items("input"),
    }
    frame.set("model", request.model());
    frame.set("stream", request.streaming());
    if let Some(id) = request.previous_response_id {
        frame.set("previous_response_id", id);
    }
    if let Some(system) = request.system_message() {
        frame.set("instructions", system);
    }
    if let Some(max) = request.turn.max_tokens {
        frame.set("max_output_tokens", max);
    }
    if let Some(tools) = request.tools {
        frame.set_encoded("tools", tools.clone());
    }
    frame.extend(request.extras());
    // Servers report usage unasked; those that do not are asked if it is what is counted.
    if request.api.endpoint.server_token_count && is_truthy(frame.get("stream")) {
        let mut options = frame.get("stream_options").and_then(Value::as_object).cloned().unwrap_or_default();
        options.entry("include_usage").or_insert(Value::Bool(true));
        frame.set("stream_options", options);
    }
    Ok(frame)
}

const TEXT_END: &str = r#","type":"message"}"#;

fn items(api: &ApiSettings, turn: &Turn) -> Result<Vec<Value>, DialectError> {
    let Some(messages) = &turn.raw_messages else {
        let mut message = content::message(api, turn, &PARTS)?;
        message["type"] = "message".into();
        return Ok(vec![message]);
    };
    let is_sent = |item: &&Value| item.get("type").and_then(Value::as_str).is_none_or(|kind| !NOT_SENT.contains(&kind));
    Ok(messages.iter().filter(is_sent).cloned().collect())
}

fn opening(request: &Request<'_>, _: Option<&Value>) -> Opening {
    let context = request.user_context_message();
    let items = context.map(|context| json!({"type": "message", "role": "user", "content": context}));
    Opening { items: items.into_iter().collect(), replaces_first: false }
}

/// An event of a stream, or a whole response. Most are deltas: other members are kept small, and read when needed.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Str<'a>,
    #[serde(default, borrow)]
    delta: Str<'a>,
    #[serde(default, borrow)]
    text: Str<'a>,
    #[serde(default)]
    output_index: Index,
    #[serde(default)]
    content_index: Index,
    #[serde(default, borrow)]
    item: Option<&'a RawValue>,
    #[serde(default, borrow)]
    response: Object<Response<'a>>,
    #[serde(default, borrow)]
    object: Str<'a>,
    /// Of a whole response.
    #[serde(default, borrow)]
    status: Str<'a>,
    #[serde(default, borrow)]
    output: Option<&'a RawValue>,
    #[serde(default, borrow)]
    output_text: Str<'a>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
    #[serde(default, borrow)]
    message: Str<'a>,
}

/// The response of an event.
#[derive(Deserialize)]
struct Response<'a> {
    #[serde(default, borrow)]
    status: Str<'a>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
    #[serde(default, borrow)]
    status_details: Option<&'a RawValue>,
}

impl Response<'_> {
    /// Whether it failed, whatever its event is called.
    fn has_failed(&self) -> bool {
        ["failed", "cancelled"].iter().any(|status| self.status.is(status)) || error_in(self.error).is_some()
    }

    fn error(&self) -> Option<ResponseError> {
        error_in(self.error).or_else(|| error_of(&json::read(self.status_details?.get())?))
    }
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Str<'a>,
    #[serde(default, borrow)]
    summary: List<Part<'a>>,
    #[serde(default, borrow)]
    content: List<Part<'a>>,
    #[serde(default, borrow)]
    name: Str<'a>,
    #[serde(default, borrow)]
    arguments: Str<'a>,
    #[serde(default, borrow)]
    status: Str<'a>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

/// Items that are the response itself. Others, such as a search, may fail while the response goes on.
const OF_RESPONSE: [&str; 3] = ["message", "reasoning", "function_call"];

impl Item<'_> {
    /// Why the response failed, if its item did.
    fn failure(&self) -> Option<ResponseError> {
        let kind = OF_RESPONSE.into_iter().find(|kind| self.kind.is(kind) && self.status.is("failed"))?;
        let message = || format!("the item '{kind}' of the response failed");
        Some(error_in(self.error).unwrap_or_else(|| ResponseError::Reported { code: None, message: message() }))
    }
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Str<'a>,
    #[serde(default, borrow)]
    text: Str<'a>,
    #[serde(default, borrow)]
    refusal: Str<'a>,
}

/// The position of a text in a response: the output, and the content in it.
type PartIndex = (Index, Index);

/// Remembers which texts arrived piece by piece: they are repeated whole.
#[derive(Default)]
struct ResponsesReader {
    streamed: HashSet<PartIndex>,
    last: Option<PartIndex>,
}

impl Reader for ResponsesReader {
    fn read<'a>(&mut self, text: &'a str, delivery: Delivery) -> Option<Piece<'a>> {
        shown_if_empty(self.read_event(text), text, delivery)
    }
}

impl ResponsesReader {
    fn read_event<'a>(&mut self, text: &'a str) -> Option<Piece<'a>> {
        let event: Event<'a> = json::object(text)?;
        let Some(kind) = &event.kind.0 else { return Some(whole(event)) };
        let data = |data: Option<Data<'a>>| Piece { data, ..Piece::default() };
        let place = (event.output_index, event.content_index);
        let error = event.error;
        let piece = match &**kind {
            "response.output_text.delta" => {
                if event.delta.0.is_some() && self.last != Some(place) {
                    self.streamed.insert(place);
                    self.last = Some(place);
                }
                data(event.delta.0.map(Data::Text))
            }
            "response.refusal.delta" => data(event.delta.0.map(Data::Text)),
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                data(Data::of(event.delta.0, None, None))
            }
            "response.function_call_arguments.delta" => data(Data::of(None, None, event.delta.0)),
            // The name of a call precedes its arguments, and is never repeated among them.
            "response.output_item.added" => {
                let item = event.item.and_then(|item| json::object::<Item<'a>>(item.get()));
                let call = item.filter(|item| item.kind.is("function_call"));
                data(Data::of(None, None, call.and_then(|call| call.name.0)))
            }
            // The whole text again: it adds nothing new.
            "response.output_text.done" if self.streamed.contains(&place) => {
                data(event.text.0.map(|_| Data::Text(Cow::Borrowed(""))))
            }
            "response.output_text.done" => data(event.text.0.map(Data::Text)),
            "response.output_item.done" => {
                let item = event.item.and_then(|item| json::object::<Item<'a>>(item.get()));
                Piece { error: item.and_then(|item| item.failure()), ..Piece::default() }
            }
            "response.completed" | "response.done" | "response.incomplete" => {
                let usage = event.response.0.as_ref().and_then(|response| response.usage).and_then(usage_from);
                let has_failed = |response: &Response<'_>| kind != "response.incomplete" && response.has_failed();
                let error = event.response.0.as_ref().is_some_and(has_failed).then(|| failure(&event));
                Piece { usage, finishes: true, error, ..Piece::default() }
            }
            "response.failed" | "response.cancelled" | "response.error" | "error" => {
                let usage = event.response.0.as_ref().and_then(|response| response.usage).and_then(usage_from);
                Piece { usage, error: Some(failure(&event)), ..Piece::default() }
            }
            _ => Piece::default(),
        };
        Some(Piece { error: piece.error.or_else(|| error_in(error)), ..piece })
    }
}

/// Why a stream failed: by the response, by the event, or by a message alone.
fn failure(event: &Event<'_>) -> ResponseError {
    let of_response = event.response.0.as_ref().and_then(Response::error);
    let is_cancelled = event.kind.is("response.cancelled")
        || event.response.0.as_ref().is_some_and(|response| response.status.is("cancelled"));
    let outcome = if is_cancelled { "the response was cancelled" } else { "the response failed" };
    of_response.or_else(|| error_in(event.error)).unwrap_or_else(|| ResponseError::Reported {
        code: None,
        message: event.message.0.as_deref().unwrap_or(outcome).to_owned(),
    })
}

/// A response that is no stream.
fn whole(event: Event<'_>) -> Piece<'_> {
    let usage = event.usage.and_then(usage_from);
    let error = error_in(event.error);
    if !event.object.is("response") {
        return Piece { usage, error, ..Piece::default() };
    }
    let is_over = |status: &&str| event.status.is(status);
    let error = error.or_else(|| {
        let status = ["failed", "cancelled", "in_progress", "queued"].into_iter().find(is_over)?;
        Some(ResponseError::Reported { code: None, message: format!("the response has status '{status}'") })
    });
    let (mut thought, mut spoken, mut called) = (None, None, None);
    let output = event.output.and_then(|output| serde_json::from_str::<List<Item<'_>>>(output.get()).ok());
    for (_, item) in output.unwrap_or_default().objects() {
        match item.kind.0.as_deref() {
            Some("reasoning") => {
                let parts = item.summary.objects().chain(item.content.objects()).map(|(_, part)| part);
                let is_thought = |part: &Part<'_>| part.kind.is("summary_text") || part.kind.is("reasoning_text");
                let texts = parts.filter(is_thought).map(|part| part.text.0);
                thought = joined_texts(std::iter::once(thought).chain(texts));
            }
            Some("message") => {
                let texts = item.content.objects().map(|(_, part)| match part.kind.0.as_deref() {
                    Some("output_text") => part.text.0,
                    Some("refusal") => part.refusal.0,
                    _ => None,
                });
                spoken = joined_texts(std::iter::once(spoken).chain(texts));
            }
            Some("function_call") => called = joined_texts([called, item.name.0, item.arguments.0]),
            _ => {}
        }
    }
    let data = Data::of(thought, spoken, called).or_else(|| event.output_text.0.map(Data::Text));
    Piece { data, usage, error, ..Piece::default() }
}

/// The items of a response in the form that a later turn must repeat, and the id by which the server knows it.
struct ResponsesCapture {
    text: TextCapture,
    /// Items of the whole response, and those that arrived one by one.
    items: [Vec<Value>; 2],
    has_failed: bool,
    /// Whether the server was asked to store the response.
    is_kept: bool,
    id: Option<String>,
    is_id_void: bool,
}

/// The parts of an event that later turns need.
#[derive(Deserialize)]
struct CapturedEvent<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Str<'a>,
    #[serde(default, borrow)]
    item: Option<&'a RawValue>,
    #[serde(default, borrow)]
    response: Object<CapturedResponse<'a>>,
}

#[derive(Deserialize)]
struct CapturedResponse<'a> {
    #[serde(default, borrow)]
    object: Str<'a>,
    #[serde(default, borrow)]
    id: Str<'a>,
    #[serde(default, borrow)]
    status: Str<'a>,
    #[serde(default, borrow)]
    store: Option<&'a RawValue>,
    #[serde(default, borrow)]
    output: Option<&'a RawValue>,
}

impl ResponsesCapture {
    fn new(api: &ApiSettings) -> Self {
        let is_kept = api.endpoint.stores_responses();
        let items = [Vec::new(), Vec::new()];
        let text = TextCapture::default();
        Self { text, items, has_failed: false, is_kept, id: None, is_id_void: false }
    }

    fn take_id(&mut self, response: &CapturedResponse<'_>) {
        self.is_id_void |= ["failed", "cancelled", "incomplete"].iter().any(|status| response.status.is(status));
        let is_stored = || is_truthy(response.store.and_then(|store| json::read(store.get())).as_ref());
        if let Some(id) = &response.id.0
            && (self.is_kept || is_stored())
        {
            self.id = Some(id.clone().into_owned());
        }
    }

    fn take_output(&mut self, response: &CapturedResponse<'_>) {
        let output = response.output.and_then(|output| json::read::<Value>(output.get()));
        if let Some(Value::Array(items)) = output {
            self.items[0].extend(items.into_iter().filter(Value::is_object));
        }
    }
}

impl Capture for ResponsesCapture {
    fn take(&mut self, piece: &Piece<'_>, text: &str) {
        self.text.take(piece, text);
        // Most events are a piece of text, which neither is a response nor contains one.
        if matches!(piece.data, Some(Data::Text(_))) && memmem::find(text.as_bytes(), b"\"response\"").is_none() {
            return;
        }
        let Some(event) = json::object::<CapturedEvent<'_>>(text) else { return };
        match event.kind.0.as_deref() {
            Some("response.failed" | "response.cancelled" | "response.incomplete" | "response.error" | "error") => {
                (self.has_failed, self.is_id_void) = (true, true);
            }
            Some("response.completed" | "response.done" | "response.output_item.done") if piece.error.is_some() => {
                (self.has_failed, self.is_id_void) = (true, true);
            }
            Some("response.output_item.done") => {
                let item = event.item.and_then(|item| json::read::<Value>(item.get()));
                self.items[1].extend(item.filter(Value::is_object));
            }
            _ => {}
        }
        let is_completed = event.kind.is("response.completed");
        match (event.response.0, &event.kind.0) {
            (Some(response), _) => {
                self.take_id(&response);
                if is_completed {
                    self.take_output(&response);
                }
            }
            (None, None) => {
                let Some(response) = json::object::<CapturedResponse<'_>>(text) else { return };
                self.take_id(&response);
                if response.object.is("response") {
                    self.take_output(&response);
                }
            }
            (None, Some(_)) => {}
        }
    }

    fn finish(self: Box<Self>) -> Reply {
        let response_id = self.id.filter(|_| !self.is_id_void);
        let mut known = HashSet::new();
        let items: Vec<Value> = self.items.into_iter().flatten().filter(|item| known.insert(identity(item))).collect();
        if self.has_failed || items.is_empty() {
            return Reply { turn: self.text.turn(), response_id };
        }
        let turn = Turn { raw_messages: Some(items), ..Turn::default() };
        Reply { turn: Some(turn), response_id }
    }
}

/// The identity of an item: its id, or all its members in any order.
fn identity(item: &Value) -> String {
    let ids = ["id", "call_id", "item_id"].into_iter().filter_map(|member| item.get(member));
    if let Some(id) = ids.filter_map(Value::as_str).find(|id| !id.is_empty()) {
        return id.to_owned();
    }
    let mut item = item.clone();
    item.sort_all_objects();
    item.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Api;
    use crate::testing::{api, endpoint};
    use serde_json::Map;

    fn read(events: &[Value]) -> Vec<Piece<'static>> {
        let mut reader = ResponsesReader::default();
        let read = |event: &Value| reader.read(event.to_string().leak(), Delivery::Event).unwrap();
        events.iter().map(read).collect()
    }

    fn captured(api: &Api, responses: &[Value]) -> Reply {
        let (mut reader, mut capture) = (ResponsesReader::default(), ResponsesCapture::new(api));
        for response in responses {
            let text = response.to_string();
            capture.take(&reader.read(&text, Delivery::Event).unwrap(), &text);
        }
        Box::new(capture).finish()
    }

    #[test]
    fn a_text_that_came_bit_by_bit_is_not_counted_again_when_it_comes_whole() {
        let delta = |output: u32| json!({"type": "response.output_text.delta", "output_index": output, "delta": "a"});
        let done = |output: u32| json!({"type": "response.output_text.done", "output_index": output, "text": "a"});
        let pieces = read(&[delta(0), delta(1), delta(0), done(0), done(1), done(2)]);
        let texts: Vec<&str> = pieces.iter().filter_map(|piece| piece.data.as_ref()?.content()).collect();
        assert_eq!(texts, ["a", "a", "a", "", "", "a"]);
    }

    #[test]
    fn a_response_that_failed_is_an_error_whatever_its_event_is_called() {
        let event = |name: &str, response: Value| json!({"type": format!("response.{name}"), "response": response});
        let item = |kind: &str, status: Value, error: Value| {
            let item = json!({"type": kind, "status": status, "error": error});
            json!({"type": "response.output_item.done", "item": item})
        };
        let reported =
            |code: Option<i64>, message: &str| Some(ResponseError::Reported { code, message: message.into() });
        let lost = json!({"code": 507, "message": "lost"});
        for (event, error) in [
            (event("completed", json!({"status": "failed", "error": lost})), reported(Some(507), "lost")),
            (event("completed", json!({"status": "completed", "error": lost})), reported(Some(507), "lost")),
            (event("completed", json!({"status": "failed", "error": null})), reported(None, "the response failed")),
            (event("completed", json!({"status": "cancelled"})), reported(None, "the response was cancelled")),
            (event("cancelled", json!({"status": "cancelled"})), reported(None, "the response was cancelled")),
            (json!({"type": "response.cancelled"}), reported(None, "the response was cancelled")),
            (event("failed", json!({"status": "failed"})), reported(None, "the response failed")),
            (event("done", json!({"status": "failed"})), reported(None, "the response failed")),
            (
                event("done", json!({"status": "failed", "status_details": {"error": lost}})),
                reported(Some(507), "lost"),
            ),
            (
                item("message", json!("failed"), json!(null)),
                reported(None, "the item 'message' of the response failed"),
            ),
            (item("reasoning", json!("failed"), lost.clone()), reported(Some(507), "lost")),
            (item("message", json!("completed"), json!(null)), None),
            (item("web_search_call", json!("failed"), lost.clone()), None),
            (event("done", json!({"status": "completed", "status_details": null})), None),
            (event("completed", json!({"status": "completed", "error": null, "usage": {"input_tokens": 1}})), None),
            (event("completed", json!({"error": {}})), None),
            (event("incomplete", json!({"status": "incomplete", "error": null})), None),
            (event("created", json!({"status": "in_progress", "error": null})), None),
        ] {
            assert_eq!(read(std::slice::from_ref(&event))[0].error, error, "{event}");
        }
    }

    #[test]
    fn what_failed_leaves_neither_items_nor_an_id() {
        let api = Api::new(&endpoint(EndpointKind::Responses), "m").unwrap();
        let delta = json!({"type": "response.output_text.delta", "delta": "par"});
        for (kind, status) in [("completed", "failed"), ("completed", "cancelled"), ("cancelled", "cancelled")] {
            let output = json!([{"type": "message", "id": "m", "content": []}]);
            let response = json!({"id": "r", "store": true, "status": status, "output": output});
            let last = json!({"type": format!("response.{kind}"), "response": response});
            let reply = captured(&api, &[delta.clone(), last]);
            assert_eq!(reply.response_id, None, "{kind} {status}");
            assert_eq!(reply.turn.unwrap().raw_messages, None, "{kind} {status}");
        }
    }

    #[test]
    fn names_of_calls_summaries_and_refusals_count() {
        let item = json!({"type": "function_call", "name": "f", "arguments": ""});
        let pieces = read(&[
            json!({"type": "response.output_item.added", "item": item}),
            json!({"type": "response.output_item.added", "item": {"type": "message", "name": "no"}}),
            json!({"type": "response.reasoning_summary_text.delta", "delta": "why"}),
            json!({"type": "response.refusal.delta", "delta": "no"}),
        ]);
        let data: Vec<Option<Data<'_>>> = pieces.into_iter().map(|piece| piece.data).collect();
        let wanted = [
            Data::of(None, None, Some("f".into())),
            None,
            Data::of(Some("why".into()), None, None),
            Some(Data::Text("no".into())),
        ];
        assert_eq!(data, wanted);
    }

    #[test]
    fn all_parts_of_a_whole_response_count() {
        let output = json!([
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}],
                "content": [{"type": "reasoning_text", "text": "r"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "n"}]},
            {"type": "function_call", "name": "f", "arguments": "{}"},
        ]);
        let pieces = read(&[json!({"object": "response", "output": output, "error": null})]);
        assert_eq!(pieces[0].data, Data::of(Some("sr".into()), Some("an".into()), Some("f{}".into())));
    }

    #[test]
    fn every_way_to_report_that_a_stream_failed_is_an_error() {
        let reported = |message: &str| Some(ResponseError::Reported { code: None, message: message.into() });
        let pieces = read(&[
            json!({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "a"}}}),
            json!({"type": "error", "code": "x", "message": "b", "param": null}),
            json!({"type": "error", "error": {"message": "c"}}),
            json!({"type": "response.failed", "response": {"error": null}}),
        ]);
        let errors: Vec<Option<ResponseError>> = pieces.into_iter().map(|piece| piece.error).collect();
        assert_eq!(errors, [reported("a"), reported("b"), reported("c"), reported("the response failed")]);
    }

    #[test]
    fn usage_of_a_response_cut_short_is_read() {
        let usage = json!({"output_tokens": 5});
        for kind in ["response.completed", "response.incomplete"] {
            let pieces = read(&[json!({"type": kind, "response": {"usage": usage}})]);
            assert_eq!(json!(pieces[0].usage), usage);
        }
    }

    #[test]
    fn an_item_is_kept_once_and_in_the_order_of_the_whole_response() {
        let (a, b) = (json!({"type": "message", "id": "a"}), json!({"type": "function_call", "call_id": "b"}));
        let (c, d) = (json!({"type": "x", "v": {"p": 1, "q": 2}}), json!({"v": {"q": 2, "p": 1}, "type": "x"}));
        let done = |item: &Value| json!({"type": "response.output_item.done", "item": item});
        let completed = json!({"type": "response.completed", "response": {"output": [b, a]}});
        let reply = captured(&api(EndpointKind::Responses), &[done(&a), done(&c), done(&d), completed]);
        assert_eq!(reply.turn.and_then(|turn| turn.raw_messages), Some(vec![b, a, c]));
    }

    #[test]
    fn only_a_response_that_was_kept_and_did_not_fail_can_be_gone_on_from() {
        let store = |value: Value| {
            let extra = Map::from_iter([("store".to_owned(), value)]);
            let plan = aiperf_plan::EndpointPlan { extra, ..endpoint(EndpointKind::Responses) };
            Api::new(&plan, "m").unwrap()
        };
        let id = |api: &Api, response: Value| captured(api, &[response]).response_id;
        let event = json!({"type": "response.completed", "response": {"id": "r"}});
        assert_eq!(id(&store(json!(true)), event.clone()).as_deref(), Some("r"));
        assert_eq!(id(&store(json!(" True ")), event.clone()).as_deref(), Some("r"));
        for other in [json!("no"), json!(1), json!({"a": 1}), json!(false), json!(null)] {
            assert_eq!(id(&store(other.clone()), event.clone()), None, "{other}");
        }
        let plain = api(EndpointKind::Responses);
        assert_eq!(id(&plain, event), None);
        assert_eq!(id(&plain, json!({"object": "response", "id": "r", "store": true})).as_deref(), Some("r"));
        for status in ["failed", "incomplete"] {
            assert_eq!(id(&plain, json!({"object": "response", "id": "r", "store": true, "status": status})), None);
        }
    }
}
