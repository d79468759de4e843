//! Statistics of a value over time: how long it was what.

use crate::stats::{Stats, precise_sum};

const PERCENTS: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// Stretches of time with the value that held in each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weighted {
    stretches: Vec<(f64, f64)>,
    /// Time in which nothing was going on: the value was zero, and active statistics leave it out.
    idle: f64,
}

impl Weighted {
    pub(crate) fn clear(&mut self) {
        self.stretches.clear();
        self.idle = 0.0;
    }

    pub(crate) fn add(&mut self, length: f64, value: f64) {
        self.stretches.push((value, length));
    }

    pub(crate) fn add_idle(&mut self, length: f64) {
        self.idle += length;
    }

    /// Statistics over all the time, and over the time in which something was going on. Where values are only samples of a
    /// curve, its exact means are given.
    pub(crate) fn stats(&mut self, means: Option<Means>) -> (Stats, Stats) {
        let mut extent = Extent { time: 0.0, sum: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };
        extent.sum = precise_sum(self.stretches.iter().map(|&(value, length)| {
            extent.time += length;
            extent.min = extent.min.min(value);
            extent.max = extent.max.max(value);
            value * length
        }));
        let all = self.over(&extent, self.idle, means.map(|means| means.all));
        let same = self.idle == 0.0 && means.is_none_or(|means| means.all == means.active);
        let active = if same { all } else { self.over(&extent, 0.0, means.map(|means| means.active)) };
        (all, active)
    }

    fn over(&mut self, extent: &Extent, idle: f64, mean: Option<f64>) -> Stats {
        let whole = extent.time + idle;
        if whole <= 0.0 {
            return stats(0.0, 0.0, 0.0, [0.0; 4], 0.0);
        }
        let avg = mean.unwrap_or(extent.sum / whole);
        let squares = precise_sum(self.stretches.iter().map(|&(value, length)| length * (value - avg) * (value - avg)));
        let std = ((squares + idle * avg * avg) / whole).sqrt();
        let (min, max) = if idle > 0.0 { (extent.min.min(0.0), extent.max.max(0.0)) } else { (extent.min, extent.max) };
        // Idle time is at zero, below all else: it only moves the targets.
        let targets = PERCENTS.map(|percent| percent / 100.0 * whole - idle);
        let mut found = [0.0; 4];
        let first = targets.iter().position(|&target| target > 0.0).unwrap_or(targets.len());
        quantiles(&mut self.stretches, 0.0, &targets[first..], &mut found[first..], max);
        stats(avg, min, max, found, std)
    }
}

/// Exact means of a curve: over all the time, and over the time in which something was going on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Means {
    pub(crate) all: f64,
    pub(crate) active: f64,
}

/// What all stretches come to.
struct Extent {
    time: f64,
    sum: f64,
    min: f64,
    max: f64,
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

/// For each target (ascending) the smallest value by which that much time has passed, shortest values first; by
/// repeated partition, since a sort of millions of stretches takes ten times as long.
fn quantiles(stretches: &mut [(f64, f64)], passed: f64, targets: &[f64], found: &mut [f64], top: f64) {
    if targets.is_empty() {
        return;
    }
    if stretches.len() <= 32 {
        stretches.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let mut passed = passed;
        let mut rest = stretches.iter();
        let mut value = top;
        for (target, found) in targets.iter().zip(found) {
            while passed < *target {
                match rest.next() {
                    Some(&(next, length)) => {
                        passed += length;
                        value = next;
                    }
                    None => {
                        value = top;
                        break;
                    }
                }
            }
            *found = value;
        }
        return;
    }
    let pivot = pivot(stretches);
    let (below, equal, below_time, equal_time) = partition(stretches, pivot);
    let (after_below, after_equal) = (passed + below_time, passed + below_time + equal_time);
    let first_equal = targets.partition_point(|&target| target <= after_below);
    let first_above = targets.partition_point(|&target| target <= after_equal);
    quantiles(&mut stretches[..below], passed, &targets[..first_equal], &mut found[..first_equal], pivot);
    found[first_equal..first_above].fill(pivot);
    let above = &mut stretches[below + equal..];
    quantiles(above, after_equal, &targets[first_above..], &mut found[first_above..], top);
}

/// The median of nine values spread over the slice.
fn pivot(stretches: &[(f64, f64)]) -> f64 {
    let step = stretches.len() / 9;
    let mut sample: [f64; 9] = std::array::from_fn(|at| stretches[at * step + step / 2].0);
    sample.sort_unstable_by(f64::total_cmp);
    sample[4]
}

/// Moves smaller values to the front and larger ones to the back: how many are smaller and equal, and for how long.
fn partition(stretches: &mut [(f64, f64)], pivot: f64) -> (usize, usize, f64, f64) {
    let (mut low, mut at, mut high) = (0, 0, stretches.len());
    let (mut below_time, mut equal_time) = (0.0, 0.0);
    while at < high {
        let (value, length) = stretches[at];
        if value < pivot {
            below_time += length;
            stretches.swap(low, at);
            low += 1;
            at += 1;
        } else if value > pivot {
            high -= 1;
            stretches.swap(at, high);
        } else {
            equal_time += length;
            at += 1;
        }
    }
    (low, at - low, below_time, equal_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_first_value_that_enough_time_has_passed_by() {
        let mut weighted = Weighted::default();
        for (length, value) in [(1.0, 30.0), (5.0, 10.0), (4.0, 20.0)] {
            weighted.add(length, value);
        }
        let (all, active) = weighted.stats(None);
        assert_eq!((all.p50, all.p90, all.p95), (Some(10.0), Some(20.0), Some(30.0)));
        assert_eq!(all, active);
    }

    #[test]
    fn idle_time_counts_as_zero_and_only_for_the_whole() {
        let mut weighted = Weighted::default();
        weighted.add(2.0, 8.0);
        weighted.add_idle(6.0);
        let (all, active) = weighted.stats(None);
        assert_eq!((all.avg, all.min, all.p50, all.p90), (Some(2.0), Some(0.0), Some(0.0), Some(8.0)));
        assert_eq!((active.avg, active.min, active.p50, active.std), (Some(8.0), Some(8.0), Some(8.0), Some(0.0)));
    }

    #[test]
    fn partitions_find_what_a_sort_finds() {
        let mut state = 7_u64;
        let mut draw = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        let stretches: Vec<(f64, f64)> = (0..5000).map(|_| ((draw() % 300) as f64, (draw() % 50) as f64)).collect();
        let mut sorted = stretches.clone();
        sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
        let total: f64 = sorted.iter().map(|(_, length)| length).sum();
        let targets = PERCENTS.map(|percent| percent / 100.0 * total);
        let mut found = [0.0; 4];
        quantiles(&mut stretches.clone(), 0.0, &targets, &mut found, 300.0);
        for (target, found) in targets.iter().zip(found) {
            let mut passed = 0.0;
            let naive = sorted.iter().find(|(_, length)| {
                passed += length;
                passed >= *target
            });
            assert_eq!(naive.unwrap().0, found);
        }
    }
}
