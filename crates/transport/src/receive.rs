//! What a read adds to an exchange.

use crate::framer::{FrameError, Framer};
use aiperf_types::{Exchange, Failure, MonoNs, Read};

/// Reads of a body that is not kept: more of them become one.
const MOST_DROPPED: usize = 4096;

/// What is kept of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// So many bytes, the list of reads among them.
    pub limit: usize,
    /// Of a 2xx answer, the head alone.
    pub drops_body: bool,
}

impl Kept {
    /// All of it, up to a limit.
    pub fn up_to(limit: usize) -> Self {
        Self { limit, drops_body: false }
    }

    /// Whether the body of this answer is counted and not kept.
    pub(crate) fn drops(self, exchange: &Exchange) -> bool {
        self.drops_body && matches!(exchange.status, Some(200..300))
    }
}

/// Tells the framer of a read, whose bytes lie behind those recorded so far, and adds it to the timeline, without what
/// came after the end of the message. What does not fit into the limit is counted and not kept, and nothing that comes
/// after it either: what is kept has no gap.
#[inline]
pub fn record_read(mut read: Read, exchange: &mut Exchange, framer: &mut Framer, kept: Kept) -> Result<(), FrameError> {
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
    if in_body && kept.drops(exchange) {
        exchange.raw_len = exchange.body_at;
        note_dropped(read, is_another, &mut exchange.timeline.reads);
    } else if !has_gap && fits(filled, &exchange.timeline.reads, kept.limit) {
        let timeline = &mut exchange.timeline;
        exchange.raw_len = filled;
        match timeline.reads.last_mut() {
            Some(last) if !is_another => last.len += read.len,
            _ => timeline.reads.push(read),
        }
    } else {
        exchange.failure.get_or_insert(Failure::TooLarge { limit: kept.limit });
    }
    fed
}

/// Adds a read of a body that is not kept: how many there may be is the server's choice.
pub(crate) fn note_dropped(read: Read, is_another: bool, reads: &mut Vec<Read>) {
    let is_room = reads.len() < MOST_DROPPED;
    match reads.last_mut() {
        Some(last) if !is_another || !is_room => {
            *last = Read { len: last.len.saturating_add(read.len), ..read };
        }
        _ => reads.push(read),
    }
}

/// Whether so many bytes of an answer may be kept. A read of one byte takes more room than the byte: both count.
#[inline]
pub(crate) fn fits(filled: usize, reads: &[Read], kept_limit: usize) -> bool {
    filled + size_of_val(reads) <= kept_limit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(exchange: &mut Exchange, framer: &mut Framer, bytes: &[u8], kept: Kept) {
        exchange.raw.truncate(exchange.raw_len);
        exchange.raw.extend_from_slice(bytes);
        let at = MonoNs(exchange.timeline.bytes_received + 1);
        let read = Read { at, len: bytes.len() as u32, ..Read::default() };
        record_read(read, exchange, framer, kept).expect("bytes of a message");
    }

    #[test]
    fn nothing_is_kept_behind_bytes_that_did_not_fit() {
        let (mut exchange, mut framer) = (Exchange::default(), Framer::default());
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 306\r\n\r\n";
        let limit = head.len() + 100;
        let kept = Kept::up_to(limit);
        record(&mut exchange, &mut framer, head, kept);
        record(&mut exchange, &mut framer, &[b'x'; 300], kept);
        record(&mut exchange, &mut framer, b"behind", kept);
        assert!(framer.is_done());
        assert_eq!((exchange.raw_len, exchange.timeline.reads.len()), (head.len(), 1));
        assert_eq!(exchange.timeline.bytes_received, head.len() as u64 + 306);
        assert!(matches!(exchange.failure, Some(Failure::TooLarge { limit: told }) if told == limit));
    }

    #[test]
    fn a_body_that_is_dropped_is_framed_and_counted_whatever_its_length() {
        let (mut exchange, mut framer) = (Exchange::default(), Framer::default());
        let start = b"HTTP/1.1 200 OK\r\nContent-Length: 5003\r\n\r\nabc";
        let kept = Kept { limit: 64, drops_body: true };
        record(&mut exchange, &mut framer, start, kept);
        (0..5000).for_each(|_| record(&mut exchange, &mut framer, b"x", kept));
        assert!(framer.is_done() && exchange.failure.is_none());
        assert_eq!((exchange.raw_len, exchange.timeline.body_reads), (start.len() - 3, 5001));
        assert_eq!(exchange.timeline.bytes_received, start.len() as u64 + 5000);
        let reads = &exchange.timeline.reads;
        assert_eq!(
            (reads.len(), reads.last().map(|read| read.at)),
            (MOST_DROPPED, Some(MonoNs(start.len() as u64 + 5000)))
        );
        let mut spans = 0;
        crate::body::for_each_span(&exchange, |_, _| spans += 1);
        assert_eq!(spans, 0);
    }

    #[test]
    fn of_an_answer_that_is_none_everything_is_kept() {
        let (mut exchange, mut framer) = (Exchange::default(), Framer::default());
        let answer = b"HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nabc";
        record(&mut exchange, &mut framer, answer, Kept { limit: 1 << 20, drops_body: true });
        assert_eq!(crate::body::collect(&exchange), b"abc");
    }
}
