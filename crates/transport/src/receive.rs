//! What a read adds to an exchange.

use crate::framer::{FrameError, Framer};
use aiperf_types::{Exchange, Failure, MonoNs, Read};

/// Tells the framer of a read, whose bytes lie behind those recorded so far, and adds it to the timeline, without what
/// came after the end of the message. What does not fit into `kept_limit` bytes is counted and not kept, and nothing
/// that comes after it either: what is kept has no gap.
#[inline]
pub fn record_read(
    mut read: Read,
    exchange: &mut Exchange,
    framer: &mut Framer,
    kept_limit: usize,
) -> Result<(), FrameError> {
    let had_head = framer.head().is_some();
    let came = read.len as usize;
    let fed = framer.feed(&exchange.raw[..exchange.raw_len + came], came);
    let len = came - framer.surplus();
    read.len = len as u32;
    let filled = exchange.raw_len + len;
    let timeline = &mut exchange.timeline;
    timeline.bytes_received += len as u64;
    let mut in_body = had_head;
    if !had_head && let Some(head) = framer.head() {
        timeline.head = read.at;
        in_body = filled > head.len;
        exchange.status = Some(head.status);
        exchange.head_at = head.start;
        exchange.body_at = head.len;
        exchange.chunked = head.chunked;
    }
    // Over TLS, what one read brought may come out in several pieces.
    let is_another = timeline.reads.last().is_none_or(|last| last.at != read.at || last.lag != read.lag);
    if in_body {
        timeline.body_reads += u32::from(is_another || timeline.body_reads == 0);
        if timeline.body_start == MonoNs::default() {
            timeline.body_start = read.at;
        }
    }
    let has_gap = matches!(exchange.failure, Some(Failure::TooLarge { .. }));
    if !has_gap && fits(filled, &timeline.reads, kept_limit) {
        exchange.raw_len = filled;
        match timeline.reads.last_mut() {
            Some(last) if !is_another => last.len += read.len,
            _ => timeline.reads.push(read),
        }
    } else {
        exchange.failure.get_or_insert(Failure::TooLarge { limit: kept_limit });
    }
    fed
}

/// Whether so many bytes of an answer may be kept. A read of one byte takes more room than the byte: both count.
#[inline]
pub(crate) fn fits(filled: usize, reads: &[Read], kept_limit: usize) -> bool {
    filled + size_of_val(reads) <= kept_limit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(exchange: &mut Exchange, framer: &mut Framer, bytes: &[u8], kept_limit: usize) {
        exchange.raw.truncate(exchange.raw_len);
        exchange.raw.extend_from_slice(bytes);
        let at = MonoNs(exchange.timeline.bytes_received + 1);
        let read = Read { at, len: bytes.len() as u32, ..Read::default() };
        record_read(read, exchange, framer, kept_limit).expect("bytes of a message");
    }

    #[test]
    fn nothing_is_kept_behind_bytes_that_did_not_fit() {
        let (mut exchange, mut framer) = (Exchange::default(), Framer::default());
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 306\r\n\r\n";
        let limit = head.len() + 100;
        record(&mut exchange, &mut framer, head, limit);
        record(&mut exchange, &mut framer, &[b'x'; 300], limit);
        record(&mut exchange, &mut framer, b"behind", limit);
        assert!(framer.is_done());
        assert_eq!((exchange.raw_len, exchange.timeline.reads.len()), (head.len(), 1));
        assert_eq!(exchange.timeline.bytes_received, head.len() as u64 + 306);
        assert!(matches!(exchange.failure, Some(Failure::TooLarge { limit: told }) if told == limit));
    }
}
