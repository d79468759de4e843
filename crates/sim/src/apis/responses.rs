//! `/v1/responses`, in the form of vLLM 0.32: every event is named twice, in its `event:` line and its `type`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::text::Text;
use super::{
    Api, ApiError, Ask, Example, Finish, InferenceRequest, Output, Pen, PlannedResponse, Reading, Span, Statuses,
    Streams, WholeBody, Wording, error_line, json_string,
};
use crate::http::Status;
use crate::truth::Payload;

pub(super) const API: Api = Api {
    name: "responses",
    method: "POST",
    paths: &["/v1/responses"],
    streams: Streams::ByMember,
    output: Output::Text { reasoning: true },
    read,
    error: ApiError::openai,
    statuses: Statuses::VLLM,
    example: Example::json(r#"{"input":"word"}"#),
};

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    input: Option<Text>,
    instructions: Option<Value>,
    max_output_tokens: Option<u32>,
    ignore_eos: Option<bool>,
    stream: Option<bool>,
    previous_response_id: Option<String>,
    store: Option<bool>,
    #[serde(default)]
    temperature: Option<f64>,
    #[serde(default)]
    top_p: Option<f64>,
}

fn read(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let body: Body = ask.json()?;
    let input = body.input.ok_or_else(|| ask.missing("input"))?;
    if body.max_output_tokens == Some(0) {
        let message = "max_output_tokens must be at least 1, got 0.".to_owned();
        return Err(ApiError::bad_request(message, "max_output_tokens"));
    }
    let instructions = body.instructions.as_ref().map_or(0, super::text::tokens_of);
    let mut noted = Vec::new();
    noted.extend(body.previous_response_id.as_ref().map(|id| ("previous_response_id", id.as_str().into())));
    noted.extend(body.store.map(|store| ("store", store.into())));
    let request = InferenceRequest {
        model: body.model,
        stream: body.stream.unwrap_or(false),
        max_tokens: body.max_output_tokens,
        ignore_eos: body.ignore_eos.unwrap_or(false),
        prompt_tokens: input.tokens.saturating_add(instructions),
        noted,
        ..InferenceRequest::default()
    };
    let wording = Response {
        instructions: body.instructions.unwrap_or(Value::Null),
        previous_response_id: body.previous_response_id.into(),
        max_output_tokens: body.max_output_tokens.into(),
        temperature: body.temperature.unwrap_or(1.0),
        top_p: body.top_p.unwrap_or(1.0),
        sequence: 0,
        open: None,
    };
    Ok((request, Box::new(wording)))
}

/// An item of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Reasoning,
    Message,
}

struct Response {
    instructions: Value,
    previous_response_id: Value,
    max_output_tokens: Value,
    temperature: f64,
    top_p: f64,
    /// Of the next event.
    sequence: u64,
    /// The item that deltas go to.
    open: Option<OpenItem>,
}

/// The common parts of the deltas of an item.
struct OpenItem {
    item: Item,
    index: u32,
    /// Up to the text of a delta.
    before: &'static str,
    /// Between the text of a delta and its sequence number.
    after: String,
    end: &'static str,
}

impl Wording for Response {
    fn open(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse) {
        for name in ["response.created", "response.in_progress"] {
            let response = self.object(planned, "in_progress", json!([]), Value::Null);
            self.event(pen, name, &[("response", response)]);
        }
    }

    fn tokens(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse, span: Span) {
        let item = if span.reasoning { Item::Reasoning } else { Item::Message };
        if self.open.as_ref().is_none_or(|open| open.item != item) {
            self.close_item(pen, planned);
            self.open_item(pen, planned, item);
        }
        let Some(open) = &self.open else { return };
        let text = planned.text(0, span.from, span.to);
        let mut sequence = itoa::Buffer::new();
        let parts: [&[u8]; 5] = [
            open.before.as_bytes(),
            text.as_bytes(),
            open.after.as_bytes(),
            sequence.format(self.sequence).as_bytes(),
            open.end.as_bytes(),
        ];
        self.sequence += 1;
        pen.event(&parts, span.payload());
    }

    fn close(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse) {
        self.close_item(pen, planned);
        let response = self.finished(planned);
        let event = self.named_event("response.completed", &[("response", response)]);
        pen.last_event(&[event.as_bytes()], Payload::Nothing);
    }

    fn fail(&mut self, pen: &mut Pen<'_, '_>, api: &Api, typed: bool) {
        let error = ApiError::of_status(Status(500));
        let data = match typed {
            true => json!({"type": "error", "code": "server_error", "message": error.message, "param": null,
                "sequence_number": self.sequence})
            .to_string()
            .into_bytes(),
            false => (api.error)(&error).bytes,
        };
        pen.last_event(&[error_line(typed), b"data: ", &data, b"\n\n"], Payload::Nothing);
    }

    fn break_json(&mut self, pen: &mut Pen<'_, '_>) {
        let event = b"event: response.output_text.delta\ndata: {\"content_index\":0,\"del\n\n";
        pen.event(&[event], Payload::Nothing);
    }

    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody {
        WholeBody::json(self.finished(planned).to_string())
    }
}

impl Response {
    /// The response object.
    fn object(&self, planned: &PlannedResponse, status: &str, output: Value, usage: Value) -> Value {
        let incomplete = if status == "incomplete" { json!({"reason": "max_output_tokens"}) } else { Value::Null };
        json!({
            "id": format!("resp_{}", planned.id()), "created_at": planned.created, "incomplete_details": incomplete,
            "instructions": self.instructions, "metadata": null, "model": planned.model, "object": "response",
            "output": output, "parallel_tool_calls": true, "temperature": self.temperature, "tool_choice": "none",
            "tools": [], "top_p": self.top_p, "background": false, "max_output_tokens": self.max_output_tokens,
            "max_tool_calls": null, "previous_response_id": self.previous_response_id, "prompt": null,
            "reasoning": null, "service_tier": "auto", "status": status, "text": null, "top_logprobs": null,
            "truncation": "disabled", "usage": usage, "user": null, "presence_penalty": 0.0, "frequency_penalty": 0.0,
            "kv_transfer_params": null, "ec_transfer_params": null, "input_messages": null, "output_messages": null,
        })
    }

    fn finished(&self, planned: &PlannedResponse) -> Value {
        let length = planned.length;
        let status = if length.finish == Finish::Length { "incomplete" } else { "completed" };
        let items = [(Item::Reasoning, length.reasoning > 0), (Item::Message, length.tokens > length.reasoning)];
        let output: Vec<Value> =
            items.into_iter().filter(|(_, is_there)| *is_there).map(|(item, _)| finished_item(planned, item)).collect();
        let prompt = planned.request.prompt_tokens;
        let usage = json!({
            "input_tokens": prompt,
            "input_tokens_details": {
                "cached_tokens": 0, "cache_write_tokens": 0, "input_tokens_per_turn": [], "cached_tokens_per_turn": [],
            },
            "output_tokens": length.tokens,
            "output_tokens_details": {
                "reasoning_tokens": length.reasoning, "tool_output_tokens": 0, "output_tokens_per_turn": [],
                "tool_output_tokens_per_turn": [],
            },
            "total_tokens": prompt.saturating_add(length.tokens),
        });
        self.object(planned, status, output.into(), usage)
    }

    fn open_item(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse, item: Item) {
        let index = u32::from(item == Item::Message && planned.length.reasoning > 0);
        let id = item_id(planned, item);
        let (opened, part, before, tail, end) = match item {
            Item::Reasoning => (
                json!({"id": id, "summary": [], "type": "reasoning", "content": null, "encrypted_content": null,
                    "status": "in_progress"}),
                ("response.reasoning_part.added", json!({"text": "", "type": "reasoning_text"})),
                "event: response.reasoning_text.delta\ndata: {\"content_index\":0,\"delta\":\"",
                "",
                ",\"type\":\"response.reasoning_text.delta\"}\n\n",
            ),
            Item::Message => (
                json!({"id": id, "content": [], "role": "assistant", "status": "in_progress", "type": "message",
                    "phase": null}),
                (
                    "response.content_part.added",
                    json!({"annotations": [], "text": "", "type": "output_text", "logprobs": []}),
                ),
                "event: response.output_text.delta\ndata: {\"content_index\":0,\"delta\":\"",
                "\"logprobs\":[],",
                ",\"type\":\"response.output_text.delta\"}\n\n",
            ),
        };
        self.event(pen, "response.output_item.added", &[("item", opened), ("output_index", index.into())]);
        self.event(
            pen,
            part.0,
            &[
                ("content_index", 0.into()),
                ("item_id", id.as_str().into()),
                ("output_index", index.into()),
                ("part", part.1),
            ],
        );
        let after = format!(r#"","item_id":{},{tail}"output_index":{index},"sequence_number":"#, json_string(&id));
        self.open = Some(OpenItem { item, index, before, after, end });
    }

    fn close_item(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse) {
        let Some(OpenItem { item, index, .. }) = self.open.take() else { return };
        let (id, text) = (item_id(planned, item), item_text(planned, item));
        let (text_done, part_done, logprobs) = match item {
            Item::Reasoning => ("response.reasoning_text.done", "response.reasoning_part.done", None),
            Item::Message => ("response.output_text.done", "response.content_part.done", Some(("logprobs", json!([])))),
        };
        let place = [("content_index", 0.into()), ("item_id", Value::from(id))];
        let output_index = ("output_index", Value::from(index));
        let members: Vec<_> = place.iter().cloned().chain(logprobs).chain([output_index.clone()]).collect();
        let event = self.numbered_event(text_done, &members, Some(("text", text.as_str().into())));
        pen.event(&[event.as_bytes()], Payload::Nothing);
        let part = [output_index.clone(), ("part", finished_part(item, &text))];
        let members: Vec<_> = place.into_iter().chain(part).collect();
        self.event(pen, part_done, &members);
        self.event(pen, "response.output_item.done", &[("item", finished_item(planned, item)), output_index]);
    }

    fn event(&mut self, pen: &mut Pen<'_, '_>, name: &str, members: &[(&str, Value)]) {
        let event = self.named_event(name, members);
        pen.event(&[event.as_bytes()], Payload::Nothing);
    }

    fn named_event(&mut self, name: &str, members: &[(&str, Value)]) -> String {
        self.numbered_event(name, members, None)
    }

    /// An event with members before and after its number; the server sorts them by name.
    fn numbered_event(&mut self, name: &str, members: &[(&str, Value)], behind: Option<(&str, Value)>) -> String {
        let mut object: serde_json::Map<String, Value> =
            members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        object.insert("sequence_number".to_owned(), self.sequence.into());
        object.extend(behind.map(|(name, value)| (name.to_owned(), value)));
        object.insert("type".to_owned(), name.into());
        self.sequence += 1;
        format!("event: {name}\ndata: {}\n\n", Value::Object(object))
    }
}

fn item_id(planned: &PlannedResponse, item: Item) -> String {
    let kind = if item == Item::Reasoning { "rs" } else { "msg" };
    format!("{kind}_{}", planned.id())
}

fn item_text(planned: &PlannedResponse, item: Item) -> String {
    let length = planned.length;
    match item {
        Item::Reasoning => planned.text(0, 0, length.reasoning).into_owned(),
        Item::Message => planned.text(0, length.reasoning, length.tokens).into_owned(),
    }
}

fn finished_part(item: Item, text: &str) -> Value {
    match item {
        Item::Reasoning => json!({"text": text, "type": "reasoning_text"}),
        Item::Message => json!({"annotations": [], "text": text, "type": "output_text", "logprobs": null}),
    }
}

fn finished_item(planned: &PlannedResponse, item: Item) -> Value {
    let (id, part) = (item_id(planned, item), finished_part(item, &item_text(planned, item)));
    match item {
        Item::Reasoning => json!({"id": id, "summary": [], "type": "reasoning", "content": [part],
            "encrypted_content": null, "status": "completed"}),
        Item::Message => json!({"id": id, "content": [part], "role": "assistant", "status": "completed",
            "type": "message", "phase": null}),
    }
}
