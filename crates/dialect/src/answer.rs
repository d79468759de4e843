//! An exchange's responses folded into one parsed answer.

use crate::kinds::{Data, Dialect, Piece};
use crate::{json, spec_decode, sse, usage};
use aiperf_types::{ContentMark, MonoNs, Parsed, RequestError};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Reads the responses of one exchange, in order.
pub struct Answer {
    dialect: &'static Dialect,
    splitter: sse::Splitter,
    parsed: Parsed,
    usage: Map<String, Value>,
    /// Reports of speculative decoding: only one that is alone is believed.
    spec_decode: Vec<Map<String, Value>>,
    /// The read before the current one, and the current one: several responses of one read lie in between.
    reads: (MonoNs, MonoNs),
    in_read: u32,
    shape: Shape,
}

impl Answer {
    /// Nothing read yet; `start` is when the request began.
    pub fn new(dialect: &'static Dialect, start: MonoNs) -> Self {
        Self {
            dialect,
            splitter: sse::Splitter::default(),
            parsed: Parsed::default(),
            usage: Map::new(),
            spec_decode: Vec::new(),
            reads: (start, MonoNs(0)),
            in_read: 0,
            shape: Shape::default(),
        }
    }

    /// Takes bytes of an event stream, with the instant of the read that brought them. Returns `false` once an error
    /// event ended the stream.
    pub fn feed_stream(&mut self, bytes: &[u8], at: MonoNs) -> bool {
        if at != self.reads.1 {
            if self.reads.1 != MonoNs(0) {
                self.reads.0 = self.reads.1;
            }
            self.reads.1 = at;
            self.in_read = 0;
        }
        let mut splitter = std::mem::take(&mut self.splitter);
        let on = splitter.feed(bytes, at, |message, at| self.take_message(message, at));
        self.splitter = splitter;
        on
    }

    pub fn end_stream(&mut self, at: MonoNs) {
        let mut splitter = std::mem::take(&mut self.splitter);
        splitter.finish(at, |message, at| self.take_message(message, at));
    }

    /// Takes a whole body that is not a stream.
    pub fn feed_body(&mut self, text: &[u8], at: MonoNs) {
        self.count_response(at);
        let text = text.strip_prefix(sse::BYTE_ORDER_MARK).unwrap_or(text);
        let Ok(text) = std::str::from_utf8(text) else { return };
        match (self.dialect.parse)(text) {
            Some(piece) => self.take_piece(piece, at),
            None => self.take_odd(text, at).unwrap_or(true),
        };
    }

    pub fn finish(mut self) -> Parsed {
        if !self.usage.is_empty() {
            let (usage, unreadable) = usage::read_checked(&self.usage);
            self.parsed.usage = Some(usage);
            self.parsed.unreadable_usage = unreadable;
        }
        if let [report] = self.spec_decode.as_slice() {
            match spec_decode::read(report) {
                Some(Ok(mut read)) => {
                    read.completion_tokens = self.parsed.usage.and_then(|usage| usage.completion_tokens);
                    self.parsed.spec_decode = Some(Box::new(read));
                }
                Some(Err(fault)) => self.parsed.spec_decode_fault = Some(fault),
                None => {}
            }
        }
        self.parsed
    }

    fn take_message(&mut self, message: &[u8], at: MonoNs) -> bool {
        if let Some(text) = sse::error_event(message) {
            self.parsed.error = Some(stream_error(None, &text));
            return false;
        }
        self.count_response(at);
        let data = sse::data(message);
        if data.is_empty() || &*data == sse::DONE {
            return true;
        }
        // One check of the whole is cheaper than one of each string in it.
        let json = sse::readable(&data);
        if let Some(text) = self.shape.text_of(&json) {
            self.take_content(&Data::Text(text.into()), at);
            return true;
        }
        match (self.dialect.parse)(&json) {
            Some(piece) => {
                self.shape.learn(&json, &piece);
                self.take_piece(piece, at)
            }
            None => self.take_odd(&json, at).unwrap_or_else(|| {
                self.parsed.unreadable += 1;
                true
            }),
        }
    }

    /// Takes what is not the JSON it should be; `None` when nothing can be made of it.
    fn take_odd(&mut self, text: &str, at: MonoNs) -> Option<bool> {
        // JSON of another shape says nothing, but it can be read.
        let can_be_read = |json: &str| serde_json::from_str::<IgnoredAny>(json).is_ok().then_some(true);
        let Some(mended) = json::mended(text) else { return can_be_read(text) };
        match (self.dialect.parse)(&mended) {
            Some(piece) => Some(self.take_piece(piece, at)),
            None => can_be_read(&mended),
        }
    }

    fn count_response(&mut self, at: MonoNs) {
        self.parsed.responses += 1;
        self.parsed.last_response = at;
    }

    fn take_piece(&mut self, piece: Piece<'_>, at: MonoNs) -> bool {
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
        // A second one is enough to believe none.
        if self.spec_decode.len() < 2 {
            self.spec_decode.extend(piece.spec_decode);
        }
        if let Some(data) = piece.data {
            self.take_content(&data, at);
        }
        true
    }

    fn take_content(&mut self, data: &Data<'_>, at: MonoNs) {
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

/// What stands around the text in a chunk. The chunks of a stream mostly differ in nothing but their text, and one that
/// begins and ends as an earlier one did says the same with another text: 0.26 us for everything done to such a chunk,
/// where its JSON alone takes 0.42 us (`cargo bench -p aiperf-dialect --bench parse`).
#[derive(Debug, Default)]
struct Shape {
    before: String,
    after: String,
}

impl Shape {
    /// Remembers a chunk that is a text and nothing else.
    fn learn(&mut self, json: &str, piece: &Piece<'_>) {
        let (Some(Data::Text(Cow::Borrowed(text))), None, None) = (&piece.data, &piece.usage, &piece.spec_decode)
        else {
            return;
        };
        // A borrowed text is a part of the chunk, without escapes.
        let start = (text.as_ptr() as usize).wrapping_sub(json.as_ptr() as usize);
        if let (Some(before), Some(after)) = (json.get(..start), json.get(start + text.len()..)) {
            before.clone_into(&mut self.before);
            after.clone_into(&mut self.after);
        }
    }

    /// The text of a chunk of the remembered shape, if it is one and its text needs no unescaping.
    fn text_of<'a>(&self, json: &'a str) -> Option<&'a str> {
        if self.after.is_empty() {
            return None;
        }
        let text = json.strip_prefix(self.before.as_str())?.strip_suffix(self.after.as_str())?;
        let plain = !text.is_empty() && text.bytes().all(|byte| byte != b'"' && byte != b'\\' && byte >= b' ');
        plain.then_some(text)
    }
}

/// An error told inside a 200 answer.
fn stream_error(code: Option<i64>, text: &str) -> RequestError {
    RequestError {
        code: Some(code.unwrap_or(502)),
        ..RequestError::exception("SSEResponseError", format!("Error occurred in SSE response: {text}"), &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect;
    use aiperf_types::EndpointKind;
    use proptest::prelude::*;

    fn chunk(text: &str, tail: &str) -> String {
        let quoted = Value::String(text.to_owned()).to_string();
        format!("data: {{\"id\":\"x\",\"choices\":[{{\"delta\":{{\"content\":{quoted}}}{tail}}}]}}\n\n")
    }

    fn stream(events: &[&str]) -> Parsed {
        let mut answer = Answer::new(dialect(EndpointKind::Chat).unwrap(), MonoNs(1));
        for (i, event) in events.iter().enumerate() {
            answer.feed_stream(format!("data: {event}\n\n").as_bytes(), MonoNs(i as u64 + 2));
        }
        answer.finish()
    }

    #[test]
    fn events_that_only_lenient_readers_take_lose_no_token() {
        let parsed = stream(&[
            r#"{"choices":[{"delta":{"content":"a"},"logprobs":{"x":NaN}}]}"#,
            r#"{"choices":[{"delta":{"content":"\ud83d"},"x":-Infinity}]}"#,
            r#"{"choices":[],"usage":{"completion_tokens":2,"rate":1e999}}"#,
        ]);
        assert_eq!(parsed.output_text.as_deref(), Some("a\u{fffd}"));
        assert_eq!((parsed.content.len(), parsed.content[0].at, parsed.unreadable), (2, MonoNs(2), 0));
        assert_eq!(parsed.usage.and_then(|usage| usage.completion_tokens), Some(2));
    }

    #[test]
    fn events_that_nobody_can_read_are_counted() {
        let parsed = stream(&["{nope", "hello", &"[".repeat(5000), "[1]", "null", "[DONE]", &chunk("b", "")[6..]]);
        assert_eq!((parsed.unreadable, parsed.responses, parsed.content.len()), (3, 7, 1));
    }

    #[test]
    fn many_reports_of_speculative_decoding_are_none() {
        let report = r#"{"choices":[],"metrics":{"speculative_decoding":{"num_drafts":2}}}"#;
        let mut answer = Answer::new(dialect(EndpointKind::Chat).unwrap(), MonoNs(1));
        for at in 2..100 {
            answer.feed_stream(format!("data: {report}\n\n").as_bytes(), MonoNs(at));
        }
        assert_eq!(answer.spec_decode.len(), 2);
    }

    #[test]
    fn usage_that_cannot_be_is_left_out_and_noted() {
        let parsed =
            stream(&[r#"{"choices":[],"usage":{"completion_tokens":100000000000000000000,"prompt_tokens":7}}"#]);
        let usage = parsed.usage.unwrap();
        assert_eq!((usage.completion_tokens, usage.prompt_tokens, parsed.unreadable_usage), (None, Some(7), true));
    }

    #[test]
    fn a_whole_body_may_begin_with_a_byte_order_mark() {
        let mut answer = Answer::new(dialect(EndpointKind::Chat).unwrap(), MonoNs(1));
        answer.feed_body(b"\xef\xbb\xbf{\"choices\":[{\"message\":{\"content\":\"a\"},\"x\":NaN}]}", MonoNs(2));
        assert_eq!(answer.finish().output_text.as_deref(), Some("a"));
    }

    proptest! {
        #[test]
        fn a_remembered_shape_changes_nothing(
            texts in prop::collection::vec("[a-z \"\\\\\n\u{e9}{}:,]{0,6}", 1..20),
            tails in prop::collection::vec(prop::sample::select(vec!["", ",\"finish_reason\":null"]), 20),
        ) {
            let mut answer = Answer::new(dialect(EndpointKind::Chat).unwrap(), MonoNs(1));
            for (i, (text, tail)) in texts.iter().zip(&tails).enumerate() {
                answer.feed_stream(chunk(text, tail).as_bytes(), MonoNs(i as u64 + 2));
            }
            let parsed = answer.finish();
            prop_assert_eq!(parsed.output_text.unwrap_or_default(), texts.concat());
            prop_assert_eq!(parsed.content.len(), texts.iter().filter(|text| !text.is_empty()).count());
        }
    }
}
