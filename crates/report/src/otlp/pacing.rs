//! When the next export is due. Everything is cumulative: a failed export is not repeated, because the next one
//! contains everything.

use aiperf_types::{MonoNs, Nanos};

/// The wait after the first failure; it doubles with each further one.
const FIRST_WAIT: Nanos = Nanos(500_000_000);
const LONGEST_WAIT: Nanos = Nanos(30_000_000_000);

/// An interval that grows while a receiver does not respond.
#[derive(Clone, Debug)]
pub struct Pacing {
    every: Nanos,
    next: MonoNs,
    /// Failures since the last success.
    failures: u32,
}

impl Pacing {
    pub fn new(every: Nanos, now: MonoNs) -> Self {
        Self { every, next: now.plus(every), failures: 0 }
    }

    /// When the next export is due.
    pub fn next(&self) -> MonoNs {
        self.next
    }

    /// An export was accepted, or never will be: the interval continues, and missed exports are not made up for.
    pub fn settled(&mut self, now: MonoNs) {
        self.failures = 0;
        self.next = self.next.plus(self.every).max(now);
    }

    /// An export may be accepted later: waits as long as the receiver asks, or with growing delays. If a receiver asks
    /// for no delay, there is one all the same.
    pub fn put_off(&mut self, now: MonoNs, after: Option<Nanos>) {
        let wait = after.map_or_else(|| self.wait(now), |asked| asked.max(FIRST_WAIT));
        self.failures = self.failures.saturating_add(1);
        self.next = now.plus(wait);
    }

    /// Varied by a tenth either way, so that several clients do not return together.
    fn wait(&self, now: MonoNs) -> Nanos {
        let wait = FIRST_WAIT.0.saturating_mul(1 << self.failures.min(16)).min(LONGEST_WAIT.0);
        Nanos(wait - wait / 10 + wait / 5 * (now.0 % 1000) / 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(seconds: u64) -> MonoNs {
        MonoNs(seconds * SECOND)
    }

    #[test]
    fn the_interval_is_kept_and_missed_exports_are_not_made_up_for() {
        let mut pacing = Pacing::new(Nanos(2 * SECOND), at(10));
        assert_eq!(pacing.next(), at(12));
        pacing.settled(at(13));
        assert_eq!(pacing.next(), at(14));
        pacing.settled(at(30));
        assert_eq!(pacing.next(), at(30));
    }

    #[test]
    fn a_receiver_that_is_down_is_tried_less_and_less_often_and_then_as_before() {
        let mut pacing = Pacing::new(Nanos(2 * SECOND), at(0));
        let mut now = at(2);
        let mut waits = Vec::new();
        for _ in 0..10 {
            pacing.put_off(now, None);
            waits.push(pacing.next().since(now).as_secs_f64());
            now = pacing.next();
        }
        for (wait, about) in waits.iter().zip([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0]) {
            assert!((wait / about - 1.0).abs() <= 0.101, "{waits:?}");
        }
        pacing.settled(now);
        pacing.put_off(at(1000), None);
        assert!(pacing.next().since(at(1000)).as_secs_f64() < 0.6);
    }

    #[test]
    fn a_delay_that_a_receiver_asks_for_is_kept() {
        let mut pacing = Pacing::new(Nanos(2 * SECOND), at(0));
        pacing.put_off(at(2), Some(Nanos(7 * SECOND)));
        assert_eq!(pacing.next(), at(9));
        pacing.put_off(at(10), Some(Nanos(0)));
        assert_eq!(pacing.next(), at(10).plus(FIRST_WAIT));
    }
}
