//! An exchange's responses folded into one parsed answer.

use crate::api::Api;
use crate::response::capture::Capture;
use crate::response::known::{KnownMessages, Said};
use crate::response::reader::{Data, Delivery, Piece, Reader, ResponseError};
use crate::response::shape::{Shape, place_of_text};
use crate::response::{spec_decode, usage};
use crate::text::{json, sse};
use aiperf_types::{ContentMark, MonoNs, Parsed, RequestError};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Room for a short answer: what grows from nothing is moved five times before it has this much.
const MARKS_AT_FIRST: usize = 32;
const TEXT_AT_FIRST: usize = 128;

/// Reads the responses of one exchange, in order.
pub struct Answer {
    reader: Box<dyn Reader>,
    capture: Option<Box<dyn Capture>>,
    /// Texts of choices after the first, and what those thought.
    other_choices: BTreeMap<u32, String>,
    other_thoughts: BTreeMap<u32, String>,
    splitter: sse::Splitter,
    parsed: Parsed,
    usage: Map<String, Value>,
    /// Reports of speculative decoding: only one that is alone is believed.
    spec_decode: Vec<Map<String, Value>>,
    /// The read before the current one, and the current one: several responses of one read lie in between.
    reads: (MonoNs, MonoNs),
    in_read: u32,
    shape: Shape,
    /// What answers before this one taught.
    known: Option<Rc<KnownMessages>>,
    /// Texts that the capture was not told of yet: of which choice, and from where in what it said.
    untold: Option<(u32, usize)>,
}

impl Answer {
    /// Nothing read yet; `start` is when the request began.
    pub fn new(api: &Api, start: MonoNs) -> Self {
        Self {
            reader: (api.dialect.reader)(api),
            capture: None,
            other_choices: BTreeMap::new(),
            other_thoughts: BTreeMap::new(),
            splitter: sse::Splitter::default(),
            parsed: Parsed::default(),
            usage: Map::new(),
            spec_decode: Vec::new(),
            reads: (start, MonoNs(0)),
            in_read: 0,
            shape: Shape::default(),
            known: None,
            untold: None,
        }
    }

    /// Gathers the reply for later turns too.
    #[must_use]
    pub fn capturing(mut self, api: &Api) -> Self {
        self.capture = Some((api.dialect.capture)(api));
        self
    }

    /// Goes by what earlier answers of the same server taught, and teaches those after it.
    #[must_use]
    pub fn knowing(mut self, known: Rc<KnownMessages>) -> Self {
        self.known = Some(known).filter(|_| self.reader.is_stateless());
        self
    }

    /// Whether a piece of the answer has come.
    pub fn has_content(&self) -> bool {
        !self.parsed.content.is_empty()
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
        let mut rest = bytes;
        if self.splitter.is_between_messages() {
            // What looks like a message before it ends like it, too: nobody needs to look for its end.
            while let Some((message, text, after)) = self.shape.first_of(rest) {
                self.take_known(message, text, at);
                rest = after;
            }
        }
        if rest.is_empty() {
            return true;
        }
        let mut splitter = std::mem::take(&mut self.splitter);
        let on = splitter.feed(rest, at, |message, at| self.take_message(message, at));
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
        match self.reader.read(text, Delivery::Body) {
            Some(piece) => self.take_piece(piece, text, Delivery::Body, at),
            None => self.take_odd(text, Delivery::Body, at).unwrap_or(true),
        };
    }

    /// Takes a body that is no text: it came, and says nothing.
    pub fn feed_binary(&mut self, at: MonoNs) {
        self.count_response(at);
    }

    /// Takes content whose bytes nobody kept: all that is known of it is that it came.
    pub fn arrived(&mut self, at: MonoNs) {
        self.count_response(at);
        self.parsed.content.push(ContentMark { at, output: true, reasoning: false });
    }

    pub fn finish(mut self) -> Parsed {
        self.tell_texts();
        self.parsed.choice_ends = append_others(&mut self.parsed.output_text, &self.other_choices);
        self.parsed.reasoning_ends = append_others(&mut self.parsed.reasoning_text, &self.other_thoughts);
        self.parsed.reply = self.capture.take().map(|capture| Box::new(capture.finish()));
        // What failed cannot be gone on from, and what says nothing has failed.
        let has_failed = self.parsed.error.is_some() || self.parsed.content.is_empty();
        if let Some(reply) = self.parsed.reply.as_mut().filter(|_| has_failed) {
            reply.response_id = None;
        }
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
        // Nearly all events differ from the one before in their text alone.
        if let Some(text) = self.shape.text_of(message) {
            self.take_known(message, text, at);
            return true;
        }
        match self.known.as_ref().and_then(|known| known.find(message, self.capture.is_some())) {
            Some(Said::Nothing) => {
                self.count_response(at);
                return true;
            }
            Some(Said::Text(text, shape)) => {
                self.tell_texts();
                self.shape = shape;
                self.take_known(message, text, at);
                return true;
            }
            None => self.tell_texts(),
        }
        // And nearly all others are nothing but data.
        let bare = sse::bare_data(message);
        if bare.is_none()
            && let Some(text) = sse::error_event(message)
        {
            self.parsed.error = Some(told_error(Delivery::Event, None, &text));
            if let Some(capture) = &mut self.capture {
                capture.take(&Piece::default(), &sse::readable(&sse::data(message)));
            }
            return false;
        }
        self.count_response(at);
        let data = bare.map_or_else(|| sse::data(message), Cow::Borrowed);
        if data.is_empty() || &*data == sse::DONE {
            return true;
        }
        // One check of the whole is cheaper than one of each string in it.
        let json = sse::readable(&data);
        match self.reader.read(&json, Delivery::Event) {
            Some(piece) => {
                if bare.is_some() && self.reader.is_stateless() {
                    self.learn(message, &json, &piece);
                }
                self.take_piece(piece, &json, Delivery::Event, at)
            }
            None => self.take_odd(&json, Delivery::Event, at).unwrap_or_else(|| {
                self.parsed.unreadable += 1;
                true
            }),
        }
    }

    fn learn(&mut self, message: &[u8], json: &str, piece: &Piece<'_>) {
        if let Some(text) = place_of_text(message, piece) {
            self.shape = Shape::around(message, text.clone(), piece.choice);
            if let Some(known) = &self.known {
                known.learn_text(message, text, piece.choice);
            }
        } else if let Some(known) = self.known.as_ref().filter(|_| *piece == Piece::default()) {
            known.learn_silent(message, self.capture.as_ref().is_some_and(|capture| capture.ignores(json)));
        }
    }

    /// Takes a message of the remembered shape, and its text.
    #[inline]
    fn take_known(&mut self, message: &[u8], text: &str, at: MonoNs) {
        let choice = self.shape.choice;
        self.count_response(at);
        let said = said_by(choice, &mut self.parsed.output_text, &mut self.other_choices);
        let from = said.len();
        said.push_str(text);
        self.mark(ContentMark { at, output: true, reasoning: false });
        if self.untold.is_some() {
            return;
        }
        if let Some(capture) = &mut self.capture {
            if capture.takes_texts() {
                self.untold = Some((choice, from));
                return;
            }
            let piece = Piece { choice, data: Some(Data::Text(text.into())), ..Piece::default() };
            capture.take(&piece, &sse::readable(&sse::data(message)));
        }
    }

    /// Tells the capture what was said since it was last told, before anything else is.
    fn tell_texts(&mut self) {
        if let Some((choice, from)) = self.untold.take()
            && let Some(capture) = &mut self.capture
        {
            let said = said_by(choice, &mut self.parsed.output_text, &mut self.other_choices);
            capture.take_texts(choice, &said[from..]);
        }
    }

    /// Takes what is not the JSON it should be; `None` when nothing can be made of it.
    fn take_odd(&mut self, text: &str, delivery: Delivery, at: MonoNs) -> Option<bool> {
        let mended = json::mended(text);
        let text = match &mended {
            Some(mended) => match self.reader.read(mended, delivery) {
                Some(piece) => return Some(self.take_piece(piece, mended, delivery, at)),
                None => mended,
            },
            None => text,
        };
        serde_json::from_str::<IgnoredAny>(text).ok()?;
        // Of a member that is there twice the last counts.
        if let Ok(object) = serde_json::from_str::<Map<String, Value>>(text) {
            let once = Value::Object(object).to_string();
            if let Some(piece) = self.reader.read(&once, delivery) {
                return Some(self.take_piece(piece, &once, delivery, at));
            }
        }
        // JSON of another shape says nothing, but it can be read.
        Some(true)
    }

    fn count_response(&mut self, at: MonoNs) {
        self.parsed.responses += 1;
        self.parsed.last_response = at;
    }

    fn take_piece(&mut self, mut piece: Piece<'_>, text: &str, delivery: Delivery, at: MonoNs) -> bool {
        if let Some(capture) = &mut self.capture {
            capture.take(&piece, text);
        }
        if let Some(usage) = piece.usage.take() {
            if piece.data.is_some() && self.parsed.first_content_tokens.is_none() {
                self.parsed.first_content_tokens = usage::read(&usage).completion_tokens;
            }
            usage::fold(&mut self.usage, usage);
        }
        // A second one is enough to believe none.
        if self.spec_decode.len() < 2 {
            self.spec_decode.extend(piece.spec_decode.take());
        }
        if piece.data.is_some() {
            self.take_contents(&piece, at);
        }
        if let Some(error) = piece.error {
            self.parsed.error = Some(match error {
                ResponseError::Told { code, message } => told_error(delivery, code, &message),
                ResponseError::Invalid { kind, message } => RequestError::exception(kind, message, &[]),
            });
            return false;
        }
        true
    }

    /// Takes what a response says. However many answers it belongs to, it came once.
    fn take_contents(&mut self, piece: &Piece<'_>, at: MonoNs) {
        let mut mark = ContentMark { at, output: false, reasoning: false };
        if let Some(data) = &piece.data {
            self.take_content(piece.choice, data, &mut mark);
        }
        for (choice, data) in &piece.others {
            self.take_content(*choice, data, &mut mark);
        }
        if mark.output || mark.reasoning {
            self.mark(mark);
        }
    }

    fn mark(&mut self, mark: ContentMark) {
        if self.parsed.content.is_empty() {
            self.parsed.content.reserve(MARKS_AT_FIRST);
        }
        self.parsed.content.push(mark);
        self.in_read += 1;
        if self.in_read > 1 {
            let width = self.reads.1.since(self.reads.0).0;
            self.parsed.merged += 1;
            self.parsed.merged_width_sum += width;
            self.parsed.merged_width_max = self.parsed.merged_width_max.max(width);
        }
    }

    fn take_content(&mut self, choice: u32, data: &Data<'_>, mark: &mut ContentMark) {
        let parsed = &mut self.parsed;
        let mut output = |text: &str| {
            said_by(choice, &mut parsed.output_text, &mut self.other_choices).push_str(text);
            mark.output |= !text.is_empty();
        };
        match data {
            Data::Text(text) => output(text),
            Data::ToolCall { text, content } => {
                output(content.as_deref().unwrap_or_default());
                output(text);
            }
            Data::Reasoning { reasoning, content, tool_calls } => {
                for text in [content, tool_calls].into_iter().flatten().filter(|text| !text.is_empty()) {
                    output(text);
                }
                mark.reasoning |= !reasoning.is_empty();
                said_by(choice, &mut parsed.reasoning_text, &mut self.other_thoughts).push_str(reasoning);
            }
            Data::Video(job) => {
                let number = |member: &str| job.get(member).and_then(Value::as_f64);
                let facts = parsed.video.get_or_insert_default();
                facts.inference_seconds = number("inference_time_s").or(facts.inference_seconds);
                facts.peak_memory_mb = number("peak_memory_mb").or(facts.peak_memory_mb);
                output("");
                mark.output = true;
            }
            // They came, and there is no text to count.
            Data::Embeddings(_) | Data::Rankings(_) | Data::ImageRetrieval(_) | Data::Images(_) => {
                output("");
                mark.output = true;
            }
        }
    }
}

/// The text of one choice so far.
fn said_by<'a>(choice: u32, first: &'a mut Option<String>, others: &'a mut BTreeMap<u32, String>) -> &'a mut String {
    match choice {
        0 => first.get_or_insert_with(|| String::with_capacity(TEXT_AT_FIRST)),
        _ => others.entry(choice).or_default(),
    }
}

/// Puts the texts of other choices behind the first's, and says where each ends.
fn append_others(text: &mut Option<String>, others: &BTreeMap<u32, String>) -> Vec<usize> {
    if others.is_empty() {
        return Vec::new();
    }
    let text = text.get_or_insert_default();
    let mut ends = vec![text.len()];
    for other in others.values() {
        text.push_str(other);
        ends.push(text.len());
    }
    ends
}

/// An error told inside a 200 answer.
fn told_error(delivery: Delivery, code: Option<i64>, text: &str) -> RequestError {
    let (kind, message) = match delivery {
        Delivery::Event => ("SSEResponseError", format!("Error occurred in SSE response: {text}")),
        Delivery::Body => ("ResponseError", format!("the server answered with an error: {text}")),
    };
    RequestError { code: Some(code.unwrap_or(502)), ..RequestError::exception(kind, message, &[]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{api, chat};
    use aiperf_types::EndpointKind;
    use proptest::prelude::*;
    use serde_json::json;

    fn chunk(text: &str, tail: &str) -> String {
        let quoted = Value::String(text.to_owned()).to_string();
        format!("data: {{\"id\":\"x\",\"choices\":[{{\"delta\":{{\"content\":{quoted}}}{tail}}}]}}\n\n")
    }

    fn stream(events: &[&str]) -> Parsed {
        let mut answer = Answer::new(&chat(), MonoNs(1));
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
    fn of_a_member_that_is_there_twice_the_last_counts() {
        let parsed = stream(&[r#"{"choices":[{"delta":{"content":"a","content":"b"}}]}"#]);
        assert_eq!((parsed.output_text.as_deref(), parsed.unreadable), (Some("b"), 0));
    }

    #[test]
    fn a_response_with_several_answers_came_once() {
        let chunk = |index: u32, text: &str| json!({"index": index, "delta": {"content": text}});
        let both = json!({"choices": [chunk(1, "x"), chunk(0, "a")]}).to_string();
        let parsed = stream(&[&both, &json!({"choices": [chunk(1, "y")]}).to_string()]);
        assert_eq!((parsed.content.len(), parsed.output_text.as_deref()), (2, Some("axy")));
        assert_eq!(parsed.choice_ends, [1, 3]);
    }

    #[test]
    fn each_choice_thinks_for_itself() {
        let thought = |index: u32, text: &str| json!({"choices": [{"index": index, "delta": {"reasoning": text}}]});
        let events = [(1, "x"), (0, "a"), (2, "p"), (1, "y"), (0, "b")].map(|(at, text)| thought(at, text).to_string());
        let parsed = stream(&events.each_ref().map(String::as_str));
        assert_eq!((parsed.reasoning_text.as_deref(), &parsed.reasoning_ends[..]), (Some("abxyp"), &[2, 4, 5][..]));
        assert_eq!((parsed.content.len(), parsed.output_text, parsed.choice_ends), (5, None, vec![]));
    }

    #[test]
    fn an_answer_that_says_nothing_leaves_no_id_to_go_on_from() {
        let api = api(EndpointKind::Responses);
        for (said, id) in [("a", Some("r")), ("", None)] {
            let mut answer = Answer::new(&api, MonoNs(1)).capturing(&api);
            let body = json!({"object": "response", "id": "r", "store": true, "output_text": said});
            answer.feed_body(body.to_string().as_bytes(), MonoNs(2));
            assert_eq!(answer.finish().reply.unwrap().response_id.as_deref(), id, "{said:?}");
        }
    }

    #[test]
    fn an_error_keeps_what_came_before_it_and_leaves_no_id_to_go_on_from() {
        let api = api(EndpointKind::Responses);
        let mut answer = Answer::new(&api, MonoNs(1)).capturing(&api);
        for (event, goes_on) in [
            (json!({"type": "response.output_text.delta", "delta": "par"}), true),
            (json!({"type": "response.output_item.done", "item": {"type": "message"}}), true),
            (json!({"type": "response.created", "response": {"id": "r", "store": true}}), true),
            (json!({"type": "response.failed", "response": {"error": {"message": "x"}, "usage": {}}}), false),
        ] {
            assert_eq!(answer.feed_stream(format!("data: {event}\n\n").as_bytes(), MonoNs(2)), goes_on);
        }
        let parsed = answer.finish();
        assert_eq!((parsed.content.len(), parsed.output_text.as_deref()), (1, Some("par")));
        assert!(parsed.error.is_some_and(|error| error.code == Some(502)));
        let reply = parsed.reply.unwrap();
        assert_eq!(reply.response_id, None);
        assert_eq!(reply.turn.unwrap().texts[0].contents, ["par"]);
    }

    /// What says something in a whole answer of each type.
    const CONTENTS: [(EndpointKind, &str); 18] = [
        (EndpointKind::Chat, r#""choices":[{"message":{"content":"a"}}]"#),
        (EndpointKind::Completions, r#""choices":[{"text":"a"}]"#),
        (EndpointKind::Responses, r#""object":"response","output_text":"a""#),
        (EndpointKind::Messages, r#""type":"message","content":[{"type":"text","text":"a"}]"#),
        (EndpointKind::Embeddings, r#""data":[{"object":"embedding","embedding":[1]}]"#),
        (EndpointKind::ChatEmbeddings, r#""data":[{"object":"embedding","embedding":[1]}]"#),
        (EndpointKind::NimEmbeddings, r#""data":[{"object":"embedding","embedding":[1]}]"#),
        (EndpointKind::CohereRankings, r#""results":[{"index":0,"relevance_score":1}]"#),
        (EndpointKind::HfTeiRankings, r#""results":[{"index":0,"score":1}]"#),
        (EndpointKind::NimRankings, r#""rankings":[{"index":0,"logit":1}]"#),
        (EndpointKind::HuggingfaceGenerate, r#""generated_text":"a""#),
        (EndpointKind::ImageGeneration, r#""data":[{"b64_json":"AAAA"}]"#),
        (EndpointKind::ImageEdit, r#""data":[{"b64_json":"AAAA"}]"#),
        (EndpointKind::ImageRetrieval, r#""data":[1]"#),
        (EndpointKind::AudioTranscription, r#""text":"a""#),
        (EndpointKind::SolidoRag, r#""content":"a""#),
        (EndpointKind::Raw, r#""text":"a""#),
        (EndpointKind::Template, r#""text":"a""#),
    ];

    #[test]
    fn an_error_beside_content_is_an_error_in_every_type_but_videos() {
        let kinds = CONTENTS.iter().map(|(kind, _)| *kind).chain([EndpointKind::VideoGeneration]);
        assert!(EndpointKind::ALL.iter().all(|kind| kinds.clone().any(|known| known == *kind)));
        for (kind, content) in CONTENTS {
            let read = |error: &str| {
                let mut answer = Answer::new(&api(kind), MonoNs(1));
                answer.feed_body(format!("{{{content},\"error\":{error}}}").as_bytes(), MonoNs(2));
                answer.finish()
            };
            let parsed = read(r#"{"message":"lost","code":507}"#);
            let error = parsed.error.map(|error| (error.kind, error.code, error.message));
            let message = "ResponseError('the server answered with an error: lost')".to_owned();
            assert_eq!(error, Some((Some("ResponseError".into()), Some(507), message)), "{kind:?}");
            assert_eq!(parsed.content.len(), 1, "{kind:?}");
            for nothing in ["null", "\"\"", "{}", "false"] {
                let parsed = read(nothing);
                assert_eq!((parsed.error, parsed.content.len()), (None, 1), "{kind:?} {nothing}");
            }
        }
        let mut answer = Answer::new(&api(EndpointKind::VideoGeneration), MonoNs(1));
        answer.feed_body(br#"{"id":"v","status":"failed","error":{"message":"lost"}}"#, MonoNs(2));
        assert_eq!(answer.finish().error, None);
    }

    #[test]
    fn an_error_beside_content_ends_a_stream_with_that_content_kept() {
        let events: [(EndpointKind, &str); 6] = [
            (EndpointKind::Chat, r#""choices":[{"delta":{"content":"a"}}]"#),
            (EndpointKind::Completions, r#""choices":[{"text":"a"}]"#),
            (EndpointKind::Responses, r#""type":"response.output_text.delta","delta":"a""#),
            (EndpointKind::Messages, r#""type":"content_block_delta","delta":{"type":"text_delta","text":"a"}"#),
            (EndpointKind::HuggingfaceGenerate, r#""token":{"text":"a"}"#),
            (EndpointKind::SolidoRag, r#""content":"a""#),
        ];
        for (kind, content) in events {
            let mut answer = Answer::new(&api(kind), MonoNs(1));
            assert!(answer.feed_stream(format!("data: {{{content}}}\n\n").as_bytes(), MonoNs(2)), "{kind:?}");
            let last = format!("data: {{{content},\"error\":\"lost\"}}\n\n");
            assert!(sse::search_end(last.as_bytes()).is_break(), "{last}");
            assert!(!answer.feed_stream(last.as_bytes(), MonoNs(3)), "{kind:?}");
            let parsed = answer.finish();
            assert_eq!(parsed.output_text.as_deref(), Some("aa"), "{kind:?}");
            assert!(parsed.error.is_some_and(|error| error.kind.as_deref() == Some("SSEResponseError")), "{kind:?}");
        }
    }

    #[test]
    fn many_reports_of_speculative_decoding_are_none() {
        let report = r#"{"choices":[],"metrics":{"speculative_decoding":{"num_drafts":2}}}"#;
        let mut answer = Answer::new(&chat(), MonoNs(1));
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
        let mut answer = Answer::new(&chat(), MonoNs(1));
        answer.feed_body(b"\xef\xbb\xbf{\"choices\":[{\"message\":{\"content\":\"a\"},\"x\":NaN}]}", MonoNs(2));
        assert_eq!(answer.finish().output_text.as_deref(), Some("a"));
    }

    /// A way to say a text, by its place in the stream.
    type Saying = (EndpointKind, fn(usize, Value) -> Value);

    const SAYINGS: [Saying; 3] = [
        (EndpointKind::Chat, |_, text| json!({"id": "x", "choices": [{"delta": {"content": text}, "logprobs": null}]})),
        (
            EndpointKind::Messages,
            |_, text| json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}, "index": 0}),
        ),
        (
            EndpointKind::Responses,
            |at, text| json!({"type": "response.output_text.delta", "delta": text, "sequence_number": at}),
        ),
    ];

    proptest! {
        #[test]
        fn a_text_is_the_same_in_all_dialects(
            texts in prop::collection::vec("[a-z \"\\\\\n\u{e9}{}:,]{0,6}", 1..20),
            (kind, saying) in prop::sample::select(SAYINGS.to_vec()),
            name in prop::sample::select(vec!["", "event: x\n"]),
        ) {
            let api = api(kind);
            let mut answer = Answer::new(&api, MonoNs(1)).capturing(&api);
            for (i, text) in texts.iter().enumerate() {
                let event = format!("{name}data: {}\n\n", saying(i, text.as_str().into()));
                answer.feed_stream(event.as_bytes(), MonoNs(i as u64 + 2));
            }
            let parsed = answer.finish();
            prop_assert_eq!(parsed.output_text.unwrap_or_default(), texts.concat());
            prop_assert_eq!(parsed.content.len(), texts.iter().filter(|text| !text.is_empty()).count());
            let said = parsed.reply.and_then(|reply| reply.turn).map(|turn| turn.texts[0].contents.concat());
            prop_assert_eq!(said.unwrap_or_default(), texts.concat());
        }

        #[test]
        fn however_a_stream_is_cut_it_says_the_same(
            texts in prop::collection::vec("[a-z \"\\\\\n\u{e9}{}:,]{0,6}", 1..12),
            tails in prop::collection::vec(prop::sample::select(vec!["", ",\"finish_reason\":null"]), 12),
            ends in prop::collection::vec(prop::sample::select(vec!["\n\n", "\r\n\r\n", "\r\r", "\n\r\n", "\n\n\n"]), 12),
            cuts in prop::collection::vec(1..40_usize, 1..40),
        ) {
            let messages = texts.iter().zip(&tails).zip(&ends).map(|((text, tail), end)| {
                chunk(text, tail).trim_end().to_owned() + end
            });
            let stream: String = messages.collect();
            let read = |pieces: &mut dyn Iterator<Item = usize>| {
                let api = chat();
                let (mut answer, mut rest) = (Answer::new(&api, MonoNs(1)).capturing(&api), stream.as_bytes());
                while !rest.is_empty() {
                    let (piece, after) = rest.split_at(pieces.next().unwrap_or(rest.len()).min(rest.len()));
                    answer.feed_stream(piece, MonoNs(2));
                    rest = after;
                }
                answer.end_stream(MonoNs(2));
                let Parsed { output_text, content, responses, reply, .. } = answer.finish();
                (output_text, content.len(), responses, reply)
            };
            let whole = read(&mut std::iter::empty());
            prop_assert_eq!(whole.0.clone().unwrap_or_default(), texts.concat());
            prop_assert_eq!(whole, read(&mut cuts.iter().copied().cycle()));
        }

        #[test]
        fn what_earlier_answers_taught_changes_nothing(
            answers in prop::collection::vec(prop::collection::vec((0..7_usize, "[a-z\"\u{e9}]{0,3}"), 0..8), 1..6),
            captures in prop::collection::vec(any::<bool>(), 6),
        ) {
            let api = chat();
            let known = Rc::new(KnownMessages::default());
            for (number, (events, captures)) in answers.iter().zip(captures).enumerate() {
                let read = |known: Option<&Rc<KnownMessages>>| {
                    let mut answer = Answer::new(&api, MonoNs(1));
                    if captures {
                        answer = answer.capturing(&api);
                    }
                    if let Some(known) = known {
                        answer = answer.knowing(known.clone());
                    }
                    for (kind, text) in events {
                        let delta = match kind {
                            0 => json!({"role": "assistant", "content": ""}),
                            1 => json!({}),
                            2 => json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": text}}]}),
                            3 => json!({"reasoning": text}),
                            _ => json!({"content": text}),
                        };
                        let index = usize::from(*kind == 5);
                        let choices = json!([{"index": index, "delta": delta, "finish_reason": null}]);
                        let choices = if *kind == 6 { json!([]) } else { choices };
                        let (id, time) = (format!("chat-{number}"), 1_700_000_000 + number);
                        let event = json!({"id": id, "object": "chunk", "created": time, "choices": choices});
                        answer.feed_stream(format!("data: {event}\n\n").as_bytes(), MonoNs(2));
                    }
                    let Parsed { output_text, reasoning_text, choice_ends, content, responses, reply, unreadable, .. } =
                        answer.finish();
                    (output_text, reasoning_text, choice_ends, content, responses, reply, unreadable)
                };
                prop_assert_eq!(read(Some(&known)), read(None));
            }
        }

        #[test]
        fn a_remembered_shape_changes_nothing(
            texts in prop::collection::vec("[a-z \"\\\\\n\u{e9}{}:,]{0,6}", 1..20),
            tails in prop::collection::vec(prop::sample::select(vec!["", ",\"finish_reason\":null"]), 20),
        ) {
            let mut answer = Answer::new(&chat(), MonoNs(1));
            for (i, (text, tail)) in texts.iter().zip(&tails).enumerate() {
                answer.feed_stream(chunk(text, tail).as_bytes(), MonoNs(i as u64 + 2));
            }
            let parsed = answer.finish();
            prop_assert_eq!(parsed.output_text.unwrap_or_default(), texts.concat());
            prop_assert_eq!(parsed.content.len(), texts.iter().filter(|text| !text.is_empty()).count());
        }
    }
}
