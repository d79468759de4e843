//! `/generate` and `/generate_stream` of the text generation server of Hugging Face.
//!
//! Its events have no space after `data:`, and none of them marks the end of the stream: the last one carries the
//! whole text beside its token.

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::axum;
use super::text::prompt_tokens;
use super::{
    Api, ApiError, Ask, Example, Finish, InferenceRequest, Output, Pen, PlannedResponse, Reading, Span, Statuses,
    Streams, WholeBody, Wording, error_line,
};
use crate::http::Status;
use crate::truth::Payload;

const STREAMED: &str = "/generate_stream";

pub(super) const API: Api = Api {
    name: "generate",
    method: "POST",
    paths: &["/generate", STREAMED],
    streams: Streams::ByPath(STREAMED),
    output: Output::Text { reasoning: false },
    read,
    error: |error| axum(error, "generation"),
    statuses: Statuses::AXUM,
    example: Example::json(r#"{"inputs":"word"}"#),
};

#[derive(Deserialize)]
struct Body {
    inputs: Option<String>,
    parameters: Option<Parameters>,
}

#[derive(Deserialize, Default)]
struct Parameters {
    max_new_tokens: Option<u32>,
    details: Option<bool>,
}

fn read(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let body: Body = ask.json()?;
    let inputs = body.inputs.ok_or_else(|| ask.missing("inputs"))?;
    let Parameters { max_new_tokens, details } = body.parameters.unwrap_or_default();
    if inputs.is_empty() {
        return Err(invalid("`inputs` cannot be empty"));
    }
    if max_new_tokens == Some(0) {
        return Err(invalid("`max_new_tokens` must be strictly positive"));
    }
    let request = InferenceRequest {
        stream: ask.path == STREAMED,
        max_tokens: max_new_tokens,
        prompt_tokens: prompt_tokens(&inputs),
        ..InferenceRequest::default()
    };
    Ok((request, Box::new(Generated { details: details.unwrap_or(false) })))
}

fn invalid(why: &str) -> ApiError {
    ApiError {
        status: Status(422),
        kind: "validation",
        ..ApiError::bad_request(format!("Input validation error: {why}"), "inputs")
    }
}

struct Generated {
    details: bool,
}

impl Wording for Generated {
    fn tokens(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse, span: Span) {
        let (mut index, mut id) = (itoa::Buffer::new(), itoa::Buffer::new());
        let end = match span.last {
            false => r#","generated_text":null,"details":null}"#.to_owned(),
            true => {
                let text = planned.text(0, 0, planned.length.tokens);
                let details = json!({
                    "finish_reason": finish_reason(planned), "generated_tokens": planned.length.tokens, "seed": null,
                    "input_length": planned.request.prompt_tokens,
                });
                format!(r#","generated_text":"{text}","details":{details}}}"#)
            }
        };
        let text = planned.text(0, span.from, span.to);
        let parts: [&[u8]; 9] = [
            b"data:{\"index\":",
            index.format(span.to).as_bytes(),
            b",\"token\":{\"id\":",
            id.format(100 + span.from % 1000).as_bytes(),
            b",\"text\":\"",
            text.as_bytes(),
            b"\",\"logprob\":-0.5,\"special\":false}",
            end.as_bytes(),
            b"\n\n",
        ];
        match span.last {
            true => pen.last_event(&parts, Payload::Content),
            false => pen.event(&parts, Payload::Content),
        }
    }

    fn fail(&mut self, pen: &mut Pen<'_, '_>, api: &Api, typed: bool) {
        let error = (api.error)(&ApiError::of_status(Status(500)));
        pen.last_event(&[error_line(typed), b"data:", &error.bytes, b"\n\n"], Payload::Nothing);
    }

    fn break_json(&mut self, pen: &mut Pen<'_, '_>) {
        pen.event(&[b"data:{\"index\":1,\"token\":{\"te\n\n"], Payload::Nothing);
    }

    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody {
        let mut body = json!({"generated_text": planned.text(0, 0, planned.length.tokens)});
        if self.details {
            body["details"] = json!({
                "finish_reason": finish_reason(planned), "generated_tokens": planned.length.tokens, "seed": null,
                "prefill": [], "tokens": [],
            });
        }
        WholeBody::json(Value::to_string(&body))
    }
}

fn finish_reason(planned: &PlannedResponse) -> &'static str {
    match planned.length.finish {
        Finish::Length => "length",
        Finish::Stop => "eos_token",
    }
}
