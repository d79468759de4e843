//! `/v1/images/generations`, whole or as events of partial images, and `/v1/images/edits`, a form.
//!
//! Every image is the same small PNG: its content does not matter here.

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::fastapi;
use super::text::prompt_tokens;
use super::{
    Api, ApiError, Ask, Example, InferenceRequest, Output, Pen, PlannedResponse, Reading, Span, Statuses, Streams,
    WholeBody, Wording,
};
use crate::truth::Payload;

/// A PNG of one pixel.
pub(super) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const MOST_IMAGES: u32 = 10;
const MOST_PARTIAL_IMAGES: u32 = 3;

pub(super) const GENERATION: Api = Api {
    name: "image_generation",
    method: "POST",
    paths: &["/v1/images/generations"],
    streams: Streams::ByMember,
    output: Output::Pictures,
    read,
    error: fastapi,
    statuses: Statuses::FASTAPI,
    example: Example::json(r#"{"prompt":"word"}"#),
};

pub(super) const EDIT: Api = Api {
    name: "image_edit",
    method: "POST",
    paths: &["/v1/images/edits"],
    streams: Streams::Never,
    output: Output::Result,
    read: read_edit,
    error: fastapi,
    statuses: Statuses::FASTAPI,
    example: Example {
        content_type: "multipart/form-data; boundary=B",
        body: "--B\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nword\r\n--B\r\n\
               Content-Disposition: form-data; name=\"image\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n\
               png\r\n--B--\r\n",
    },
};

#[derive(Deserialize)]
struct Body {
    prompt: Option<String>,
    model: Option<String>,
    n: Option<u32>,
    size: Option<String>,
    response_format: Option<String>,
    stream: Option<bool>,
    partial_images: Option<u32>,
}

fn read(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let body: Body = ask.json()?;
    let prompt = body.prompt.ok_or_else(|| ask.missing("prompt"))?;
    let wording = Pictures::new(body.n, body.size, body.response_format.as_deref())?;
    let partial = body.partial_images.unwrap_or(0);
    if partial > MOST_PARTIAL_IMAGES {
        let message = format!("partial_images must be from 0 to {MOST_PARTIAL_IMAGES}, got {partial}.");
        return Err(ApiError::bad_request(message, "partial_images"));
    }
    let stream = body.stream.unwrap_or(false);
    let request = InferenceRequest {
        model: body.model,
        stream,
        pictures: if stream { partial + 1 } else { 0 },
        prompt_tokens: prompt_tokens(&prompt),
        ..InferenceRequest::default()
    };
    Ok((request, Box::new(wording)))
}

fn read_edit(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let form = ask.form()?;
    let prompt = form.text("prompt").ok_or_else(|| ask.missing("prompt"))?;
    let is_linked = form.text("url").is_some_and(|url| !url.is_empty());
    if !is_linked && form.file("image").or(form.file("image[]")).is_none() {
        return Err(ask.missing("image"));
    }
    let n = match form.text("n") {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| ApiError::bad_request(format!("n is not a number: {text}"), "n"))?),
    };
    let wording = Pictures::new(n, form.text("size").map(str::to_owned), form.text("response_format"))?;
    let request = InferenceRequest {
        model: form.text("model").map(str::to_owned),
        prompt_tokens: prompt_tokens(prompt),
        ..InferenceRequest::default()
    };
    Ok((request, Box::new(wording)))
}

struct Pictures {
    n: u32,
    size: String,
    as_url: bool,
}

impl Pictures {
    fn new(n: Option<u32>, size: Option<String>, format: Option<&str>) -> Result<Self, ApiError> {
        let n = n.unwrap_or(1);
        if !(1..=MOST_IMAGES).contains(&n) {
            return Err(ApiError::bad_request(format!("n must be from 1 to {MOST_IMAGES}, got {n}."), "n"));
        }
        let as_url = match format {
            None | Some("b64_json") => false,
            Some("url") => true,
            Some(other) => {
                let message = format!("response_format is 'b64_json' or 'url', not '{other}'.");
                return Err(ApiError::bad_request(message, "response_format"));
            }
        };
        Ok(Pictures { n, size: size.unwrap_or_else(|| "1024x1024".to_owned()), as_url })
    }
}

impl Wording for Pictures {
    fn tokens(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse, span: Span) {
        let name = if span.last { "image_generation.completed" } else { "image_generation.partial_image" };
        let mut event = json!({
            "type": name, "b64_json": PNG, "created_at": planned.created, "size": self.size, "quality": "auto",
            "background": "auto", "output_format": "png",
        });
        match span.last {
            true => event["usage"] = usage(planned),
            false => event["partial_image_index"] = span.from.into(),
        }
        let event = format!("event: {name}\ndata: {event}\n\n");
        match span.last {
            true => pen.last_event(&[event.as_bytes()], Payload::Content),
            false => pen.event(&[event.as_bytes()], Payload::Content),
        }
    }

    fn break_json(&mut self, pen: &mut Pen<'_, '_>) {
        let event = b"event: image_generation.partial_image\ndata: {\"type\":\"image_gen\n\n";
        pen.event(&[event], Payload::Nothing);
    }

    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody {
        let image = |index: u32| match self.as_url {
            true => {
                json!({"b64_json": null, "url": format!("https://images.invalid/{}-{index}.png", planned.id()),
                    "revised_prompt": null})
            }
            false => json!({"b64_json": PNG, "url": null, "revised_prompt": null}),
        };
        let data: Vec<Value> = (0..self.n).map(image).collect();
        let body = json!({
            "created": planned.created, "data": data, "size": self.size, "quality": "auto", "output_format": "png",
            "background": "auto", "usage": usage(planned),
        });
        WholeBody::json(body.to_string())
    }
}

/// Input tokens only; images are not counted in tokens here.
fn usage(planned: &PlannedResponse) -> Value {
    let prompt = planned.request.prompt_tokens;
    json!({
        "input_tokens": prompt, "input_tokens_details": {"text_tokens": prompt, "image_tokens": 0},
        "output_tokens": 0, "total_tokens": prompt,
    })
}
