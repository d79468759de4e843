//! Statistics of a value over time. Mean, deviation, minimum and maximum are exact for any length.

use crate::numbers::histogram::NOTHING;
use crate::numbers::stats::Stats;
use crate::numbers::sum::BatchedSum;

const PERCENTS: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// The statistics of a value over time.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    /// Time without load: the value was zero, and active statistics exclude it.
    idle: u64,
    /// Time with load.
    busy: u64,
    /// Distances are measured from here, about the mean so far: sums of squares of large values would have no precision
    /// left for the deviation.
    centre: f64,
    /// The time until the centre moves again.
    centre_until: u64,
    /// Sum of values times their durations.
    area: BatchedSum,
    distances: BatchedSum,
    squares: BatchedSum,
    min: f64,
    max: f64,
}

/// Sums over at most a few thousand stretches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    busy: u64,
    centre: f64,
    distances: f64,
    squares: f64,
    min: f64,
    max: f64,
}

/// A value below 1e-9 (a thousand-millionth of a token, or one token in thirty years) is a rounding error: it becomes
/// zero.
fn or_nothing(value: f64) -> f64 {
    if value.abs() < NOTHING { 0.0 } else { value }
}

impl Sums {
    #[inline]
    pub(crate) fn add(&mut self, length: u64, value: f64) {
        let (time, distance) = (length as i64 as f64, value - self.centre);
        self.busy += length;
        self.distances += time * distance;
        self.squares += time * distance * distance;
        self.min = if value < self.min { value } else { self.min };
        self.max = if value > self.max { value } else { self.max };
    }

    /// The sums of the values times `share`, around the centre of other sums.
    pub(crate) fn scaled(&self, share: f64, other: &Self) -> Self {
        let centre = other.centre;
        let (time, shift) = (self.busy as f64, self.centre - centre / share);
        Self {
            centre,
            distances: share * (self.distances + shift * time),
            squares: share * share * (self.squares + shift * (2.0 * self.distances + shift * time)),
            min: self.min * share,
            max: self.max * share,
            ..*self
        }
    }
}

/// Up to this much time, in nanoseconds, a single value may be far above all later ones: the centre is the lowest value
/// then.
const SETTLED: u64 = 1_000_000;

impl Weighted {
    pub(crate) fn new() -> Self {
        Self {
            idle: 0,
            busy: 0,
            centre: f64::NAN,
            centre_until: 0,
            area: BatchedSum::default(),
            distances: BatchedSum::default(),
            squares: BatchedSum::default(),
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }

    /// The value held for `length` nanoseconds.
    pub(crate) fn add(&mut self, length: u64, value: f64) {
        let mut sums = self.begin_sums(value);
        sums.add(length, value);
        self.add_sums(&sums);
    }

    /// There was no load for `length` nanoseconds.
    pub(crate) fn add_idle(&mut self, length: u64) {
        self.idle += length;
    }

    /// Whether there is so much time that no single value is far from all later ones.
    pub(crate) fn is_settled(&self) -> bool {
        self.busy >= SETTLED
    }

    /// Empty sums to add stretches to; `first` is among their values.
    pub(crate) fn begin_sums(&mut self, first: f64) -> Sums {
        if self.centre.is_nan() {
            self.centre = first;
        } else if !self.is_settled() {
            self.move_centre(first.min(self.centre));
        }
        let (min, max) = (f64::INFINITY, f64::NEG_INFINITY);
        Sums { busy: 0, centre: self.centre, distances: 0.0, squares: 0.0, min, max }
    }

    /// Adds the sums of some stretches.
    pub(crate) fn add_sums(&mut self, sums: &Sums) {
        self.busy += sums.busy;
        self.area.add(sums.distances + sums.centre * sums.busy as f64);
        self.distances.add(sums.distances);
        self.squares.add(sums.squares);
        self.min = self.min.min(sums.min);
        self.max = self.max.max(sums.max);
        // Each time the total time doubles, the mean so far becomes the new centre.
        if self.busy >= self.centre_until.max(SETTLED) {
            self.centre_until = 2 * self.busy;
            self.move_centre(self.centre + self.distances.value() / self.busy as f64);
        }
    }

    fn move_centre(&mut self, to: f64) {
        let (step, time) = (to - self.centre, self.busy as f64);
        if step != 0.0 {
            self.squares.add(step * (step * time - 2.0 * self.distances.value()));
            self.distances.add(-step * time);
            self.centre = to;
            self.settle();
        }
    }

    /// Settles the sums; call it every few thousand stretches.
    pub(crate) fn settle(&mut self) {
        self.area.settle();
        self.distances.settle();
        self.squares.settle();
    }

    /// Time with load.
    pub(crate) fn busy(&self) -> u64 {
        self.busy
    }

    /// Sets the value to zero for all time with load.
    pub(crate) fn set_to_zero(&mut self) {
        let (idle, busy) = (self.idle, self.busy);
        *self = Self::new();
        self.idle = idle;
        if busy > 0 {
            self.add(busy, 0.0);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if self.centre.is_nan() {
            self.centre = other.centre;
        }
        if other.busy > 0 {
            let (shift, time) = (other.centre - self.centre, other.busy as f64);
            let distances = other.distances.value();
            self.distances.add(distances + time * shift);
            self.squares.add(other.squares.value() + shift * (2.0 * distances + time * shift));
        }
        self.busy += other.busy;
        self.area.add(other.area.value());
        self.idle += other.idle;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Statistics over all time, `more` idle time included, and over the time with load. `quantiles` computes those of
    /// the latter: for each target (ascending) the smallest value by which that much time has passed.
    pub(crate) fn stats(&self, more: u64, mut quantiles: impl FnMut(&[f64], &mut [f64], f64)) -> (Stats, Stats) {
        let all = self.over(self.idle + more, &mut quantiles);
        (all, if self.idle + more == 0 { all } else { self.over(0, &mut quantiles) })
    }

    fn over(&self, idle: u64, quantiles: &mut impl FnMut(&[f64], &mut [f64], f64)) -> Stats {
        let (whole, idle) = ((self.busy + idle) as f64, idle as f64);
        if whole <= 0.0 {
            return stats(0.0, 0.0, 0.0, [0.0; 4], 0.0);
        }
        let centre = if self.busy > 0 { self.centre } else { 0.0 };
        let distance = (self.distances.value() - idle * centre) / whole;
        let square = (self.squares.value() + idle * centre * centre) / whole;
        let std = (square - distance * distance).max(0.0).sqrt();
        let (min, max) = (or_nothing(self.min), or_nothing(self.max));
        let (min, max) = if idle > 0.0 { (min.min(0.0), max.max(0.0)) } else { (min, max) };
        // Idle time has the value zero, below all others: it only moves the targets.
        let targets = PERCENTS.map(|percent| percent / 100.0 * whole - idle);
        let mut found = [0.0; 4];
        let first = targets.iter().position(|&target| target > 0.0).unwrap_or(targets.len());
        quantiles(&targets[first..], &mut found[first..], max);
        stats(self.area.value() / whole, min, max, found.map(|value| value.clamp(min, max)), std)
    }
}

fn stats(avg: f64, min: f64, max: f64, [p50, p90, p95, p99]: [f64; 4], std: f64) -> Stats {
    Stats {
        avg: Some(avg),
        min: Some(min),
        max: Some(max),
        p50: Some(p50),
        p90: Some(p90),
        p95: Some(p95),
        p99: Some(p99),
        std: Some(std),
        ..Stats::default()
    }
    .finite()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::quantiles::TimeByRange;

    struct Value {
        weighted: Weighted,
        stretches: Vec<(f64, u64)>,
    }

    impl Value {
        fn of(stretches: &[(u64, f64)]) -> Self {
            let mut weighted = Weighted::new();
            stretches.iter().for_each(|&(length, value)| weighted.add(length, value));
            Self { weighted, stretches: stretches.iter().map(|&(length, value)| (value, length)).collect() }
        }

        fn stats(&mut self, more: u64) -> (Stats, Stats) {
            let stretches = || self.stretches.iter().copied();
            let mut by_range = TimeByRange::of(stretches());
            self.weighted.stats(more, |targets, found, top| by_range.quantiles(stretches(), targets, found, top))
        }
    }

    #[test]
    fn a_percentile_is_the_first_value_by_which_enough_time_has_passed() {
        let (all, active) = Value::of(&[(1, 30.0), (5, 10.0), (4, 20.0)]).stats(0);
        assert_eq!((all.p50, all.p90, all.p95), (Some(10.0), Some(20.0), Some(30.0)));
        assert_eq!(all, active);
    }

    #[test]
    fn idle_time_counts_as_zero_and_only_for_the_whole() {
        let mut value = Value::of(&[(2, 8.0)]);
        value.weighted.add_idle(4);
        let (all, active) = value.stats(2);
        assert_eq!((all.avg, all.min, all.p50, all.p90), (Some(2.0), Some(0.0), Some(0.0), Some(8.0)));
        assert_eq!((active.avg, active.min, active.p50, active.std), (Some(8.0), Some(8.0), Some(8.0), Some(0.0)));
    }

    #[test]
    fn a_constant_value_has_no_deviation() {
        let (all, _) = Value::of(&[(7, 0.1), (1_000_000_007, 0.1), (13, 0.1)]).stats(0);
        assert_eq!((all.avg, all.std), (Some(0.1), Some(0.0)));
    }

    #[test]
    fn two_parts_merge_to_the_whole() {
        let stretches: Vec<(u64, f64)> = (1..400).map(|n| (n * 7919 % 101, (n * 31 % 97) as f64 + 0.25)).collect();
        let near = |one: Option<f64>, two: Option<f64>| one.zip(two).is_some_and(|(a, b)| (a / b - 1.0).abs() < 1e-13);
        let mut whole = Value::of(&stretches);
        let mut parts = Value::of(&stretches);
        parts.weighted = Value::of(&stretches[..150]).weighted;
        parts.weighted.merge(&Value::of(&stretches[150..]).weighted);
        let ((whole, _), (merged, _)) = (whole.stats(0), parts.stats(0));
        assert!(near(whole.avg, merged.avg) && near(whole.std, merged.std));
        assert_eq!((whole.min, whole.max, whole.p50), (merged.min, merged.max, merged.p50));
    }
}
