//! How the time of an exchange falls into HTTP phases. There are three views of one timeline:
//!
//! - [`Timeline::phases`] divides a leg that ended, without a gap, so that the phases of all legs add up.
//! - [`Timeline::http_timing`] is for metrics: all legs together. A phase that was not needed took no time, and one that
//!   did not end has no length.
//! - [`HttpTrace`](crate::HttpTrace) is for readers of a single record: a phase has a length if both of its instants
//!   were reached.

use crate::exchange::receiving;
use crate::{EarlierLeg, HttpTiming, MonoNs, Nanos, Phases, Timeline};

impl Timeline {
    /// The phases of the last leg, which ended at an instant: they begin with the leg, each begins where the one before
    /// it ended, and what was not reached took no time.
    pub fn phases(&self, end: MonoNs) -> Phases {
        let reached = |at: MonoNs, before: MonoNs| at.taken().map_or(before, |at| at.clamp(before, end.max(before)));
        let blocked = reached(self.blocked.1, self.leg_start);
        let resolved = reached(self.dns.1, blocked);
        let connected = reached(self.connect.1, resolved);
        let sent = reached(self.send_end, connected);
        let answered = if self.body_reads > 0 { reached(self.body_start, sent) } else { end.max(sent) };
        Phases {
            blocked: blocked.since(self.leg_start),
            dns_lookup: resolved.since(blocked),
            connecting: connected.since(resolved),
            tls_handshaking: self.tls.1.taken().map_or(Nanos(0), |end| end.since(self.tls.0)),
            sending: sent.since(connected),
            waiting: answered.since(sent),
            receiving: end.since(answered),
        }
    }

    /// The phases as metrics have them, all legs together.
    pub fn http_timing(&self) -> HttpTiming {
        let earlier: Phases = self.earlier_legs.iter().map(|leg| leg.phases).sum();
        let with = |of_last: Option<Nanos>, earlier: Nanos| Some(of_last?.0 + earlier.0);
        let if_begun = |(from, to): (MonoNs, MonoNs)| from.taken().map_or(Some(Nanos::ZERO), |from| from.until(to));
        let if_new = |length: Option<Nanos>| if self.reused { Some(Nanos::ZERO) } else { length };
        let last = self.reads.last().map_or(MonoNs(0), |read| read.at);
        let exchange = Nanos(earlier.sending.0 + earlier.waiting.0 + earlier.receiving.0);
        let all = |of_last: u64, of_leg: fn(&EarlierLeg) -> u64| {
            Some(of_last + self.earlier_legs.iter().map(of_leg).sum::<u64>())
        };
        HttpTiming {
            blocked: with(if_begun(self.blocked), earlier.blocked),
            dns_lookup: with(if_new(if_begun(self.dns)), earlier.dns_lookup),
            connecting: with(if_new(self.connect.0.until(self.connect.1)), earlier.connecting),
            tls_handshaking: with(if_new(if_begun(self.tls)), earlier.tls_handshaking),
            sending: with(self.send_start.until(self.send_end), earlier.sending),
            waiting: with(self.send_end.until(self.body_start), earlier.waiting),
            receiving: with(receiving(self.body_reads.into(), self.body_start, last), earlier.receiving),
            duration: with(self.send_start.until(last), exchange),
            reused: Some(self.reused),
            data_sent: all(self.bytes_sent, |leg| leg.bytes_sent),
            chunks_sent: all(self.writes.into(), |leg| leg.writes.into()),
            data_received: all(self.bytes_received, |leg| leg.bytes_received),
            chunks_received: all(self.body_reads.into(), |leg| leg.body_reads.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(phases: Phases) -> u64 {
        let Phases { blocked, dns_lookup, connecting, sending, waiting, receiving, .. } = phases;
        [blocked, dns_lookup, connecting, sending, waiting, receiving].iter().map(|phase| phase.0).sum()
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
            prop_assert_eq!(sum(timeline.phases(MonoNs(at[6]))), at[6] - at[0]);
        }
    }
}
