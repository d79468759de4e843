//! What a read adds to an exchange.

use crate::framer::{FrameError, Framer};
use aiperf_types::{Exchange, Failure, MonoNs, Read};

/// Tells the framer of a read, whose bytes lie behind those recorded so far, and adds it to the timeline, without what
/// came after the end of the message. What does not fit into `kept_limit` bytes is counted and not kept.
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
    if in_body {
        timeline.body_reads += 1;
        if timeline.body_start == MonoNs::default() {
            timeline.body_start = read.at;
        }
    }
    // A read of one byte takes more room than the byte: both count.
    if filled + timeline.reads.len() * size_of::<Read>() <= kept_limit {
        exchange.raw_len = filled;
        timeline.reads.push(read);
    } else {
        exchange.failure.get_or_insert(Failure::TooLarge { limit: kept_limit });
    }
    fed
}
