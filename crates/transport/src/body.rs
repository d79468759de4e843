//! A finished exchange's body: framing removed, each span with the read that brought it.

use crate::framer::ChunkDecoder;
use aiperf_types::{Exchange, Read};

/// Visits the body of an exchange in order: every read that brought bytes of it, and each span of data in that read.
/// Stops early where the framing breaks; what came before has been visited.
pub fn for_each_span<'a>(exchange: &'a Exchange, mut visit: impl FnMut(&Read, &'a [u8])) {
    let raw = &exchange.raw[..exchange.raw_len.min(exchange.raw.len())];
    let mut decoder = exchange.chunked.then(ChunkDecoder::default);
    let mut start = 0;
    for read in &exchange.timeline.reads {
        let end = (start + read.len as usize).min(raw.len());
        let from = start.max(exchange.body_at).min(end);
        let bytes = &raw[from..end];
        start = end;
        if bytes.is_empty() {
            continue;
        }
        match &mut decoder {
            None => visit(read, bytes),
            Some(decoder) => {
                if decoder.feed(bytes, |span| visit(read, span)).is_err() {
                    return;
                }
            }
        }
    }
}

/// The whole body as one piece.
pub fn collect(exchange: &Exchange) -> Vec<u8> {
    let mut body = Vec::with_capacity(exchange.raw_len.saturating_sub(exchange.body_at));
    for_each_span(exchange, |_, span| body.extend_from_slice(span));
    body
}

/// A header field of the response, by lower-case name.
pub fn header<'a>(exchange: &'a Exchange, name: &str) -> Option<&'a str> {
    head_lines(exchange).skip(1).find_map(|line| {
        let (field, value) = line.split_once(':')?;
        field.trim().eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// The reason phrase of the status line; empty where there is none.
pub fn reason(exchange: &Exchange) -> &str {
    let line = head_lines(exchange).next().unwrap_or_default();
    line.splitn(3, ' ').nth(2).unwrap_or_default().trim()
}

fn head_lines(exchange: &Exchange) -> impl Iterator<Item = &str> {
    let head = std::str::from_utf8(&exchange.raw[exchange.head_at..exchange.body_at]).unwrap_or_default();
    head.split("\r\n")
}
