//! Folds an exchange's responses into one parsed response.

use crate::api::Api;
use crate::kinds::Ending;
use crate::response::capture::Capture;
use crate::response::known::{Content, KnownMessages};
use crate::response::reader::{self, Data, Delivery, Piece, Reader, ResponseError};
use crate::response::shape::{Shape, place_of_text};
use crate::response::{spec_decode, usage};
use crate::text::{json, sse};
use aiperf_types::{ContentMark, MonoNs, Parsed, Read, RequestError, Uncertainty};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Capacity for a short response: a list that grows from nothing is moved five times before it has this much.
const MARKS_AT_FIRST: usize = 32;
const TEXT_AT_FIRST: usize = 128;

/// The most events of a stream without content. A stored response has room for no more events of the usual size. Of
/// empty ones it has room for twenty times as many, which would keep a thread busy for long.
const MOST_SILENT: usize = 1_000_000;

/// The error of a stream that ends inside an event.
const CUT: &str = "Response payload is not completed: the stream ended inside an event";

/// The error of a stream whose last event is no JSON, and that has no end marker.
const BROKEN: &str = "Response payload is not completed: the last event of the stream cannot be read";

/// The responses that a read completed so far. What their instants are worth is decided when the read is over.
#[derive(Clone, Copy, Debug, Default)]
struct OfRead {
    /// Those with content.
    contents: u32,
    /// The last one has no content.
    ends_silent: bool,
}

/// Reads the responses of one exchange, in order.
pub struct ResponseParser<'k> {
    reader: Box<dyn Reader>,
    capture: Option<Box<dyn Capture>>,
    /// Texts of choices after the first, and their reasoning.
    other_choices: BTreeMap<u32, String>,
    other_thoughts: BTreeMap<u32, String>,
    splitter: sse::Splitter,
    parsed: Parsed,
    usage: Map<String, Value>,
    /// Reports of speculative decoding: one is used only if it is the only one.
    spec_decode: Vec<Map<String, Value>>,
    /// When the request was sent: nothing arrived before.
    sent: MonoNs,
    /// The read that is being taken.
    read: Read,
    of_read: OfRead,
    shape: Shape,
    /// Messages known from earlier responses.
    known: Option<&'k KnownMessages>,
    /// Texts not yet flushed to the capture: their choice, and their start in its output.
    unflushed: Option<(u32, usize)>,
    ending: Ending,
    /// The end marker of the stream has arrived.
    is_finished: bool,
    /// Which response was the last that could not be read, counted from one.
    last_unreadable: u32,
    /// `[DONE]` has arrived, whether or not it is the end marker of this type.
    has_done: bool,
}

impl<'k> ResponseParser<'k> {
    /// Nothing read yet; `sent` is when the sending of the request began.
    pub fn new(api: &Api, sent: MonoNs) -> Self {
        Self {
            reader: (api.dialect.reader)(api),
            capture: None,
            other_choices: BTreeMap::new(),
            other_thoughts: BTreeMap::new(),
            splitter: sse::Splitter::default(),
            parsed: Parsed::default(),
            usage: Map::new(),
            spec_decode: Vec::new(),
            sent,
            read: Read::default(),
            of_read: OfRead::default(),
            shape: Shape::default(),
            known: None,
            unflushed: None,
            ending: api.dialect.ending,
            is_finished: false,
            last_unreadable: 0,
            has_done: false,
        }
    }

    /// Collects the reply for later turns too.
    #[must_use]
    pub fn capturing(mut self, api: &Api) -> Self {
        self.capture = Some((api.dialect.capture)(api));
        self
    }

    /// Uses messages known from earlier responses of the same server, and adds to them.
    #[must_use]
    pub fn knowing(mut self, known: &'k KnownMessages) -> Self {
        self.known = Some(known).filter(|_| self.reader.is_stateless());
        self
    }

    /// Whether some content has arrived.
    pub fn has_content(&self) -> bool {
        !self.parsed.content.is_empty()
    }

    /// Takes bytes of an event stream, with their read. Returns `false` once an error event ended the stream.
    pub fn feed_stream(&mut self, bytes: &[u8], read: impl Into<Read>) -> bool {
        let read = read.into();
        let at = read.at;
        if at != self.read.at || read.lag != self.read.lag {
            self.begin_read(read);
        }
        self.read.is_followed = read.is_followed;
        let mut rest = bytes;
        if self.splitter.is_between_messages() {
            // A message that begins in the remembered form also ends in it: there is no need to search for its end.
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

    /// Whether the last event has arrived: what follows it is not part of the response.
    fn is_over(&self) -> bool {
        self.has_done || (self.ending == Ending::Event && self.is_finished)
    }

    #[inline]
    fn begin_read(&mut self, read: Read) {
        self.end_read();
        self.read = read;
    }

    /// All bytes of the current read are taken. Content that is followed by other bytes of the read arrived earlier
    /// than the read's stamp, by an unknown time. If the read ends inside an event, its stamp is that of this event.
    #[inline]
    fn end_read(&mut self) {
        let OfRead { contents, ends_silent } = std::mem::take(&mut self.of_read);
        if contents == 0 {
            return;
        }
        let is_shared = self.splitter.is_inside_message() || self.read.is_full || self.read.is_shared;
        let is_last_uncertain = ends_silent || is_shared || !self.read.is_exact();
        if contents > 1 || is_last_uncertain {
            // Most streams end with responses without content. Content that only these follow is not merged.
            self.note_uncertain(contents, if is_shared { contents } else { contents - 1 }, is_last_uncertain);
        }
    }

    /// Notes the uncertainty of a read with several responses, or without a stamp.
    #[cold]
    fn note_uncertain(&mut self, contents: u32, merged: u32, is_last_uncertain: bool) {
        let parsed = &mut self.parsed;
        let uncertainty = self.read.uncertainty(self.sent);
        if is_last_uncertain {
            parsed.last_uncertainty = uncertainty;
        }
        let has_first = parsed.content.len() == contents as usize;
        if has_first {
            parsed.first_uncertainty = uncertainty;
        }
        if merged > 0 {
            let Uncertainty { width, is_late, .. } = uncertainty;
            parsed.merged += merged;
            parsed.merged_late += if is_late { merged } else { 0 };
            parsed.merged_width_sum += width.0 * u64::from(merged);
            parsed.merged_width_max = parsed.merged_width_max.max(width.0);
        }
    }

    pub fn end_stream(&mut self, at: MonoNs) {
        self.end_read();
        let mut splitter = std::mem::take(&mut self.splitter);
        let is_cut = splitter.is_cut() || (!self.is_finished && splitter.is_cut_before_data());
        if !self.is_over() && is_cut {
            self.parsed.error = Some(RequestError::exception("ClientPayloadError", CUT, &[]));
        } else {
            splitter.finish(at, |message, at| self.take_message(message, at));
        }
        self.parsed.is_unfinished = self.ending != Ending::Unmarked && !self.is_finished;
        let is_broken = self.last_unreadable > 0 && self.last_unreadable == self.parsed.responses;
        if self.parsed.is_unfinished && is_broken && self.parsed.error.is_none() {
            self.parsed.error = Some(RequestError::exception("ClientPayloadError", BROKEN, &[]));
        }
    }

    /// Takes a whole body that is not a stream.
    pub fn feed_body(&mut self, text: &[u8], read: impl Into<Read>) {
        self.begin_read(read.into());
        let at = self.read.at;
        self.count_response(at);
        let text = text.strip_prefix(sse::BYTE_ORDER_MARK).unwrap_or(text);
        let Ok(text) = std::str::from_utf8(text) else { return };
        match self.read(text, Delivery::Body) {
            Some(piece) => self.take_piece(piece, text, Delivery::Body, at),
            None => self.take_odd(text, Delivery::Body, at).unwrap_or(true),
        };
    }

    /// Takes a body that is not text: it arrived, and has no content.
    pub fn feed_binary(&mut self, read: impl Into<Read>) {
        self.begin_read(read.into());
        self.count_response(self.read.at);
    }

    /// Takes content whose bytes were not stored: only its arrival is known.
    pub fn arrived(&mut self, read: impl Into<Read>) {
        self.begin_read(read.into());
        let at = self.read.at;
        self.count_response(at);
        self.mark(ContentMark { at, output: true, reasoning: false });
    }

    pub fn finish(mut self) -> Parsed {
        self.end_read();
        self.flush_texts();
        self.parsed.choice_ends = append_others(&mut self.parsed.output_text, &self.other_choices);
        self.parsed.reasoning_ends = append_others(&mut self.parsed.reasoning_text, &self.other_thoughts);
        self.parsed.reply = self.capture.take().map(|capture| Box::new(capture.finish()));
        // A failed response cannot be continued, and one without content has failed.
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
        // Nearly all events differ from the one before only in their text.
        if let Some(text) = self.shape.text_of(message) {
            self.take_known(message, text, at);
            return true;
        }
        if self.parsed.responses as usize - self.parsed.content.len() >= MOST_SILENT {
            self.flush_texts();
            self.parsed.error = Some(too_silent());
            return false;
        }
        match self.known.and_then(|known| known.find(message, self.capture.is_some())) {
            Some(Content::Nothing { finishes }) => {
                self.is_finished |= finishes;
                self.count_response(at);
                return true;
            }
            Some(Content::Text(text, shape)) => {
                self.flush_texts();
                self.shape = shape;
                self.take_known(message, text, at);
                return true;
            }
            None => self.flush_texts(),
        }
        // And nearly all others are nothing but data.
        let bare = sse::bare_data(message);
        if bare.is_none()
            && let Some(text) = sse::error_event(message)
        {
            self.parsed.error = Some(reported_error(Delivery::Event, None, &text));
            if let Some(capture) = &mut self.capture {
                capture.take(&Piece::default(), &sse::readable(&sse::data(message)));
            }
            return false;
        }
        self.count_response(at);
        let data = bare.map_or_else(|| sse::data(message), Cow::Borrowed);
        if bare.is_none()
            && let Some(error) = sse::stray_error(message).or_else(|| self.stray_text(message))
        {
            return self.take_piece(Piece { error: Some(error), ..Piece::default() }, "", Delivery::Event, at);
        }
        if data.is_empty() {
            return true;
        }
        if &*data == sse::DONE {
            self.has_done = true;
            self.is_finished |= self.ending == Ending::Done;
            return true;
        }
        // One check of the whole is cheaper than one of each string in it.
        let json = sse::readable(&data);
        match self.read(&json, Delivery::Event) {
            Some(piece) => {
                if bare.is_some() && self.reader.is_stateless() {
                    self.learn(message, &json, &piece);
                }
                self.take_piece(piece, &json, Delivery::Event, at)
            }
            None => self.take_odd(&json, Delivery::Event, at).unwrap_or_else(|| {
                self.parsed.unreadable += 1;
                // A part of the end marker lacks no content.
                if !sse::DONE.starts_with(&data) {
                    self.last_unreadable = self.parsed.responses;
                }
                true
            }),
        }
    }

    /// Plain text between the events of a stream, if it is an error: the stream has begun well and is not over. If a
    /// type has no end marker, its content may be plain text, too.
    fn stray_text(&self, message: &[u8]) -> Option<ResponseError> {
        let is_within = self.has_content() && !self.is_over() && self.ending != Ending::Unmarked;
        if is_within { sse::stray_text(message) } else { None }
    }

    /// Reads one response. One without content may be an error in another form.
    fn read<'a>(&mut self, text: &'a str, delivery: Delivery) -> Option<Piece<'a>> {
        let Some(mut piece) = self.reader.read(text, delivery) else {
            let error = Some(reader::listed_error(text)?);
            return Some(Piece { error, ..Piece::default() });
        };
        if piece.data.is_none() && !matches!(piece.error, Some(ResponseError::Reported { .. })) {
            piece.error = reader::bare_error(text).or(piece.error);
        }
        Some(piece)
    }

    fn learn(&mut self, message: &[u8], json: &str, piece: &Piece<'_>) {
        if let Some(text) = place_of_text(message, piece) {
            self.shape = Shape::around(message, text.clone(), piece.choice);
            if let Some(known) = self.known {
                known.learn_text(message, text, piece.choice);
            }
        } else if let Some(known) = self.known.filter(|_| piece.is_silent()) {
            let of_replies = self.capture.as_ref().is_some_and(|capture| capture.ignores(json));
            known.learn_silent(message, of_replies, piece.finishes);
        }
    }

    /// Takes a message of the remembered shape, and its text.
    #[inline]
    fn take_known(&mut self, message: &[u8], text: &str, at: MonoNs) {
        let choice = self.shape.choice;
        self.count_response(at);
        let output = output_of(choice, &mut self.parsed.output_text, &mut self.other_choices);
        let from = output.len();
        output.push_str(text);
        self.mark(ContentMark { at, output: true, reasoning: false });
        if self.unflushed.is_some() {
            return;
        }
        if let Some(capture) = &mut self.capture {
            if capture.takes_texts() {
                self.unflushed = Some((choice, from));
                return;
            }
            let piece = Piece { choice, data: Some(Data::Text(text.into())), ..Piece::default() };
            capture.take(&piece, &sse::readable(&sse::data(message)));
        }
    }

    /// Flushes pending text to the capture, before anything else goes there.
    fn flush_texts(&mut self) {
        if let Some((choice, from)) = self.unflushed.take()
            && let Some(capture) = &mut self.capture
        {
            let output = output_of(choice, &mut self.parsed.output_text, &mut self.other_choices);
            capture.take_texts(choice, &output[from..]);
        }
    }

    /// Takes data that is not valid JSON; `None` if it is useless.
    fn take_odd(&mut self, text: &str, delivery: Delivery, at: MonoNs) -> Option<bool> {
        let mended = json::mended(text);
        let text = match &mended {
            Some(mended) => match self.read(mended, delivery) {
                Some(piece) => return Some(self.take_piece(piece, mended, delivery, at)),
                None => mended,
            },
            None => text,
        };
        serde_json::from_str::<IgnoredAny>(text).ok()?;
        // If a member occurs twice, the last one counts.
        if let Ok(object) = serde_json::from_str::<Map<String, Value>>(text) {
            let once = Value::Object(object).to_string();
            if let Some(piece) = self.read(&once, delivery) {
                return Some(self.take_piece(piece, &once, delivery, at));
            }
        }
        // JSON of another form has no content, but it is readable.
        Some(true)
    }

    #[inline]
    fn count_response(&mut self, at: MonoNs) {
        self.of_read.ends_silent = true;
        self.parsed.responses += 1;
        self.parsed.last_response = at;
    }

    fn take_piece(&mut self, mut piece: Piece<'_>, text: &str, delivery: Delivery, at: MonoNs) -> bool {
        if let Some(capture) = &mut self.capture {
            capture.take(&piece, text);
        }
        self.is_finished |= piece.finishes;
        if let Some(usage) = piece.usage.take() {
            if piece.data.is_some() && self.parsed.first_content_tokens.is_none() {
                self.parsed.first_content_tokens = usage::read(&usage).completion_tokens;
            }
            usage::fold(&mut self.usage, usage);
        }
        // After a second one, none is used.
        if self.spec_decode.len() < 2 {
            self.spec_decode.extend(piece.spec_decode.take());
        }
        if piece.data.is_some() {
            self.take_contents(&piece, at);
        }
        if let Some(error) = piece.error {
            self.parsed.error = Some(match error {
                ResponseError::Reported { code, message } => reported_error(delivery, code, &message),
                ResponseError::Invalid { kind, message } => RequestError::exception(kind, message, &[]),
            });
            return false;
        }
        true
    }

    /// Takes the content of a response. However many choices it has, it arrived once.
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
        self.parsed.last_uncertainty = Uncertainty::default();
        self.of_read.contents += 1;
        self.of_read.ends_silent = false;
    }

    fn take_content(&mut self, choice: u32, data: &Data<'_>, mark: &mut ContentMark) {
        let parsed = &mut self.parsed;
        let mut output = |text: &str| {
            output_of(choice, &mut parsed.output_text, &mut self.other_choices).push_str(text);
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
                output_of(choice, &mut parsed.reasoning_text, &mut self.other_thoughts).push_str(reasoning);
            }
            Data::Video(job) => {
                let number = |member: &str| job.get(member).and_then(Value::as_f64).filter(|n| is_possible(*n));
                let facts = parsed.video.get_or_insert_default();
                facts.inference_seconds = number("inference_time_s").or(facts.inference_seconds);
                facts.peak_memory_mb = number("peak_memory_mb").or(facts.peak_memory_mb);
                output("");
                mark.output = true;
            }
            Data::Embeddings(vectors) => {
                parsed.vectors = Some(parsed.vectors.unwrap_or_default() + vectors.len() as u32);
                output("");
                mark.output = true;
            }
            // They arrived, and there is no text to count.
            Data::Rankings(_) | Data::ImageRetrieval(_) | Data::Images(_) => {
                output("");
                mark.output = true;
            }
        }
    }
}

/// The text of one choice so far.
fn output_of<'a>(choice: u32, first: &'a mut Option<String>, others: &'a mut BTreeMap<u32, String>) -> &'a mut String {
    match choice {
        0 => first.get_or_insert_with(|| String::with_capacity(TEXT_AT_FIRST)),
        _ => others.entry(choice).or_default(),
    }
}

/// Appends the texts of other choices to the first's, and returns where each ends.
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

fn too_silent() -> RequestError {
    let message = format!("Invalid inference result: {MOST_SILENT} events of the stream have no content");
    RequestError::exception("InvalidInferenceResultError", message, &[])
}

/// An error inside a 200 response.
fn reported_error(delivery: Delivery, code: Option<i64>, text: &str) -> RequestError {
    let (kind, message) = match delivery {
        Delivery::Event => ("SSEResponseError", format!("Error occurred in SSE response: {text}")),
        Delivery::Body => ("ResponseError", format!("the server answered with an error: {text}")),
    };
    RequestError { code: Some(code.unwrap_or(502)), ..RequestError::exception(kind, message, &[]) }
}

/// A possible number of seconds or megabytes for a video: at least zero, and at most thirty years or a petabyte.
fn is_possible(number: f64) -> bool {
    (0.0..=1e9).contains(&number)
}

#[cfg(test)]
mod tests;
