//! When a server is probed: at an interval while the run is on, and back to back at its end until there are enough
//! samples.

use aiperf_types::{MonoNs, Nanos};

/// Probes of one server that may be in flight: without a limit they would pile up for a server that never responds.
const MOST_IN_FLIGHT: u32 = 64;

/// Why a probe is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Beat,
    /// To get enough samples. These follow one another.
    TopUp,
}

/// The probes of one server.
#[derive(Debug)]
pub(super) struct Pacing {
    interval: Nanos,
    /// The number of successes that are needed.
    wanted: u32,
    /// When the next regular probe is due; `None` if there are none.
    next: Option<MonoNs>,
    in_flight: u32,
    succeeded: u32,
    /// Probes that may still be made to get enough samples.
    tries: u32,
    is_trying: bool,
}

impl Pacing {
    pub(super) fn new(interval: Nanos, wanted: u32) -> Self {
        Self {
            interval: interval.max(Nanos(1)),
            wanted,
            next: None,
            in_flight: 0,
            succeeded: 0,
            tries: 0,
            is_trying: false,
        }
    }

    /// Starts the interval, unless it is running.
    pub(super) fn start(&mut self, now: MonoNs) {
        self.next.get_or_insert(now);
    }

    pub(super) fn stop(&mut self) {
        self.next = None;
    }

    /// Replaces the interval with what is missing. For a server that fails, twice as many attempts as needed successes
    /// are made.
    pub(super) fn top_up(&mut self) {
        self.next = None;
        self.tries = self.wanted.saturating_mul(2);
    }

    /// The probe that is due, if one is. It counts as begun.
    pub(super) fn poll(&mut self, now: MonoNs) -> Option<Purpose> {
        if let Some(due) = self.next.filter(|due| now >= *due) {
            // Missed probes are skipped: they would come in a burst.
            let beats = now.since(due).0 / self.interval.0 + 1;
            self.next = Some(due.plus(Nanos(self.interval.0.saturating_mul(beats))));
            if self.in_flight < MOST_IN_FLIGHT {
                self.in_flight += 1;
                return Some(Purpose::Beat);
            }
        }
        if self.wants_more() && !self.is_trying {
            self.tries -= 1;
            self.is_trying = true;
            return Some(Purpose::TopUp);
        }
        None
    }

    /// A probe is over.
    pub(super) fn note(&mut self, purpose: Purpose, succeeded: bool) {
        match purpose {
            Purpose::Beat => self.in_flight -= 1,
            Purpose::TopUp => self.is_trying = false,
        }
        self.succeeded = self.succeeded.saturating_add(succeeded.into());
    }

    pub(super) fn next_deadline(&self) -> Option<MonoNs> {
        self.next
    }

    pub(super) fn has_enough(&self) -> bool {
        self.succeeded >= self.wanted
    }

    /// Whether a top-up is over: there are enough samples, or no attempt is left.
    pub(super) fn is_topped_up(&self) -> bool {
        self.has_enough() || self.tries == 0 && !self.is_trying
    }

    fn wants_more(&self) -> bool {
        !self.has_enough() && self.tries > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Purpose::{Beat, TopUp};

    fn at(ms: u64) -> MonoNs {
        MonoNs(1 + ms * 1_000_000)
    }

    fn pacing(wanted: u32) -> Pacing {
        Pacing::new(Nanos::from_millis(1_000), wanted)
    }

    #[test]
    fn the_first_probe_is_due_at_once_and_the_next_at_the_beat_whatever_became_of_it() {
        let mut pacing = pacing(5);
        assert_eq!(pacing.poll(at(0)), None, "not before the run");
        pacing.start(at(0));
        assert_eq!(pacing.poll(at(3)), Some(Beat));
        assert_eq!(pacing.poll(at(999)), None);
        pacing.start(at(999));
        assert_eq!((pacing.next_deadline(), pacing.poll(at(1_000))), (Some(at(1_000)), Some(Beat)));
        pacing.stop();
        assert_eq!((pacing.next_deadline(), pacing.poll(at(9_000))), (None, None));
    }

    #[test]
    fn beats_that_were_missed_are_left_out() {
        let mut pacing = pacing(5);
        pacing.start(at(0));
        assert_eq!(pacing.poll(at(0)), Some(Beat));
        assert_eq!(pacing.poll(at(4_500)), Some(Beat));
        assert_eq!((pacing.poll(at(4_501)), pacing.next_deadline()), (None, Some(at(5_000))));
    }

    #[test]
    fn probes_of_a_server_that_never_answers_do_not_pile_up() {
        let mut pacing = Pacing::new(Nanos(1), 5);
        pacing.start(at(0));
        let begun = (0..1_000).filter(|more| pacing.poll(MonoNs(at(0).0 + more)).is_some()).count();
        assert_eq!(begun, 64);
        pacing.note(Beat, false);
        assert_eq!(pacing.poll(at(1)), Some(Beat));
    }

    #[test]
    fn what_is_missing_is_made_up_one_after_the_other_and_no_more() {
        let mut pacing = pacing(3);
        pacing.start(at(0));
        assert_eq!(pacing.poll(at(0)), Some(Beat));
        pacing.note(Beat, true);
        pacing.top_up();
        for _ in 0..2 {
            assert_eq!((pacing.poll(at(1)), pacing.poll(at(1)), pacing.is_topped_up()), (Some(TopUp), None, false));
            pacing.note(TopUp, true);
        }
        assert_eq!((pacing.poll(at(1)), pacing.is_topped_up()), (None, true));
    }

    #[test]
    fn of_a_server_that_fails_twice_as_many_tries_are_made_as_are_wanted() {
        let mut pacing = pacing(5);
        pacing.top_up();
        let mut tries = 0;
        while pacing.poll(at(0)) == Some(TopUp) {
            tries += 1;
            pacing.note(TopUp, false);
        }
        assert_eq!((tries, pacing.is_topped_up(), pacing.has_enough()), (10, true, false));
    }
}
