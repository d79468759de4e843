//! Server-sent events in any splits.
//!
//! A message gets the instant of the read that completed it. Line ends are CR, LF or CRLF; the earliest empty line
//! ends a message; a byte order mark is skipped. Every byte is looked at once, however it comes and whatever it is.

use crate::response::reader::{self, ResponseError};
use crate::text::json;
use crate::text::lenient::Str;
use aiperf_types::MonoNs;
use memchr::{memchr2, memchr2_iter, memmem};
use serde::Deserialize;
use std::borrow::Cow;
use std::ops::ControlFlow;

/// Cuts a stream of bytes into messages.
#[derive(Debug, Default)]
pub struct Splitter {
    /// Bytes of a message that is not complete yet.
    carry: Vec<u8>,
    /// How far the search for its end has looked.
    searched: usize,
    /// Bytes of a byte order mark seen so far: it may come in several reads. All of them once it is known whether there
    /// is one.
    marked: usize,
}

/// The data of the last message of a stream.
pub(crate) const DONE: &[u8] = b"[DONE]";

pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Splitter {
    /// Takes the bytes of one read and gives each message it completes. The visitor may end the stream by `false`.
    pub fn feed(&mut self, mut bytes: &[u8], at: MonoNs, mut visit: impl FnMut(&[u8], MonoNs) -> bool) -> bool {
        while let Some(expected) = BYTE_ORDER_MARK.get(self.marked) {
            let Some((byte, rest)) = bytes.split_first() else { return true };
            if byte == expected {
                self.marked += 1;
                bytes = rest;
            } else {
                // What looked like the beginning of a mark is text.
                self.carry.extend_from_slice(&BYTE_ORDER_MARK[..self.marked]);
                self.marked = BYTE_ORDER_MARK.len();
            }
        }
        if !self.carry.is_empty() {
            self.carry.extend_from_slice(bytes);
            let joined = std::mem::take(&mut self.carry);
            let Some(rest) = split(&joined, self.searched, &mut |message| visit(message, at)) else { return false };
            self.carry = joined;
            // What is left came with these bytes, unless nothing was completed: nothing is moved twice.
            self.carry.drain(..rest.start);
            self.searched = rest.searched - rest.start;
            return true;
        }
        let Some(rest) = split(bytes, 0, &mut |message| visit(message, at)) else { return false };
        self.carry.extend_from_slice(&bytes[rest.start..]);
        self.searched = rest.searched - rest.start;
        true
    }

    /// Whether what comes next begins a message.
    pub(crate) fn is_between_messages(&self) -> bool {
        self.carry.is_empty() && self.marked == BYTE_ORDER_MARK.len()
    }

    /// Whether a part of a message has arrived.
    pub(crate) fn is_inside_message(&self) -> bool {
        !self.carry.trim_ascii_start().is_empty()
    }

    /// Whether a stream that ends here breaks off inside an event: its last line has no end, and its data is part of
    /// JSON. What may be part of [`DONE`] lacks nothing.
    pub(crate) fn is_cut(&self) -> bool {
        let is_open = self.carry.last().is_some_and(|byte| !matches!(byte, b'\n' | b'\r'));
        let data = if is_open { data(self.carry.trim_ascii()) } else { Cow::Borrowed(&b""[..]) };
        !DONE.starts_with(&data) && json::is_cut(&readable(&data))
    }

    /// Whether the last line breaks off before its data: it is a part of `data:`, or that alone.
    pub(crate) fn is_cut_before_data(&self) -> bool {
        let line = self.carry.rsplit(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default().trim_ascii();
        !line.is_empty() && b"data:".starts_with(line)
    }

    /// The stream ended: what is left is one more message.
    pub fn finish(&mut self, at: MonoNs, mut visit: impl FnMut(&[u8], MonoNs) -> bool) {
        let rest = std::mem::take(&mut self.carry);
        let trimmed = rest.trim_ascii();
        if !trimmed.is_empty() {
            visit(trimmed, at);
        }
    }
}

/// A message that is not complete: where it starts, and from where to look for its end when there is more.
struct Rest {
    start: usize,
    searched: usize,
}

/// Visits each whole message, the end of the first one looked for from `searched` on; returns what is left, or `None`
/// when the visitor ended it.
fn split(bytes: &[u8], searched: usize, visit: &mut impl FnMut(&[u8]) -> bool) -> Option<Rest> {
    let (mut start, mut from) = (0, searched);
    loop {
        // Nothing but line ends is no message: there may be millions of them.
        let blank = bytes[start..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        start += blank;
        from = from.max(start);
        let (end, next) = match find_end(bytes, from) {
            Ok(found) => found,
            Err(searched) => return Some(Rest { start, searched }),
        };
        let message = bytes[start..end].trim_ascii();
        (start, from) = (next, next);
        if !message.is_empty() && !visit(message) {
            return None;
        }
    }
}

/// The first empty line at or after `from`: where the message ends, and where the next begins; or from where to look
/// again.
fn find_end(bytes: &[u8], from: usize) -> Result<(usize, usize), usize> {
    let mut at = from;
    while let Some(found) = memchr2(b'\n', b'\r', &bytes[at..]) {
        let end = at + found;
        #[cfg(test)]
        tests::note_looked_at(end + 1 - at);
        let after = line_end(bytes, end).ok_or(end)?;
        let bare_cr = bytes[end] == b'\r' && after == end + 1;
        match bytes.get(after) {
            Some(b'\n') => return Ok((end, after + 1)),
            // A bare CR as line end: the second one ends the message without waiting to see what follows.
            Some(b'\r') if bare_cr => return Ok((end, after + 1)),
            Some(b'\r') => return Ok((end, line_end(bytes, after).ok_or(end)?)),
            Some(_) => at = after,
            None => return Err(end),
        }
    }
    #[cfg(test)]
    tests::note_looked_at(bytes.len() - at);
    Err(bytes.len())
}

/// The end of a line end that starts at `at`; `None` while a CR may yet be followed by its LF.
fn line_end(bytes: &[u8], at: usize) -> Option<usize> {
    match (bytes[at], bytes.get(at + 1)) {
        (b'\n', _) => Some(at + 1),
        (_, Some(b'\n')) => Some(at + 2),
        (_, Some(_)) => Some(at + 1),
        (_, None) => None,
    }
}

/// One field of a message. A line without a colon has no value.
pub type Field<'a> = (Cow<'a, str>, Option<Cow<'a, str>>);

/// The fields of a message, in order.
pub fn fields(message: &[u8]) -> Vec<Field<'_>> {
    each_field(message).collect()
}

/// The fields of a message one by one: a message may be as large as a response, and its fields many times larger.
pub fn each_field(message: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let mut lines =
        message.split(|&b| b == b'\n' || b == b'\r').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let mut pending: Option<Field<'_>> = None;
    std::iter::from_fn(move || {
        loop {
            let Some(line) = lines.next() else { return pending.take() };
            // Some servers break JSON over several lines without repeating the field name.
            if let Some((_, Some(value))) = &mut pending
                && value.starts_with('{')
                && !value.ends_with('}')
                && !line.starts_with(b"data:")
            {
                let joined = value.to_mut();
                joined.push_str("\\n");
                joined.push_str(&readable(line));
                continue;
            }
            let (name, value) = match line.iter().position(|&b| b == b':') {
                None => (line, None),
                Some(0) => (&b"comment"[..], Some(&line[1..])),
                Some(colon) => (&line[..colon], Some(&line[colon + 1..])),
            };
            let field = (readable(name.trim_ascii()), value.map(|value| readable(value.trim_ascii())));
            if let Some(before) = pending.replace(field) {
                return Some(before);
            }
        }
    })
}

/// Bytes as text; what is no UTF-8 is replaced. Nearly all of it is UTF-8, and to find that out is much cheaper than to
/// look for what to replace.
pub fn readable(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// The data of a message that has no other field, on one line.
#[inline]
pub fn bare_data(message: &[u8]) -> Option<&[u8]> {
    let data = message.strip_prefix(b"data:")?;
    memchr2(b'\n', b'\r', data).is_none().then(|| data.trim_ascii())
}

/// The name of the event and the data of a message that has these two fields and no others, as nearly all have; the
/// name may be missing.
fn plain(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = match message.strip_prefix(b"event:") {
        Some(rest) => {
            let (name, rest) = rest.split_at(memchr2(b'\n', b'\r', rest)?);
            (name.trim_ascii(), rest.trim_ascii_start())
        }
        None => (&b""[..], message),
    };
    let data = rest.strip_prefix(b"data:")?;
    memchr2(b'\n', b'\r', data).is_none().then(|| (name, data.trim_ascii()))
}

/// The data of a message: its only field when that is `data`, else the non-empty `data` values joined by line feeds.
pub fn data(message: &[u8]) -> Cow<'_, [u8]> {
    if let Some((_, data)) = plain(message) {
        return Cow::Borrowed(data);
    }
    let mut values = each_field(message).filter(|(name, _)| name == "data").filter_map(|(_, value)| value);
    let mut joined = values.next().map(Cow::into_owned).unwrap_or_default();
    for value in values.filter(|value| !value.is_empty()) {
        if !joined.is_empty() {
            joined.push('\n');
        }
        joined.push_str(&value);
    }
    Cow::Owned(joined.into_bytes())
}

/// What events that report errors are called.
const ERROR_EVENTS: [&str; 2] = ["error", "exception"];

fn is_error_event(name: &[u8]) -> bool {
    ERROR_EVENTS.iter().any(|event| name.eq_ignore_ascii_case(event.as_bytes()))
}

/// The text of an `event: error` message: its comment, else the message in its data; `None` for other messages.
pub fn error_event(message: &[u8]) -> Option<String> {
    if plain(message).is_some_and(|(name, _)| !is_error_event(name)) {
        return None;
    }
    let (mut is_error, mut comment) = (false, None);
    for (name, value) in each_field(message) {
        let value = value.unwrap_or_default();
        is_error |= name.eq_ignore_ascii_case("event") && is_error_event(value.as_bytes());
        if name == "comment" {
            comment.get_or_insert(value);
        }
    }
    if !is_error {
        return None;
    }
    if let Some(comment) = comment {
        return Some(comment.into_owned());
    }
    let data = data(message);
    let text = readable(&data);
    let json: Option<serde_json::Value> = serde_json::from_slice(&data).ok();
    let named =
        json.as_ref().and_then(|json| json.get("message").or_else(|| json.get("error")?.get("message"))?.as_str());
    Some(named.unwrap_or(&text).to_owned())
}

/// How a page begins that a proxy puts in place of a stream.
const PAGES: [&[u8]; 2] = [b"<html", b"<!doctype html"];

/// An error that a server or a proxy wrote into a stream as it is, without the form of an event: JSON that reports an
/// error, an HTML page, or a field `error`, as older versions of llama.cpp have it.
pub(crate) fn stray_error(message: &[u8]) -> Option<ResponseError> {
    let stray = before_data(message);
    match stray.first()? {
        b'{' | b'[' => reader::error_in_text(&readable(stray)),
        b'<' => {
            let is_page = |start: &&[u8]| stray.get(..start.len()).is_some_and(|at| at.eq_ignore_ascii_case(start));
            PAGES.iter().any(is_page).then(|| reported(stray))
        }
        _ => {
            let mut errors = each_field(stray).filter(|(name, _)| is_error_event(name.as_bytes()));
            errors.find_map(|(_, value)| reader::error_in_field(&value?))
        }
    }
}

/// A line of plain text that a server or a proxy wrote into a stream when it failed: `Internal Server Error`. It is no
/// field: names of fields have no spaces, and only `error` is the name of an error.
pub(crate) fn stray_text(message: &[u8]) -> Option<ResponseError> {
    let stray = before_data(message);
    let is_text = |(name, value): Field<'_>| {
        let is_field = || value.is_some() && is_error_event(name.as_bytes());
        let is_failure = || reader::names_failure(&name) && !is_field();
        name.starts_with(char::is_alphanumeric) && (name.contains(char::is_whitespace) || is_failure())
    };
    let may_be = matches!(stray.first()?, b':' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z');
    (may_be && each_field(stray).any(is_text)).then(|| reported(stray))
}

fn reported(stray: &[u8]) -> ResponseError {
    ResponseError::Reported { code: None, message: readable(stray).into_owned() }
}

/// The lines of a message before its data. A server that fails in the middle of a stream writes no empty line after its
/// error, and perhaps no line end either: `[DONE]` then follows on the next line, or on the same. Most messages have no
/// such lines, or only the name of an event, which is left out.
fn before_data(message: &[u8]) -> &[u8] {
    const DATA: &[u8] = b"data:";
    let is_line = |line: &[u8]| memchr2(b'\n', b'\r', line).is_none();
    let mut starts = std::iter::once(0).chain(memchr2_iter(b'\n', b'\r', message).map(|end| end + 1));
    let end = starts.find(|start| message[*start..].starts_with(DATA)).unwrap_or(message.len());
    let before = message[..end].trim_ascii();
    if before.starts_with(b"event:") && is_line(before) {
        return b"";
    }
    let undone = before.strip_suffix(DONE).and_then(|before| before.trim_ascii_end().strip_suffix(DATA));
    undone.map_or(before, <[u8]>::trim_ascii_end)
}

/// What the last event of a stream is called, where it is not [`DONE`].
const LAST_EVENTS: [&str; 6] = [
    "message_stop",
    "response.completed",
    "response.done",
    "response.incomplete",
    "response.failed",
    "response.cancelled",
];

/// The ends of such events where their type is their last member, as far as a few bytes show them.
const LAST_ENDS: [&[u8]; 4] = [
    b"\"type\":\"message_stop\"}",
    b"\"type\": \"message_stop\"}",
    b"e\":\"response.completed\"}",
    b"e\": \"response.completed\"}",
];

/// The most bytes that [`ends_in_done`] looks at, of streams that have one space where they may have any number.
pub const LONGEST_LAST: usize = {
    let (mut longest, mut at) = ("\r\ndata: [DONE]".len(), 0);
    while at < LAST_ENDS.len() {
        if LAST_ENDS[at].len() > longest {
            longest = LAST_ENDS[at].len();
        }
        at += 1;
    }
    longest
};

/// Whether a few bytes end in the event that ends a stream. Asked after every read: the bytes of any other event decide
/// at the first look, or at the second.
pub fn ends_in_done(tail: &[u8]) -> bool {
    let tail = tail.trim_ascii_end();
    if tail.ends_with(b"\"}") {
        return LAST_ENDS.iter().any(|end| tail.ends_with(end));
    }
    let field = tail.strip_suffix(DONE).map(<[u8]>::trim_ascii_end);
    let before = field.and_then(|field| field.strip_suffix(b"data:"));
    before.is_some_and(|before| matches!(before, [] | [.., b'\n' | b'\r']))
}

/// Searches a stream for a message after which nothing comes. Where there is none: how many bytes are of whole
/// messages, which need not be searched again.
pub fn search_end(bytes: &[u8]) -> ControlFlow<(), usize> {
    let unmarked = |message: &'_ [u8]| ends_stream(message.strip_prefix(BYTE_ORDER_MARK).unwrap_or(message));
    let Some(Rest { start: whole, .. }) = split(bytes, 0, &mut |message| !unmarked(message)) else {
        return ControlFlow::Break(());
    };
    // Of an incomplete message only the data counts; a name of an event may yet go on.
    let last = bytes[whole..].trim_ascii();
    if !data(last).is_empty() && ends_stream(last) {
        return ControlFlow::Break(());
    }
    ControlFlow::Continue(whole)
}

/// The shortest message that ends a stream: `data:[DONE]` and `event:error` are as long.
const SHORTEST_LAST: usize = "data:".len() + DONE.len();

/// Whether a message ends a stream of itself: `[DONE]`, the last event of its kind, or an error.
fn ends_stream(message: &[u8]) -> bool {
    // Millions of empty messages may be asked about at once.
    if message.len() < SHORTEST_LAST {
        return false;
    }
    let data = data(message);
    let text = readable(&data);
    let is_error = || reader::is_error(&text) || stray_error(message).is_some();
    &*data == DONE || error_event(message).is_some() || is_last_event(&text) || is_error()
}

fn is_last_event(json: &str) -> bool {
    #[derive(Deserialize)]
    struct Event<'a> {
        #[serde(rename = "type", default, borrow)]
        kind: Str<'a>,
    }
    LAST_EVENTS.iter().any(|name| memmem::find(json.as_bytes(), name.as_bytes()).is_some())
        && json::object::<Event<'_>>(json).is_some_and(|event| LAST_EVENTS.iter().any(|name| event.kind.is(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    thread_local! {
        static LOOKED_AT: Cell<usize> = const { Cell::new(0) };
    }

    /// Counts what is looked at: time is no measure of it.
    pub(super) fn note_looked_at(bytes: usize) {
        LOOKED_AT.set(LOOKED_AT.get() + bytes);
    }

    #[test]
    fn every_byte_is_looked_at_once_whatever_comes() {
        for line in [": comment\n", "data\r", "\u{e9}", "data: {\r\n", "data: a\n\n", "x\r\n"] {
            let stream = line.repeat(20_000);
            for read in [1, 7, 1000] {
                LOOKED_AT.set(0);
                let reads: Vec<&[u8]> = stream.as_bytes().chunks(read).collect();
                messages(&reads);
                // A line end at the end of a read is looked at again with the next.
                assert!(LOOKED_AT.get() <= 3 * stream.len(), "{line:?} by {read}: {}", LOOKED_AT.get());
            }
        }
    }

    #[test]
    fn a_message_that_ends_a_stream_is_found_anywhere() {
        for yes in [
            "data: [DONE]\n\n: ping\n\n",
            "data: a\n\ndata:[DONE]",
            "\u{feff}data: [DONE]\n\n",
            "event: Error\ndata: x\n\n",
            "event: error\n\n",
            "data: {\"error\":1}\r\n\r\ndata: a",
            "data: { \"object\": \"error\", \"error\": \"lost\"}",
            "data: {\"error\":{\"message\":\"lost\",\"p\":NaN}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
            "data: {\"type\": \"response.completed\", \"response\": {}}\r\n\r\n",
            "event: response.incomplete\ndata: {\"response\":{},\"type\":\"response.incomplete\"}",
            "data: {\"error\":{\"message\":\"\"},\"choices\":[]}\n\n",
        ] {
            assert_eq!(search_end(yes.as_bytes()), ControlFlow::Break(()), "{yes:?}");
        }
    }

    #[test]
    fn what_ends_no_stream_need_not_be_searched_again_but_for_its_last_message() {
        for (whole, rest) in [
            ("", ""),
            ("data: {\"error\":null,\"choices\":[]}\n\n", "data: {\"error\":"),
            ("data: {\"error\":{},\"choices\":[]}\n\n", ""),
            ("data: {\"error\":null}\r\n\r\n", "event: error"),
            ("event: error_rate\ndata: 0.1\n\n", "event: error_rate\ndata: 0.1"),
            ("data: {\"a\":\"[DONE] event: error\"}\n\nevent: end\n\n", "data: [DONE"),
            ("data: {\"a\":{\"error\":1}}\n\n", "data: {\"error\":1,"),
            ("data: {\"type\":\"x\",\"delta\":\"message_stop response.completed\"}\n\n", "event: message_stop"),
        ] {
            let stream = format!("{whole}{rest}");
            assert_eq!(search_end(stream.as_bytes()), ControlFlow::Continue(whole.len()), "{stream:?}");
        }
    }

    #[test]
    fn the_last_event_of_a_stream_is_known_by_its_last_bytes() {
        for yes in [
            "data: [DONE]\n\n",
            "data:[DONE]\r\n\r\n",
            "...}\n\ndata: [DONE]",
            "0e\r\ndata: [DONE]\n",
            "{\"type\":\"message_stop\"}\n\n",
            "\"type\": \"message_stop\"}\r\n",
            ",\"type\":\"response.completed\"}\n\n",
        ] {
            assert!(ends_in_done(yes.as_bytes()), "{yes:?}");
        }
        for no in [
            "",
            "\n\n",
            "data: {\"a\":\"message_stop\"}]}\n\n",
            "{\"text\":\"\\\"message_stop\"}",
            "data: {\"a\":\"[DONE]\"}\n\n",
            "data: [DONE] \"}\n\n",
            "xdata: [DONE]\n\n",
            "[DONE]\n\n",
        ] {
            assert!(!ends_in_done(no.as_bytes()), "{no:?}");
        }
    }

    #[test]
    fn the_last_bytes_that_are_looked_at_show_every_last_event() {
        for end in LAST_ENDS {
            let stream = [b"data: {\"response\":{},", end].concat();
            assert!(ends_in_done(&stream[stream.len() - LONGEST_LAST..]), "{:?}", String::from_utf8_lossy(end));
        }
        assert!(ends_in_done(&b"x\r\ndata: [DONE]"[1..]));
    }

    fn messages(chunks: &[&[u8]]) -> Vec<(String, u64)> {
        let (mut splitter, mut out) = (Splitter::default(), Vec::new());
        for (i, chunk) in chunks.iter().enumerate() {
            splitter.feed(chunk, MonoNs(i as u64), |message, at| {
                out.push((String::from_utf8_lossy(message).into_owned(), at.0));
                true
            });
        }
        splitter.finish(MonoNs(99), |message, at| {
            out.push((String::from_utf8_lossy(message).into_owned(), at.0));
            true
        });
        out
    }

    #[test]
    fn the_read_that_completes_a_message_stamps_it() {
        let got = messages(&[b"data: a\n", b"\ndata: b\n\ndata: c"]);
        assert_eq!(got, [("data: a".into(), 1), ("data: b".into(), 1), ("data: c".into(), 99)]);
    }

    #[test]
    fn bare_carriage_returns_end_messages_at_once() {
        assert_eq!(messages(&[b"data: a\r\r", b"data: b\r\r"]), [("data: a".into(), 0), ("data: b".into(), 1)]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_in_any_reads() {
        let whole = b"\xef\xbb\xbfdata: a\n\n";
        for cut in 0..=whole.len() {
            let (first, second) = whole.split_at(cut);
            let texts: Vec<String> = messages(&[first, second]).into_iter().map(|(text, _)| text).collect();
            assert_eq!(texts, ["data: a"], "cut at {cut}");
        }
        let half = messages(&[b"\xef", b"data: a\n\n"]);
        assert_eq!(half, [("\u{fffd}data: a".into(), 1)]);
    }

    proptest! {
        #[test]
        fn the_short_way_to_the_data_is_no_other_way(
            message in "(event:|data:|id:| )?[ a-z{}:\r\n]{0,8}(\r\n|\n|\r)?(data:|event:| )?[ a-z{}:\r\n]{0,8}",
        ) {
            let message = message.trim().as_bytes();
            if let Some((name, short)) = plain(message) {
                let fields = fields(message);
                let of = |wanted: &str| fields.iter().filter(|(name, _)| name == wanted).count();
                prop_assert_eq!(of("data"), 1);
                let value = |wanted: &str| {
                    let field = fields.iter().find(|(name, _)| name == wanted);
                    field.and_then(|(_, value)| value.as_deref()).unwrap_or_default().as_bytes()
                };
                prop_assert_eq!(value("data"), short);
                prop_assert_eq!(value("event"), name);
                prop_assert_eq!(fields.len(), 1 + of("event"));
            }
        }

        #[test]
        fn any_split_gives_the_same_messages(
            lines in prop::collection::vec("(data: [a-z{}:\"]{0,12}|: ping|event: x|)", 0..20),
            end in prop::sample::select(vec!["\n", "\r\n"]),
            cuts in prop::collection::vec(1usize..9, 1..60),
        ) {
            let stream = lines.iter().map(|line| format!("{line}{end}")).collect::<String>() + end;
            let whole: Vec<String> = messages(&[stream.as_bytes()]).into_iter().map(|(text, _)| text).collect();
            let mut pieces = Vec::new();
            let mut rest = stream.as_bytes();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            let split: Vec<String> = messages(&pieces).into_iter().map(|(text, _)| text).collect();
            prop_assert_eq!(whole, split);
        }
    }
}
