//! What a read adds to an exchange.

use crate::budget::ResponseBudget;
use crate::framer::{FrameError, Framer};
use aiperf_types::{Exchange, Failure, MonoNs, Read};
use std::rc::Rc;
use std::sync::Arc;

/// Reads of a body that is not kept: more of them become one.
const MOST_DROPPED: usize = 4096;

/// Bytes that a response may hold without asking what others hold. Nearly all responses are smaller, and a large one
/// asks again only when it holds as much more.
const FREE: usize = 1 << 20;

/// The budget of all workers, as one of them has it: requests share it without touching what other threads touch.
pub(crate) type LocalBudget = Rc<Arc<ResponseBudget>>;

/// What is kept of a response.
#[derive(Debug)]
pub struct Retention {
    /// So many bytes, the list of reads among them.
    limit: usize,
    /// Of a 2xx response, the head alone.
    pub drops_body: bool,
    /// What it may hold without asking again.
    granted: usize,
    share: Option<Share>,
}

/// What a response took of the budget; it goes back when the response is complete or dropped.
#[derive(Debug)]
struct Share {
    budget: LocalBudget,
    taken: usize,
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.taken > 0 {
            self.budget.give_back(self.taken);
        }
    }
}

impl Retention {
    /// All of it, up to a limit.
    pub fn up_to(limit: usize) -> Self {
        Self { limit, drops_body: false, granted: usize::MAX, share: None }
    }

    /// The same, as far as other responses in flight leave room.
    #[must_use]
    pub(crate) fn within(self, budget: Option<LocalBudget>) -> Self {
        let granted = if budget.is_some() { FREE } else { usize::MAX };
        Self { granted, share: budget.map(|budget| Share { budget, taken: 0 }), ..self }
    }

    /// The same for another response.
    pub(crate) fn another(&self) -> Self {
        let budget = self.share.as_ref().map(|share| share.budget.clone());
        Self { drops_body: self.drops_body, ..Self::up_to(self.limit).within(budget) }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Whether what it takes is missing to other responses.
    pub(crate) fn is_shared(&self) -> bool {
        self.share.is_some()
    }

    /// Of a 2xx response, the head alone.
    #[must_use]
    pub fn dropping_bodies(self) -> Self {
        Self { drops_body: true, ..self }
    }

    /// Whether a response may hold so many bytes in a buffer of this length. A read of one byte takes more room than
    /// the byte: both count.
    #[inline]
    pub(crate) fn admit(&mut self, filled: usize, buffer: usize, reads: &[Read]) -> Result<(), Failure> {
        let list = size_of_val(reads);
        if filled + list > self.limit {
            return Err(Failure::TooLarge { limit: self.limit });
        }
        let held = buffer.max(filled) + list;
        if held <= self.granted { Ok(()) } else { self.ask(held) }
    }

    #[cold]
    fn ask(&mut self, held: usize) -> Result<(), Failure> {
        let Some(share) = &mut self.share else { return Ok(()) };
        let more = held + FREE - self.granted;
        if !share.budget.take(more) {
            return Err(Failure::NoRoom { limit: share.budget.limit() });
        }
        share.taken += more;
        self.granted += more;
        Ok(())
    }

    /// Whether the body of this response is counted and not kept.
    pub(crate) fn drops(&self, exchange: &Exchange) -> bool {
        self.drops_body && matches!(exchange.status, Some(200..300))
    }
}

/// Feeds the framer a read, whose bytes lie behind those recorded so far, and adds it to the timeline, without what
/// came after the end of the message. What does not fit into the limit is counted and not kept, and nothing that comes
/// after it either: what is kept has no gap.
#[inline]
pub fn record_read(
    mut read: Read,
    exchange: &mut Exchange,
    framer: &mut Framer,
    kept: &mut Retention,
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
    // Over TLS, the bytes of one read may come out in several pieces.
    let is_another = timeline.reads.last().is_none_or(|last| last.at != read.at || last.lag != read.lag);
    if in_body {
        timeline.body_reads += u32::from(is_another || timeline.body_reads == 0);
        if timeline.body_start == MonoNs::default() {
            timeline.body_start = read.at;
        }
    }
    let has_gap = matches!(exchange.failure, Some(Failure::TooLarge { .. } | Failure::NoRoom { .. }));
    if in_body && kept.drops(exchange) {
        exchange.raw_len = exchange.body_at;
        note_dropped(read, is_another, &mut exchange.timeline.reads);
        return fed;
    }
    match kept.admit(filled, exchange.raw.len(), &exchange.timeline.reads) {
        Ok(()) if has_gap => {}
        Ok(()) => {
            let timeline = &mut exchange.timeline;
            exchange.raw_len = filled;
            match timeline.reads.last_mut() {
                Some(last) if !is_another => last.len += read.len,
                _ => timeline.reads.push(read),
            }
        }
        Err(failure) => {
            exchange.failure.get_or_insert(failure);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn record(exchange: &mut Exchange, framer: &mut Framer, bytes: &[u8], kept: &mut Retention) {
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
        let kept = &mut Retention::up_to(limit);
        record(&mut exchange, &mut framer, head, kept);
        record(&mut exchange, &mut framer, &[b'x'; 300], kept);
        record(&mut exchange, &mut framer, b"behind", kept);
        assert!(framer.is_done());
        assert_eq!((exchange.raw_len, exchange.timeline.reads.len()), (head.len(), 1));
        assert_eq!(exchange.timeline.bytes_received, head.len() as u64 + 306);
        assert!(matches!(exchange.failure, Some(Failure::TooLarge { limit: named }) if named == limit));
    }

    #[test]
    fn a_body_that_is_dropped_is_framed_and_counted_whatever_its_length() {
        let (mut exchange, mut framer) = (Exchange::default(), Framer::default());
        let start = b"HTTP/1.1 200 OK\r\nContent-Length: 5003\r\n\r\nabc";
        let kept = &mut Retention::up_to(64).dropping_bodies();
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
    fn of_a_response_that_is_none_everything_is_kept() {
        let (mut exchange, mut framer) = (Exchange::default(), Framer::default());
        let response = b"HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nabc";
        record(&mut exchange, &mut framer, response, &mut Retention::up_to(1 << 20).dropping_bodies());
        assert_eq!(crate::body::collect(&exchange), b"abc");
    }

    fn within(budget: &Arc<ResponseBudget>) -> Retention {
        Retention::up_to(usize::MAX).within(Some(Rc::new(budget.clone())))
    }

    #[test]
    fn responses_of_less_than_a_megabyte_need_no_budget() {
        let budget = Arc::new(ResponseBudget::new(0));
        let mut kept = within(&budget);
        assert_eq!((kept.admit(FREE, FREE, &[]), budget.held()), (Ok(()), 0));
        assert_eq!(kept.admit(FREE + 1, FREE, &[]), Err(Failure::NoRoom { limit: 0 }));
    }

    #[test]
    fn large_responses_share_the_room_there_is_and_give_it_back() {
        let budget = Arc::new(ResponseBudget::new(10 * FREE));
        let (mut first, mut second) = (within(&budget), within(&budget));
        assert_eq!(first.admit(2 * FREE, 8 * FREE, &[]), Ok(()), "the buffer counts, not what is in it");
        assert_eq!(budget.held(), 8 * FREE);
        assert_eq!(second.admit(2 * FREE, 2 * FREE, &[]), Ok(()));
        assert_eq!(second.admit(4 * FREE, 4 * FREE, &[]), Err(Failure::NoRoom { limit: 10 * FREE }));
        drop(first);
        assert_eq!((second.admit(4 * FREE, 4 * FREE, &[]), budget.held()), (Ok(()), 4 * FREE));
        drop(second);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn a_list_of_reads_takes_room_as_bytes_do() {
        let budget = Arc::new(ResponseBudget::new(0));
        let reads = vec![Read::default(); FREE / size_of::<Read>() + 1];
        let (fitting, all) = (&reads[1..], &reads[..]);
        assert!(within(&budget).admit(0, 0, fitting).is_ok() && within(&budget).admit(0, 0, all).is_err());
        let rest = FREE - size_of_val(fitting);
        assert!(within(&budget).admit(rest + 1, rest + 1, fitting).is_err(), "bytes and reads together");
    }
}
