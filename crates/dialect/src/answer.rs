//! An exchange's responses folded into one parsed answer.

use crate::kinds::{Data, Dialect, Piece};
use crate::{sse, usage};
use aiperf_types::{ContentMark, MonoNs, Parsed, RequestError};
use serde_json::{Map, Value};

/// Reads the responses of one exchange, in order.
pub struct Answer {
    dialect: &'static Dialect,
    splitter: sse::Splitter,
    parsed: Parsed,
    usage: Map<String, Value>,
    /// The read before the current one, and the current one: several responses of one read lie in between.
    reads: (MonoNs, MonoNs),
    in_read: u32,
}

impl Answer {
    /// Nothing read yet; `start` is when the request began.
    pub fn new(dialect: &'static Dialect, start: MonoNs) -> Self {
        Self {
            dialect,
            splitter: sse::Splitter::default(),
            parsed: Parsed::default(),
            usage: Map::new(),
            reads: (start, MonoNs(0)),
            in_read: 0,
        }
    }

    /// Takes bytes of an event stream, with the instant of the read that brought them. Returns `false` once an error
    /// event ended the stream.
    pub fn stream(&mut self, bytes: &[u8], at: MonoNs) -> bool {
        if at != self.reads.1 {
            if self.reads.1 != MonoNs(0) {
                self.reads.0 = self.reads.1;
            }
            self.reads.1 = at;
            self.in_read = 0;
        }
        let mut splitter = std::mem::take(&mut self.splitter);
        let on = splitter.feed(bytes, at, |message, at| self.message(message, at));
        self.splitter = splitter;
        on
    }

    /// The stream ended.
    pub fn end_stream(&mut self, at: MonoNs) {
        let mut splitter = std::mem::take(&mut self.splitter);
        splitter.finish(at, |message, at| self.message(message, at));
    }

    /// Takes a whole body that is not a stream.
    pub fn body(&mut self, text: &[u8], at: MonoNs) {
        self.response(at);
        if let Some(piece) = (self.dialect.parse)(text) {
            self.take(piece, at);
        }
    }

    /// What was read.
    pub fn finish(mut self) -> Parsed {
        if !self.usage.is_empty() {
            self.parsed.usage = Some(usage::read(&self.usage));
        }
        self.parsed
    }

    fn message(&mut self, message: &[u8], at: MonoNs) -> bool {
        if let Some(text) = sse::error_event(message) {
            self.parsed.error = Some(stream_error(None, &text));
            return false;
        }
        self.response(at);
        let data = sse::data(message);
        if data.is_empty() || &*data == b"[DONE]" {
            return true;
        }
        match (self.dialect.parse)(&data) {
            Some(piece) => self.take(piece, at),
            None => true,
        }
    }

    fn response(&mut self, at: MonoNs) {
        self.parsed.responses += 1;
        self.parsed.last_response = at;
    }

    fn take(&mut self, piece: Piece<'_>, at: MonoNs) -> bool {
        if let Some((code, text)) = piece.error {
            self.parsed.error = Some(stream_error(code, &text));
            return false;
        }
        if let Some(usage) = piece.usage {
            if piece.data.is_some() && self.parsed.first_content_tokens.is_none() {
                self.parsed.first_content_tokens = usage::read(&usage).completion_tokens;
            }
            usage::fold(&mut self.usage, usage);
        }
        if let Some(data) = piece.data {
            self.content(&data, at);
        }
        true
    }

    fn content(&mut self, data: &Data<'_>, at: MonoNs) {
        let parsed = &mut self.parsed;
        let mut output = |text: &str| {
            parsed.output_text.get_or_insert_default().push_str(text);
            !text.is_empty()
        };
        let mark = match data {
            Data::Text(text) => ContentMark { at, output: output(text), reasoning: false },
            Data::ToolCall { text, content } => {
                let said = output(content.as_deref().unwrap_or_default());
                ContentMark { at, output: output(text) | said, reasoning: false }
            }
            Data::Reasoning { reasoning, content } => {
                let text = content.as_deref().unwrap_or_default();
                let output = !text.is_empty() && output(text);
                parsed.reasoning_text.get_or_insert_default().push_str(reasoning);
                ContentMark { at, output, reasoning: true }
            }
        };
        if mark.output || mark.reasoning {
            parsed.content.push(mark);
            self.in_read += 1;
            if self.in_read > 1 {
                let width = self.reads.1.since(self.reads.0).0;
                parsed.merged += 1;
                parsed.merged_width_sum += width;
                parsed.merged_width_max = parsed.merged_width_max.max(width);
            }
        }
    }
}

/// An error told inside a 200 answer.
fn stream_error(code: Option<i64>, text: &str) -> RequestError {
    RequestError {
        code: Some(code.unwrap_or(502)),
        kind: Some("SSEResponseError".into()),
        message: format!("SSEResponseError('Error occurred in SSE response: {text}')"),
        cause: None,
        cause_chain: Some(vec!["SSEResponseError".into()]),
    }
}
