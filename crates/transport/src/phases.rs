//! How the time of a leg falls into phases.

use aiperf_types::{EarlierLeg, Exchange, MonoNs, Nanos, Phases, Timeline};

/// Legs that are listed one by one. From there on, one that asks for the same as one of them is added to the latest of
/// those: a request that looks ten times a second whether something is done may do so for hours, and be redirected each
/// time.
const MOST_LEGS: usize = 64;

/// The phases of the last leg of an exchange, which ended at an instant: they begin with the leg, each begins where the
/// one before it ended, and what was not reached took no time.
pub fn of(timeline: &Timeline, end: MonoNs) -> Phases {
    let reached = |at: MonoNs, before: MonoNs| at.taken().map_or(before, |at| at.clamp(before, end.max(before)));
    let blocked = reached(timeline.blocked.1, timeline.leg_start);
    let resolved = reached(timeline.dns.1, blocked);
    let connected = reached(timeline.connect.1, resolved);
    let sent = reached(timeline.send_end, connected);
    let answered = if timeline.body_reads > 0 { reached(timeline.body_start, sent) } else { end.max(sent) };
    Phases {
        blocked: blocked.since(timeline.leg_start),
        dns_lookup: resolved.since(blocked),
        connecting: connected.since(resolved),
        tls_handshaking: timeline.tls.1.taken().map_or(Nanos(0), |end| end.since(timeline.tls.0)),
        sending: sent.since(connected),
        waiting: answered.since(sent),
        receiving: end.since(answered),
    }
}

/// Ends a leg that is not the last, and begins the next at the same instant.
pub(crate) fn begin_leg(exchange: &mut Exchange, request: String, end: MonoNs) {
    let last = std::mem::take(&mut exchange.timeline);
    let leg = EarlierLeg {
        start: last.leg_start,
        end,
        phases: of(&last, end),
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
    let add = |one: &mut Nanos, next: Nanos| one.0 += next.0;
    add(&mut one.phases.blocked, next.phases.blocked);
    add(&mut one.phases.dns_lookup, next.phases.dns_lookup);
    add(&mut one.phases.connecting, next.phases.connecting);
    add(&mut one.phases.tls_handshaking, next.phases.tls_handshaking);
    add(&mut one.phases.sending, next.phases.sending);
    add(&mut one.phases.waiting, next.phases.waiting);
    add(&mut one.phases.receiving, next.phases.receiving);
    (one.end, one.status) = (next.end, next.status);
    one.writes = one.writes.saturating_add(next.writes);
    one.bytes_sent += next.bytes_sent;
    one.body_reads = one.body_reads.saturating_add(next.body_reads);
    one.bytes_received += next.bytes_received;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(phases: Phases) -> u64 {
        let Phases { blocked, dns_lookup, connecting, sending, waiting, receiving, .. } = phases;
        [blocked, dns_lookup, connecting, sending, waiting, receiving].iter().map(|phase| phase.0).sum()
    }

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

    proptest! {
        #[test]
        fn the_phases_of_a_leg_add_up_to_it(mut at in proptest::collection::vec(1u64..1000, 7), gone in 0u8..64) {
            at.sort_unstable();
            let reached = |bit: u8, at: u64| MonoNs(if gone & 1 << bit == 0 { at } else { 0 });
            let timeline = Timeline {
                leg_start: MonoNs(at[0]),
                blocked: (MonoNs(at[0]), reached(0, at[1])),
                dns: (MonoNs(at[1]), reached(1, at[2])),
                connect: (MonoNs(at[2]), reached(2, at[3])),
                send_end: reached(3, at[4]),
                body_start: reached(4, at[5]),
                body_reads: u32::from(gone & 16 == 0),
                ..Timeline::default()
            };
            prop_assert_eq!(sum(of(&timeline, MonoNs(at[6]))), at[6] - at[0]);
        }
    }
}
