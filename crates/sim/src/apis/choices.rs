//! Responses made of choices: the common parts of chat and completions, in the form of vLLM 0.32.
//!
//! The parts that are the same in every event of a response are assembled once; an event is then a few copies into one
//! buffer.

use serde::Deserialize;

use super::text::Text;
use super::{
    Api, ApiError, Ask, Finish, InferenceRequest, Pen, PlannedResponse, Reading, Span, WholeBody, Wording, error_line,
    json_string,
};
use crate::http::Status;
use crate::speculation;
use crate::truth::Payload;

const FINGERPRINT: &str = concat!("aiperf-sim-", env!("CARGO_PKG_VERSION"));

/// The form of responses of one API.
pub(super) struct Shape {
    pub(super) id: &'static str,
    /// Of an event.
    pub(super) object: &'static str,
    pub(super) whole_object: &'static str,
    /// The event before the first token: the text before its usage, and after.
    pub(super) role: Option<(&'static str, &'static str)>,
    pub(super) text: &'static str,
    pub(super) reasoning: &'static str,
    pub(super) more: &'static str,
    pub(super) length: &'static str,
    pub(super) stop: &'static str,
    /// Beside the counts in the usage event.
    pub(super) prompt_details: &'static str,
    /// Beside the counts in a whole response.
    pub(super) whole_prompt_details: &'static str,
    /// A choice of a whole response.
    pub(super) choice: fn(usize, &Choice) -> String,
    /// After the usage of a whole response.
    pub(super) tail: &'static str,
}

/// A request body, with the members of either kind.
#[derive(Deserialize)]
pub(super) struct Body {
    model: Option<String>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    min_tokens: Option<u32>,
    ignore_eos: Option<bool>,
    n: Option<u32>,
    messages: Option<Text>,
    prompt: Option<Text>,
}

#[derive(Deserialize, Default)]
struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

/// Reads a chat request. Unknown members are ignored, as servers do.
pub(super) fn read_chat(ask: &Ask<'_>, shape: &'static Shape) -> Result<Reading, ApiError> {
    let mut body: Body = ask.json()?;
    let messages = body.messages.take().ok_or_else(|| ask.missing("messages"))?;
    body.reading(messages.as_one(), shape)
}

pub(super) fn read_completions(ask: &Ask<'_>, shape: &'static Shape) -> Result<Reading, ApiError> {
    let mut body: Body = ask.json()?;
    let prompt = body.prompt.take().ok_or_else(|| ask.missing("prompt"))?;
    body.reading(prompt, shape)
}

impl Body {
    fn reading(self, prompt: Text, shape: &'static Shape) -> Result<Reading, ApiError> {
        let max_tokens = self.max_completion_tokens.or(self.max_tokens);
        if max_tokens == Some(0) {
            return Err(ApiError::bad_request("max_tokens must be at least 1, got 0.".to_owned(), "max_tokens"));
        }
        let n = self.n.unwrap_or(1);
        if !(1..=128).contains(&n) {
            return Err(ApiError::bad_request(format!("n must be from 1 to 128, got {n}."), "n"));
        }
        let options = self.stream_options.unwrap_or_default();
        let request = InferenceRequest {
            model: self.model,
            stream: self.stream.unwrap_or(false),
            max_tokens,
            min_tokens: self.min_tokens.unwrap_or(0),
            ignore_eos: self.ignore_eos.unwrap_or(false),
            n,
            choices: n * prompt.items.max(1),
            prompt_tokens: prompt.tokens,
            ..InferenceRequest::default()
        };
        let include_usage = options.include_usage.unwrap_or(false);
        let wording = Choices {
            shape,
            include_usage,
            continuous_usage: include_usage && options.continuous_usage_stats.unwrap_or(false),
            opening: Vec::new(),
        };
        Ok((request, Box::new(wording)))
    }
}

/// Token counts as `usage` reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Usage {
    prompt: u32,
    completion: u32,
    reasoning: u32,
    /// Tokens drafted ahead in each step; none, and nothing is reported of it.
    drafts: u32,
}

impl Usage {
    /// Of all choices together.
    fn of(planned: &PlannedResponse) -> Self {
        let (length, choices) = (planned.length, planned.request.choices);
        Usage {
            prompt: planned.request.prompt_tokens,
            completion: length.tokens * choices,
            reasoning: length.reasoning * choices,
            drafts: length.drafts,
        }
    }

    fn speculation(&self) -> Option<String> {
        (self.drafts > 0).then(|| speculation::metrics(self.completion, self.drafts))
    }

    fn counts(&self) -> String {
        let Usage { prompt, completion, .. } = self;
        let total = prompt.saturating_add(*completion);
        format!(r#""prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{completion}"#)
    }

    fn reasoning_details(&self) -> Option<String> {
        (self.reasoning > 0)
            .then(|| format!(r#","completion_tokens_details":{{"reasoning_tokens":{}}}"#, self.reasoning))
    }
}

/// The content of one choice in an event.
#[derive(Debug, Clone, Copy)]
struct Piece<'a> {
    choice: u32,
    text: &'a str,
    reasoning: bool,
    finish: Option<Finish>,
    /// `usage` beside the text, for `continuous_usage_stats`.
    usage: Option<Usage>,
    payload: Payload,
}

/// The prepared texts of one response.
struct Choices {
    shape: &'static Shape,
    include_usage: bool,
    continuous_usage: bool,
    /// From `data: {"id"` to `"choices":[`.
    opening: Vec<u8>,
}

impl Wording for Choices {
    fn open(&mut self, _: &mut Pen<'_, '_>, planned: &PlannedResponse) {
        self.opening = format!(
            r#"data: {{"id":"{}{}","object":"{}","created":{},"model":{},"choices":["#,
            self.shape.id,
            planned.id(),
            self.shape.object,
            planned.created,
            json_string(&planned.model)
        )
        .into_bytes();
    }

    fn tokens(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse, span: Span) {
        let usage = self.usage_so_far(planned, span.to);
        if span.from == 0 {
            let opening = usage.map(|usage| Usage { completion: 0, reasoning: 0, ..usage });
            (0..planned.request.choices).for_each(|choice| self.write_role(pen, choice, opening));
        }
        let finish = (span.last && planned.length.finish == Finish::Length).then_some(Finish::Length);
        for choice in 0..planned.request.choices {
            let text = planned.text(choice, span.from, span.to);
            let (reasoning, payload) = (span.reasoning, span.payload());
            self.write_piece(pen, Piece { choice, text: &text, reasoning, finish, usage, payload });
        }
    }

    fn close(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse) {
        if planned.length.finish == Finish::Stop {
            let usage = self.usage_so_far(planned, planned.length.tokens);
            for choice in 0..planned.request.choices {
                let (finish, payload) = (Some(Finish::Stop), Payload::Nothing);
                self.write_piece(pen, Piece { choice, text: "", reasoning: false, finish, usage, payload });
            }
        }
        if self.include_usage {
            self.write_usage(pen, Usage::of(planned));
        }
        write_done(pen);
    }

    fn fail(&mut self, pen: &mut Pen<'_, '_>, api: &Api, typed: bool) {
        let error = (api.error)(&ApiError::of_status(Status(500)));
        pen.event(&[error_line(typed), b"data: ", &error.bytes, b"\n\n"], Payload::Nothing);
        write_done(pen);
    }

    fn break_json(&mut self, pen: &mut Pen<'_, '_>) {
        pen.event(&[&self.opening, br#"{"index":0,"delta":{"con"#, b"\n\n"], Payload::Nothing);
    }

    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody {
        let length = planned.length;
        let shape = self.shape;
        let choices: Vec<String> = (0..planned.request.choices)
            .map(|choice| {
                let choice_text = Choice {
                    text: planned.text(choice, length.reasoning, length.tokens).into_owned(),
                    reasoning: (length.reasoning > 0).then(|| planned.text(choice, 0, length.reasoning).into_owned()),
                    finish: finish_name(length.finish),
                };
                (shape.choice)(choice as usize, &choice_text)
            })
            .collect();
        let usage = Usage::of(planned);
        let details = usage.reasoning_details().unwrap_or_else(|| r#","completion_tokens_details":null"#.to_owned());
        WholeBody::json(format!(
            r#"{{"id":"{}{}","object":"{}","created":{},"model":{},"choices":[{}],"service_tier":null,"system_fingerprint":"{FINGERPRINT}","usage":{{{}{}{details}}}{},"kv_transfer_params":null,"ec_transfer_params":null,"metrics":{}}}"#,
            shape.id,
            planned.id(),
            shape.whole_object,
            planned.created,
            json_string(&planned.model),
            choices.join(","),
            usage.counts(),
            shape.whole_prompt_details,
            shape.tail,
            usage.speculation().as_deref().unwrap_or("null"),
        ))
    }
}

impl Choices {
    /// Token counts so far, of one choice.
    fn usage_so_far(&self, planned: &PlannedResponse, produced: u32) -> Option<Usage> {
        self.continuous_usage.then(|| Usage {
            prompt: planned.request.prompt_tokens,
            completion: produced,
            reasoning: produced.min(planned.length.reasoning),
            drafts: 0,
        })
    }

    /// The event that opens a choice, before its first text, where the kind has one.
    fn write_role(&self, pen: &mut Pen<'_, '_>, choice: u32, usage: Option<Usage>) {
        let Some((head, tail)) = self.shape.role else { return };
        let mut index = itoa::Buffer::new();
        let parts: [&[u8]; 7] = [
            &self.opening,
            br#"{"index":"#,
            index.format(choice).as_bytes(),
            head.as_bytes(),
            &continuous_usage(usage),
            tail.as_bytes(),
            b"}\n\n",
        ];
        pen.event(&parts, Payload::Nothing);
    }

    /// Text, reasoning, or the end of a choice.
    fn write_piece(&self, pen: &mut Pen<'_, '_>, piece: Piece<'_>) {
        let mut index = itoa::Buffer::new();
        let before = if piece.reasoning { self.shape.reasoning } else { self.shape.text };
        let after = match piece.finish {
            None => self.shape.more,
            Some(Finish::Length) => self.shape.length,
            Some(Finish::Stop) => self.shape.stop,
        };
        let parts: [&[u8]; 8] = [
            &self.opening,
            br#"{"index":"#,
            index.format(piece.choice).as_bytes(),
            before.as_bytes(),
            piece.text.as_bytes(),
            after.as_bytes(),
            &continuous_usage(piece.usage),
            b"}\n\n",
        ];
        pen.event(&parts, piece.payload);
    }

    /// The event with the token counts of the whole response.
    fn write_usage(&self, pen: &mut Pen<'_, '_>, usage: Usage) {
        let metrics = usage.speculation().map(|metrics| format!(r#","metrics":{metrics}"#)).unwrap_or_default();
        let text = format!(
            r#"],"usage":{{{}{}{}}},"system_fingerprint":"{FINGERPRINT}"{metrics}}}"#,
            usage.counts(),
            self.shape.prompt_details,
            usage.reasoning_details().unwrap_or_default()
        );
        pen.event(&[&self.opening, text.as_bytes(), b"\n\n"], Payload::Nothing);
    }
}

fn write_done(pen: &mut Pen<'_, '_>) {
    pen.last_event(&[b"data: [DONE]\n\n"], Payload::Nothing);
}

fn finish_name(finish: Finish) -> &'static str {
    match finish {
        Finish::Length => "length",
        Finish::Stop => "stop",
    }
}

fn continuous_usage(usage: Option<Usage>) -> Vec<u8> {
    let Some(usage) = usage else { return Vec::new() };
    let details = usage.reasoning_details().unwrap_or_else(|| r#","completion_tokens_details":null"#.to_owned());
    format!(r#","usage":{{{}{details}}}"#, usage.counts()).into_bytes()
}

/// One finished choice of a whole response.
pub(super) struct Choice {
    pub(super) text: String,
    pub(super) reasoning: Option<String>,
    pub(super) finish: &'static str,
}
