//! Rates of arrivals, each over a stretch of time that contains several of them.
//!
//! An arrival represents the time from the middle of the gap before it to the middle of the gap after it. So evenly
//! spaced arrivals have exactly their rate, however they are grouped.

use aiperf_types::PhaseIndex;

/// The number of arrivals of a stretch, unless that takes too long.
const ENOUGH: u64 = 12;
/// The shortest and the longest stretch, as a share of the whole length.
const SHORTEST: f64 = 1.0 / 40.0;
const LONGEST: f64 = 1.0 / 8.0;

/// A stretch of time in seconds, with its sent and missed requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    pub(super) phase: PhaseIndex,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) sent: u64,
    pub(super) missed: u64,
}

impl Stretch {
    /// Sent requests per second.
    pub(super) fn sent_rate(&self) -> f64 {
        self.sent as f64 / (self.to - self.from)
    }

    /// Offered requests per second: sent and missed.
    pub(super) fn offered_rate(&self) -> f64 {
        (self.sent + self.missed) as f64 / (self.to - self.from)
    }
}

/// Builds the stretches, arrival by arrival.
#[derive(Debug)]
pub(super) struct Stretches {
    length: f64,
    done: Vec<Stretch>,
    open: Option<Open>,
}

/// Arrivals of the current phase that are not in a stretch yet.
#[derive(Debug)]
struct Open {
    phase: PhaseIndex,
    /// Unknown until a second instant shows the gap.
    from: Option<f64>,
    last: f64,
    gap: f64,
    sent: u64,
    missed: u64,
    /// Number of stretches that this phase already has.
    before: usize,
}

impl Stretches {
    /// For a rehearsal of so many seconds.
    pub(super) fn new(length: f64) -> Self {
        Self { length, done: Vec::new(), open: None }
    }

    /// Adds requests sent or missed at an instant. Instants never go back.
    pub(super) fn add(&mut self, phase: PhaseIndex, at: f64, sent: u64, missed: u64) {
        if self.open.as_ref().is_some_and(|open| open.phase != phase) {
            self.end_phase();
        }
        let open =
            self.open.get_or_insert(Open { phase, from: None, last: at, gap: 0.0, sent: 0, missed: 0, before: 0 });
        if at > open.last {
            open.gap = at - open.last;
            let edge = open.last + open.gap / 2.0;
            let from = *open.from.get_or_insert(open.last - open.gap / 2.0);
            let share = (edge - from) / self.length;
            if (open.sent + open.missed >= ENOUGH && share >= SHORTEST) || share >= LONGEST {
                self.done.push(Stretch { phase, from, to: edge, sent: open.sent, missed: open.missed });
                (open.from, open.sent, open.missed, open.before) = (Some(edge), 0, 0, open.before + 1);
            }
            open.last = at;
        }
        open.sent += sent;
        open.missed += missed;
    }

    /// All stretches. A phase whose requests are all at one instant has no rate.
    pub(super) fn all(mut self) -> Vec<Stretch> {
        self.end_phase();
        self.done
    }

    fn end_phase(&mut self) {
        let Some(Open { phase, from: Some(from), last, gap, sent, missed, before }) = self.open.take() else { return };
        let to = last + gap / 2.0;
        match self.done.last_mut() {
            // Too few for their own stretch.
            Some(one) if before > 0 && sent + missed < ENOUGH / 2 => {
                (one.to, one.sent, one.missed) = (to, one.sent + sent, one.missed + missed);
            }
            _ => self.done.push(Stretch { phase, from, to, sent, missed }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(length: f64, instants: impl IntoIterator<Item = f64>) -> Vec<Stretch> {
        let mut stretches = Stretches::new(length);
        instants.into_iter().for_each(|at| stretches.add(PhaseIndex(0), at, 1, 0));
        stretches.all()
    }

    #[test]
    fn even_arrivals_have_their_rate_however_many_there_are() {
        for count in [2_u32, 3, 9, 39, 100, 12_345] {
            let stretches = of(f64::from(count) / 10.0, (1..=count).map(|number| f64::from(number) / 10.0));
            assert!(stretches.iter().all(|one| (one.sent_rate() - 10.0).abs() < 1e-6), "{count}: {stretches:?}");
            assert_eq!(stretches.iter().map(|one| one.sent).sum::<u64>(), u64::from(count));
            assert!(stretches.len() <= 41, "{count}: {}", stretches.len());
        }
    }

    #[test]
    fn arrivals_at_one_instant_stay_in_one_stretch() {
        let stretches = of(30.0, (0..300).map(|number| f64::from(number / 3) * 0.3));
        assert!(stretches.iter().all(|one| (one.sent_rate() - 10.0).abs() < 1e-6), "{stretches:?}");
    }

    #[test]
    fn missed_requests_count_as_offered() {
        let mut stretches = Stretches::new(10.0);
        (0..200).for_each(|tick| {
            stretches.add(PhaseIndex(0), f64::from(tick) / 20.0, 1 - tick as u64 % 2, tick as u64 % 2)
        });
        for one in stretches.all() {
            assert!((one.offered_rate() - 20.0).abs() < 1e-6, "{one:?}");
            assert!((one.sent_rate() - 10.0).abs() < 3.0, "{one:?}");
        }
    }

    #[test]
    fn one_instant_has_no_rate() {
        assert_eq!(of(1.0, [0.0, 0.0, 0.0]), []);
        assert_eq!(of(1.0, []), []);
    }
}
