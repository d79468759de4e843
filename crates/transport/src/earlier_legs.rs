//! The legs of an exchange that are over.

use aiperf_types::{EarlierLeg, Exchange, MonoNs, Timeline};

/// Legs that are listed one by one. From there on, one that asks for the same as one of them is added to the latest of
/// those: a request that looks ten times a second whether something is done may do so for hours, and be redirected each
/// time.
const MOST_LEGS: usize = 64;

/// Ends a leg that is not the last, and begins the next at the same instant.
pub(crate) fn begin_leg(exchange: &mut Exchange, request: String, end: MonoNs) {
    let last = std::mem::take(&mut exchange.timeline);
    let leg = EarlierLeg {
        start: last.leg_start,
        end,
        phases: last.phases(end),
        request,
        status: exchange.status.take(),
        writes: last.writes,
        bytes_sent: last.bytes_sent,
        body_reads: last.body_reads,
        bytes_received: last.bytes_received,
    };
    let (mut reads, mut write_log, mut earlier_legs) = (last.reads, last.write_log, last.earlier_legs);
    reads.clear();
    write_log.clear();
    let is_full = earlier_legs.len() >= MOST_LEGS;
    match earlier_legs.iter_mut().rev().find(|listed| is_full && listed.request == leg.request) {
        Some(listed) => add(listed, leg),
        None => earlier_legs.push(leg),
    }
    exchange.timeline = Timeline {
        intended: last.intended,
        issued: last.issued,
        start: last.start,
        leg_start: end,
        earlier_legs,
        reads,
        write_log,
        connection_retries: last.connection_retries,
        ..Timeline::default()
    };
    (exchange.raw_len, exchange.head_at, exchange.body_at, exchange.chunked) = (0, 0, 0, false);
}

/// Makes two legs one.
fn add(one: &mut EarlierLeg, next: EarlierLeg) {
    one.phases += next.phases;
    (one.end, one.status) = (next.end, next.status);
    one.writes = one.writes.saturating_add(next.writes);
    one.bytes_sent += next.bytes_sent;
    one.body_reads = one.body_reads.saturating_add(next.body_reads);
    one.bytes_received += next.bytes_received;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legs_without_end_that_ask_for_the_same_are_listed_together() {
        let mut exchange = Exchange::default();
        for at in 1..=1000 {
            exchange.timeline.bytes_sent = 7;
            begin_leg(&mut exchange, "GET /x".into(), MonoNs(at));
        }
        let legs = &exchange.timeline.earlier_legs;
        assert_eq!((legs.len(), legs.iter().map(|leg| leg.bytes_sent).sum::<u64>()), (MOST_LEGS, 7000));
        assert_eq!(legs.last().map(|leg| leg.end), Some(MonoNs(1000)));
        begin_leg(&mut exchange, "GET /x/content".into(), MonoNs(1001));
        assert_eq!(exchange.timeline.earlier_legs.len(), MOST_LEGS + 1);
    }

    #[test]
    fn legs_without_end_that_are_redirected_are_listed_together_too() {
        let mut exchange = Exchange::default();
        for at in 1..=1000 {
            exchange.timeline.bytes_sent = 7;
            let asked = if at % 2 == 0 { "GET /x" } else { "GET /there" };
            begin_leg(&mut exchange, asked.into(), MonoNs(at));
        }
        let legs = &exchange.timeline.earlier_legs;
        assert_eq!((legs.len(), legs.iter().map(|leg| leg.bytes_sent).sum::<u64>()), (MOST_LEGS, 7000));
        assert_eq!(legs.iter().map(|leg| leg.end).max(), Some(MonoNs(1000)));
    }
}
