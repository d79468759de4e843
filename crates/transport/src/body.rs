//! A finished exchange's body: framing removed, each span with the read that delivered it.

use crate::framer::ChunkDecoder;
use aiperf_types::{Exchange, Read};
use std::borrow::Cow;

/// How far the body of an exchange has been visited: more of it may come.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    /// Reads that were visited whole.
    reads: usize,
    /// Bytes of the next one that were visited: one that came over TLS may grow.
    within: usize,
    /// Where in the exchange's bytes the next one starts.
    start: usize,
    decoder: ChunkDecoder,
    is_broken: bool,
}

impl Cursor {
    /// Visits what came since the last time, in order: every read with bytes of the body, and each span of data
    /// in that read. Stops where the framing breaks, for good.
    pub fn visit<'a>(&mut self, exchange: &'a Exchange, mut visit: impl FnMut(&Read, &'a [u8])) {
        let raw = &exchange.raw[..exchange.raw_len.min(exchange.raw.len())];
        let reads = &exchange.timeline.reads;
        while let Some(read) = reads.get(self.reads).filter(|_| !self.is_broken) {
            let len = read.len as usize;
            let end = (self.start + len).min(raw.len());
            let from = (self.start + self.within).max(exchange.body_at).min(end);
            let bytes = &raw[from..end];
            if !bytes.is_empty() {
                match exchange.chunked {
                    false => visit(read, bytes),
                    true => self.visit_chunks(read, bytes, &mut visit),
                }
            }
            if self.reads + 1 == reads.len() {
                self.within = len;
                return;
            }
            self.start = end;
            self.within = 0;
            self.reads += 1;
        }
    }

    /// Visits the data of chunks. The last span of a read is followed if there is more than the end of its own chunk.
    fn visit_chunks<'a>(&mut self, read: &Read, bytes: &'a [u8], visit: &mut impl FnMut(&Read, &'a [u8])) {
        let mut last: Option<&'a [u8]> = None;
        let fed = self.decoder.feed(bytes, |span| {
            if let Some(earlier) = last.replace(span) {
                visit(read, earlier);
            }
        });
        self.is_broken = fed.is_err();
        if let Some(span) = last {
            let behind = bytes.as_ptr_range().end as usize - span.as_ptr_range().end as usize;
            visit(&Read { is_followed: read.is_followed || behind > CHUNK_END.len(), ..*read }, span);
        }
    }
}

/// What ends the data of a chunk.
const CHUNK_END: &[u8] = b"\r\n";

/// Visits the body of an exchange in order: every read with bytes of it, and each span of data in that read.
/// Stops early where the framing breaks; what came before has been visited.
pub fn for_each_span<'a>(exchange: &'a Exchange, visit: impl FnMut(&Read, &'a [u8])) {
    Cursor::default().visit(exchange, visit);
}

/// The whole body as one piece.
pub fn collect(exchange: &Exchange) -> Vec<u8> {
    let mut body = Vec::with_capacity(exchange.raw_len.saturating_sub(exchange.body_at));
    for_each_span(exchange, |_, span| body.extend_from_slice(span));
    body
}

/// A header field of the response, by name. Bytes that are not UTF-8 are replaced, and change no other field.
pub fn header<'a>(exchange: &'a Exchange, name: &str) -> Option<Cow<'a, str>> {
    headers(exchange, name).next()
}

/// Every header field of that name, in order.
pub fn headers<'a>(exchange: &'a Exchange, name: &str) -> impl Iterator<Item = Cow<'a, str>> {
    head_lines(exchange).skip(1).filter_map(move |line| {
        let (field, value) = line.split_at(memchr::memchr(b':', line)?);
        let is_it = field.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
        is_it.then(|| String::from_utf8_lossy(value[1..].trim_ascii()))
    })
}

/// Every header field, in order.
pub fn fields(exchange: &Exchange) -> impl Iterator<Item = (String, String)> {
    head_lines(exchange).skip(1).filter_map(|line| {
        let (field, value) = line.split_at(memchr::memchr(b':', line)?);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
        Some((text(field), text(&value[1..])))
    })
}

/// A parameter of the response's content type, in lower case and without quotes.
pub fn content_parameter(exchange: &Exchange, name: &str) -> Option<String> {
    let full = header(exchange, "content-type")?;
    full.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        let is_it = key.trim().eq_ignore_ascii_case(name);
        is_it.then(|| value.trim().trim_matches(['"', '\'']).to_ascii_lowercase())
    })
}

/// The media type of the response, without parameters; what has none is taken for bytes.
pub fn media_type(exchange: &Exchange) -> String {
    let full = header(exchange, "content-type").unwrap_or("application/octet-stream".into());
    full.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether the body is a stream of server-sent events.
pub fn is_event_stream(exchange: &Exchange) -> bool {
    header(exchange, "content-type").is_some_and(|full| {
        let named = full.split(';').next().unwrap_or_default();
        named.trim().eq_ignore_ascii_case("text/event-stream")
    })
}

/// The reason phrase of the status line; empty where there is none.
pub fn reason(exchange: &Exchange) -> Cow<'_, str> {
    let line = head_lines(exchange).next().unwrap_or_default();
    String::from_utf8_lossy(line.splitn(3, |&b| b == b' ').nth(2).unwrap_or_default().trim_ascii())
}

/// Found by vector: a look at each byte took 3% of the time of a record.
fn head_lines(exchange: &Exchange) -> impl Iterator<Item = &[u8]> {
    let mut rest = exchange.raw.get(exchange.head_at..exchange.body_at);
    std::iter::from_fn(move || {
        let lines = rest.take()?;
        let end = memchr::memchr(b'\n', lines);
        rest = end.map(|end| &lines[end + 1..]);
        Some(lines[..end.unwrap_or(lines.len())].trim_ascii())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::MonoNs;

    fn exchange(head: &[u8]) -> Exchange {
        Exchange { raw: head.to_vec(), raw_len: head.len(), body_at: head.len(), ..Exchange::default() }
    }

    #[test]
    fn a_byte_of_latin_1_hides_no_header() {
        let exchange =
            exchange(b"HTTP/1.1 200 D\xe9j\xe0 vu\r\nX: \xe9\r\nContent-Type: Text/Event-Stream; a=b\r\n\r\n");
        assert!(is_event_stream(&exchange));
        assert_eq!(reason(&exchange), "D\u{fffd}j\u{fffd} vu");
        assert_eq!(header(&exchange, "x").as_deref(), Some("\u{fffd}"));
    }
    #[test]
    fn a_span_is_followed_if_a_read_holds_more_than_the_end_of_its_chunk() {
        let followed = |reads: &[&[u8]]| {
            let mut exchange = exchange(b"");
            exchange.chunked = true;
            for (number, bytes) in reads.iter().enumerate() {
                let at = MonoNs(number as u64 + 1);
                exchange.timeline.reads.push(Read { at, len: bytes.len() as u32, ..Read::default() });
                exchange.raw.extend_from_slice(bytes);
            }
            exchange.raw_len = exchange.raw.len();
            let mut found = Vec::new();
            for_each_span(&exchange, |read, _| found.push(read.is_followed));
            found
        };
        assert_eq!(followed(&[b"2\r\nab\r\n", b"2\r\nab", b"\r\n0\r\n\r\n"]), [false, false]);
        assert_eq!(followed(&[b"2\r\nab\r\n0\r\n\r\n"]), [true], "the end of the response");
        assert_eq!(followed(&[b"2\r\nab\r\n2", b"\r\nab\r\n2\r\nab\r\n"]), [true, false, false], "a part of the next");
    }
}
