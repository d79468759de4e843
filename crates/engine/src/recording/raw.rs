//! The exchange as sent and received, for raw files. Made only if the plan has one.

use crate::recording::http_trace::fields;
use aiperf_dialect::sse;
use aiperf_plan::redact::Redactor;
use aiperf_transport::encoding::{self, Decoded};
use aiperf_transport::{body, charset};
use aiperf_types::{Exchange, MonoNs, RawBody, RawEvents, RawExchange, RawResponse};
use std::borrow::Cow;

/// The most messages of one stream that are kept. Later ones are left out, and the line reports that. An empty message
/// is one byte of a response and a hundred bytes of a file.
const MOST_EVENTS: u32 = 2_000_000;

/// Request head and response, without secrets. A compressed body is decoded, up to `limit` bytes.
pub(crate) fn raw_exchange(exchange: &Exchange, limit: usize, redactor: &Redactor) -> RawExchange {
    let mut request_headers = (!exchange.request_head.is_empty()).then(|| fields(&exchange.request_head));
    request_headers.iter_mut().for_each(|fields| redactor.headers(fields));
    RawExchange { request_headers, response: response(exchange, limit, redactor) }
}

fn response(exchange: &Exchange, limit: usize, redactor: &Redactor) -> RawResponse {
    // The body of any other status is the text of the record's error.
    if !exchange.is_success() {
        return RawResponse::None;
    }
    let Decoded { exchange: plain, failure } = encoding::decode(exchange, limit);
    let is_whole = exchange.failure.is_none() && failure.is_none();
    if body::is_event_stream(&plain) {
        return RawResponse::Events(events(&plain, is_whole, MOST_EVENTS, redactor));
    }
    let bytes = body::collect(&plain);
    let is_binary = charset::declares_bytes(&plain);
    // An incomplete body is left out. A body that was only counted, such as a video, has no bytes.
    if !is_whole || (is_binary && bytes.is_empty()) {
        return RawResponse::None;
    }
    let body = if is_binary { RawBody::Bytes(bytes) } else { text_body(&plain, bytes, redactor) };
    RawResponse::Body { at: plain.timeline.end, content_type: body::media_type(&plain), body }
}

/// A body as text of its declared charset, or as bytes if it is not valid in it.
fn text_body(exchange: &Exchange, bytes: Vec<u8>, redactor: &Redactor) -> RawBody {
    let converted = match charset::text(exchange, &bytes) {
        Ok(Cow::Owned(text)) => Some(text),
        Ok(Cow::Borrowed(_)) | Err(_) => None,
    };
    match String::from_utf8(converted.unwrap_or(bytes)) {
        Ok(text) => RawBody::Text(match redactor.hide(&text) {
            Cow::Owned(hidden) => hidden,
            Cow::Borrowed(_) => text,
        }),
        Err(error) => RawBody::Bytes(error.into_bytes()),
    }
}

/// Every message up to a limit, even those after an error and those of a stream that broke off.
fn events(exchange: &Exchange, is_whole: bool, most: u32, redactor: &Redactor) -> RawEvents {
    let mut events = RawEvents::with_room(exchange.raw_len.saturating_sub(exchange.body_at));
    let mut taken = 0;
    let mut take = |message: &[u8], at: MonoNs| {
        taken += 1;
        if taken > most {
            events.is_cut = true;
            return false;
        }
        events.begin(at);
        match sse::bare_data(message) {
            Some(data) => events.push("data", Some(&redactor.hide(&sse::readable(data)))),
            None => sse::each_field(message).for_each(|(name, value)| {
                let value = value.as_deref().map(|value| redactor.hide(value));
                events.push(&redactor.hide(&name), value.as_deref());
            }),
        }
        true
    };
    let (mut splitter, mut on) = (sse::Splitter::default(), true);
    body::for_each_span(exchange, |read, span| on = on && splitter.feed(span, read.at, &mut take));
    // Where a stream broke off, what is left of it is half a message.
    if on && is_whole {
        splitter.finish(exchange.timeline.end, &mut take);
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::{Failure, Read};

    const SECRET: &str = "sk-live-1234567";
    const STREAM: &str = "Content-Type: text/event-stream; charset=utf-8\r\n";

    /// A response that came in these reads, at 10, 20 and so on.
    fn answered(status: u16, fields: &str, body: &[&[u8]]) -> Exchange {
        let head = format!("HTTP/1.1 {status} OK\r\n{fields}\r\n").into_bytes();
        let body_at = head.len();
        let mut exchange = Exchange { status: Some(status), body_at, raw: head, ..Exchange::default() };
        let add = |exchange: &mut Exchange, len: usize, at: u64| {
            exchange.timeline.reads.push(Read { at: MonoNs(at), lag: 0, len: len as u32, ..Default::default() });
            exchange.timeline.end = MonoNs(at);
        };
        add(&mut exchange, body_at, 1);
        for (index, piece) in body.iter().enumerate() {
            exchange.raw.extend_from_slice(piece);
            add(&mut exchange, piece.len(), 10 * (index as u64 + 1));
        }
        exchange.raw_len = exchange.raw.len();
        exchange.request_head =
            format!("POST / HTTP/1.1\r\nHost: h\r\nX-Api-Key: other\r\nX-Note: a {SECRET} b\r\n\r\n").into_bytes();
        exchange
    }

    fn raw(exchange: &Exchange) -> RawExchange {
        raw_exchange(exchange, 1 << 20, &Redactor::new([SECRET.to_owned()]))
    }

    type Message = (u64, Vec<(String, Option<String>)>);

    fn messages(exchange: &Exchange) -> Vec<Message> {
        let RawResponse::Events(events) = raw(exchange).response else { panic!("no stream") };
        let field = |(name, value): (&str, Option<&str>)| (name.to_owned(), value.map(str::to_owned));
        events.iter().map(|(at, fields)| (at.0, fields.map(field).collect())).collect()
    }

    fn data(at: u64, value: &str) -> Message {
        (at, vec![("data".to_owned(), Some(value.to_owned()))])
    }

    #[test]
    fn a_message_has_the_instant_of_the_read_that_completed_it() {
        let exchange = answered(200, STREAM, &[b"data: a\n\nda", b"ta: {\"b\":", b"1}\n", b"\ndata: [DONE]\n\n"]);
        assert_eq!(messages(&exchange), [data(10, "a"), data(40, "{\"b\":1}"), data(40, "[DONE]")]);
    }

    #[test]
    fn a_stream_of_more_messages_than_are_kept_is_marked_as_cut() {
        let exchange = answered(200, STREAM, &[b"data: a\n\ndata: b\n\n", b"data: c\n\n"]);
        for (most, kept, is_cut) in [(2, 2, true), (3, 3, false)] {
            let events = events(&exchange, true, most, &Redactor::default());
            assert_eq!((events.iter().count(), events.is_cut), (kept, is_cut));
        }
    }

    #[test]
    fn every_field_of_a_message_is_kept_in_order() {
        let exchange =
            answered(200, STREAM, &[b": ping\n\nevent: x\nid:7\nretry: 10\nodd: y\ndata\ndata: a\ndata: b\n\n"]);
        let comment = (10, vec![("comment".to_owned(), Some("ping".to_owned()))]);
        let fields = [
            ("event", Some("x")),
            ("id", Some("7")),
            ("retry", Some("10")),
            ("odd", Some("y")),
            ("data", None),
            ("data", Some("a")),
            ("data", Some("b")),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.map(str::to_owned))).to_vec();
        assert_eq!(messages(&exchange), [comment, (10, fields)]);
    }

    #[test]
    fn chunks_and_compression_are_undone() {
        let mut exchange =
            answered(200, STREAM, &[b"9\r\ndata: a\n\n\r\n4\r\ndata\r\n", b"6\r\n: b\n\n!\r\n0\r\n\r\n"]);
        exchange.chunked = true;
        assert_eq!(messages(&exchange), [data(10, "a"), data(20, "b"), (20, vec![("!".to_owned(), None)])]);
        // `gzip -n` of "data: a\n\n".
        let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xffKI,I\xb4RH\xe4\xe2\x02\x00~\xe3\xc48\t\x00\x00\x00";
        let exchange = answered(200, &format!("{STREAM}Content-Encoding: gzip\r\n"), &[&gzip[..12], &gzip[12..]]);
        assert_eq!(messages(&exchange), [data(20, "a")]);
    }

    #[test]
    fn a_stream_that_broke_off_keeps_what_was_whole() {
        let mut exchange = answered(200, STREAM, &[b"data: a\n\ndata: {\"ha"]);
        exchange.failure = Some(Failure::Disconnected);
        assert_eq!(messages(&exchange), [data(10, "a")]);
        exchange.failure = None;
        assert_eq!(messages(&exchange), [data(10, "a"), data(10, "{\"ha")], "a stream that ended is complete");
    }

    #[test]
    fn an_error_in_a_stream_ends_nothing() {
        let exchange = answered(200, STREAM, &[b"data: {\"error\":\"x\"}\n\ndata: after\n\n"]);
        assert_eq!(messages(&exchange).len(), 2);
    }

    #[test]
    fn what_is_no_success_or_not_whole_has_no_response() {
        let json = "Content-Type: application/json\r\n";
        let mut cut = answered(200, json, &[b"{\"a\":"]);
        cut.failure = Some(Failure::Disconnected);
        let never_sent = Exchange { failure: Some(Failure::NeverBegun), ..Exchange::default() };
        for exchange in [answered(500, json, &[b"{}"]), answered(500, STREAM, &[b"data: a\n\n"]), cut] {
            assert_eq!(raw(&exchange).response, RawResponse::None);
            assert!(raw(&exchange).request_headers.is_some());
        }
        assert_eq!(raw(&never_sent), RawExchange::default());
    }

    #[test]
    fn a_body_is_text_in_its_charset_or_else_bytes() {
        for (fields, body, content_type, wanted) in [
            ("Content-Type: Application/JSON; charset=utf-8\r\n", &b"{}"[..], "application/json", Some("{}")),
            ("Content-Type: text/plain; charset=latin-1\r\n", b"\xe9", "text/plain", Some("\u{e9}")),
            ("Content-Type: text/plain\r\n", b"\xe9", "text/plain", None),
            ("Content-Type: image/png\r\n", b"abc", "image/png", None),
            ("", b"abc", "application/octet-stream", Some("abc")),
            ("Content-Type: text/plain\r\n", b"", "text/plain", Some("")),
        ] {
            let body_of = wanted.map_or(RawBody::Bytes(body.to_vec()), |text| RawBody::Text(text.to_owned()));
            let wanted = RawResponse::Body { at: MonoNs(10), content_type: content_type.to_owned(), body: body_of };
            assert_eq!(raw(&answered(200, fields, &[body])).response, wanted, "{fields}");
        }
    }

    #[test]
    fn secrets_are_hidden_in_headers_and_responses() {
        let text = format!("event: {SECRET}\ndata: {{\"key\": \"{SECRET}\"}}\n\ndata: {SECRET}\n\n{SECRET}\n\n");
        let streamed = raw(&answered(200, STREAM, &[text.as_bytes()]));
        let whole = raw(&answered(200, "Content-Type: application/json\r\n", &[text.as_bytes()]));
        for raw in [streamed, whole] {
            let shown = format!("{raw:?}");
            assert!(!shown.contains(SECRET) && !shown.contains("other") && shown.contains("a <redacted> b"), "{shown}");
        }
    }
}
