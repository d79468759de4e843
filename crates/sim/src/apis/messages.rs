//! `/v1/messages`: the API of Anthropic in the form of vLLM 0.32. No key is required.
//!
//! A client that sends `anthropic-version` gets the `ping` that Anthropic's own server sends after the first block is
//! opened; vLLM sends none.

use serde::Deserialize;
use serde_json::{Value, json};

use super::text::{Text, tokens_of};
use super::{
    Api, ApiError, Ask, ErrorBody, Example, Finish, InferenceRequest, Output, Pen, PlannedResponse, Reading, Span,
    Statuses, Streams, WholeBody, Wording,
};
use crate::truth::Payload;

pub(super) const API: Api = Api {
    name: "messages",
    method: "POST",
    paths: &["/v1/messages"],
    streams: Streams::ByMember,
    output: Output::Text { reasoning: true },
    read,
    error,
    statuses: Statuses::VLLM,
    example: Example::json(r#"{"max_tokens":1,"messages":[{"role":"user","content":"word"}]}"#),
};

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    messages: Option<Text>,
    system: Option<Value>,
    max_tokens: Option<u32>,
    stream: Option<bool>,
}

fn read(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let body: Body = ask.json()?;
    let messages = body.messages.ok_or_else(|| ask.missing("messages"))?;
    let max_tokens = body.max_tokens.ok_or_else(|| ask.missing("max_tokens"))?;
    if max_tokens == 0 {
        return Err(ApiError::bad_request("max_tokens must be positive".to_owned(), "max_tokens"));
    }
    let system = body.system.as_ref().map_or(0, tokens_of);
    let request = InferenceRequest {
        model: body.model,
        stream: body.stream.unwrap_or(false),
        max_tokens: Some(max_tokens),
        prompt_tokens: messages.tokens.saturating_add(system),
        ..InferenceRequest::default()
    };
    Ok((request, Box::new(Message { pings: ask.fields.anthropic_version.is_some(), open: None })))
}

fn error(error: &ApiError) -> ErrorBody {
    let kind = match error.status.0 {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    ErrorBody::json(&json!({"type": "error", "error": {"type": kind, "message": error.message}}))
}

/// A block of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Thinking,
    Text,
}

impl Block {
    fn of(span: Span) -> Self {
        if span.reasoning { Block::Thinking } else { Block::Text }
    }

    fn index(self, planned: &PlannedResponse) -> u32 {
        u32::from(self == Block::Text && planned.length.reasoning > 0)
    }
}

struct Message {
    pings: bool,
    /// The block that deltas go to.
    open: Option<Block>,
}

impl Wording for Message {
    fn tokens(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse, span: Span) {
        if span.from == 0 {
            write(
                pen,
                &json!({"type": "message_start", "message": {
                    "id": id(planned), "type": "message", "role": "assistant", "content": [], "model": planned.model,
                    "stop_reason": null, "stop_sequence": null,
                    "usage": {"input_tokens": planned.request.prompt_tokens, "output_tokens": 0},
                }}),
            );
        }
        let block = Block::of(span);
        if self.open != Some(block) {
            self.close_block(pen, planned);
            self.open_block(pen, planned, block);
        }
        let (before, index) = match block {
            Block::Thinking => (r#"{"type":"thinking_delta","thinking":""#, block.index(planned)),
            Block::Text => (r#"{"type":"text_delta","text":""#, block.index(planned)),
        };
        let (text, mut digits) = (planned.text(0, span.from, span.to), itoa::Buffer::new());
        let parts: [&[u8]; 6] = [
            b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":",
            before.as_bytes(),
            text.as_bytes(),
            b"\"},\"index\":",
            digits.format(index).as_bytes(),
            b"}\n\n",
        ];
        pen.event(&parts, span.payload());
    }

    fn close(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse) {
        self.close_block(pen, planned);
        write(
            pen,
            &json!({
                "type": "message_delta",
                "delta": {"stop_reason": stop_reason(planned), "stop_sequence": null},
                "usage": usage(planned),
            }),
        );
        pen.last_event(&[b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"], Payload::Nothing);
    }

    fn break_json(&mut self, pen: &mut Pen<'_, '_>) {
        let event = b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"del\n\n";
        pen.event(&[event], Payload::Nothing);
    }

    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody {
        let length = planned.length;
        let mut content = Vec::new();
        if length.reasoning > 0 {
            let thinking = planned.text(0, 0, length.reasoning);
            content.push(json!({"type": "thinking", "thinking": thinking, "signature": signature(planned)}));
        }
        if length.tokens > length.reasoning {
            content.push(json!({"type": "text", "text": planned.text(0, length.reasoning, length.tokens)}));
        }
        let message = json!({
            "id": id(planned), "type": "message", "role": "assistant", "content": content, "model": planned.model,
            "stop_reason": stop_reason(planned), "usage": usage(planned),
        });
        WholeBody::json(message.to_string())
    }
}

impl Message {
    fn open_block(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse, block: Block) {
        let content = match block {
            Block::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
            Block::Text => json!({"type": "text", "text": ""}),
        };
        let index = block.index(planned);
        write(pen, &json!({"type": "content_block_start", "content_block": content, "index": index}));
        if self.pings && index == 0 {
            write(pen, &json!({"type": "ping"}));
        }
        self.open = Some(block);
    }

    fn close_block(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse) {
        let Some(block) = self.open.take() else { return };
        let index = block.index(planned);
        if block == Block::Thinking {
            let delta = json!({"type": "signature_delta", "signature": signature(planned)});
            write(pen, &json!({"type": "content_block_delta", "delta": delta, "index": index}));
        }
        write(pen, &json!({"type": "content_block_stop", "index": index}));
    }
}

/// An event named by its type.
fn write(pen: &mut Pen<'_, '_>, event: &Value) {
    let name = event["type"].as_str().unwrap_or_default();
    pen.event(&[format!("event: {name}\ndata: {event}\n\n").as_bytes()], Payload::Nothing);
}

fn id(planned: &PlannedResponse) -> String {
    format!("chatcmpl-{}", planned.id())
}

fn signature(planned: &PlannedResponse) -> String {
    planned.id()
}

fn stop_reason(planned: &PlannedResponse) -> &'static str {
    match planned.length.finish {
        Finish::Length => "max_tokens",
        Finish::Stop => "end_turn",
    }
}

fn usage(planned: &PlannedResponse) -> Value {
    json!({
        "input_tokens": planned.request.prompt_tokens, "output_tokens": planned.length.tokens,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
    })
}
