//! Percentiles of a histogram: observations are placed in their buckets so that they agree with everything that is
//! known, and the percentiles are read from them.
//!
//! The counts of buckets, the sum of all observations, and means of single buckets are known: between two pages often
//! only one bucket grew, and then the growth of the sum shows where in it the observations lie.

use crate::numbers::{percentiles, sum};
use std::ops::Range;

/// More observations than this are scaled down: this does not change percentiles.
const MOST_OBSERVATIONS: f64 = 100_000.0;
/// The share of observations from which a bucket's mean is assumed to be that of all.
const DOMINANT_SHARE: f64 = 0.95;
/// Four deviations over the bucket's width; below this, observations sit at two points.
const TWO_POINT_SPREAD: f64 = 0.01;
/// The same; below this, they are partly spread evenly, if the mean is also this near to the middle.
const BLEND_SPREAD: f64 = 0.2;
const BLEND_OFFSET: f64 = 0.3;
/// How many deviations from the mean observations reach.
const REACH: f64 = 3.0;
/// The relative distance of sums that is left as it is.
const SUM_TOLERANCE: f64 = 0.001;
/// How far observations are moved to meet the sum, in widths of their bucket.
const MOST_SHIFT: f64 = 0.4;
/// The assumed mean of the last bucket if the sum does not show it, in multiples of the largest finite bound.
const UNBOUNDED_MEAN: f64 = 1.5;
/// Deviations need this many intervals.
const LEAST_INTERVALS: usize = 3;

/// What intervals in which only one bucket grew show about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnedBucket {
    /// The mean of each interval.
    means: Vec<f64>,
    /// Of all intervals.
    observations: f64,
    sum: f64,
}

impl LearnedBucket {
    pub fn add(&mut self, mean: f64, observations: f64) {
        self.means.push(mean);
        self.observations += observations;
        self.sum += mean * observations;
    }

    pub fn intervals(&self) -> usize {
        self.means.len()
    }

    pub fn observations(&self) -> f64 {
        self.observations
    }

    pub fn mean(&self) -> Option<f64> {
        (self.observations > 0.0).then(|| self.sum / self.observations)
    }

    /// Of the intervals' means, without their weights.
    pub fn variance(&self) -> Option<f64> {
        if self.means.len() < LEAST_INTERVALS {
            return None;
        }
        let intervals = self.means.len() as f64;
        let mean = sum(&self.means) / intervals;
        let squares: Vec<f64> = self.means.iter().map(|other| (other - mean) * (other - mean)).collect();
        Some(sum(&squares) / (intervals - 1.0))
    }
}

/// One sample of a histogram: sum, count, and the observations up to each bound.
pub type Snapshot<'a> = (f64, f64, &'a [f64]);

/// Reads consecutive samples, and learns from each interval in which exactly one bucket grew.
pub fn learn<'a>(buckets: usize, snapshots: impl IntoIterator<Item = Snapshot<'a>>) -> Vec<LearnedBucket> {
    let mut learned = vec![LearnedBucket::default(); buckets];
    let mut snapshots = snapshots.into_iter();
    let Some(mut before) = snapshots.next() else { return learned };
    for now in snapshots {
        let observations = (now.1 - before.1).trunc();
        if observations > 0.0
            && let Some(bucket) = only_grown(before.2, now.2)
        {
            learned[bucket].add((now.0 - before.0) / observations, observations);
        }
        before = now;
    }
    learned
}

/// The one bucket that has more observations than before.
fn only_grown(before: &[f64], now: &[f64]) -> Option<usize> {
    let mut below = 0.0;
    let mut only = None;
    for (bucket, (now, before)) in now.iter().zip(before).enumerate() {
        let up_to = (now - before).max(0.0);
        if up_to - below > 0.0 && only.replace(bucket).is_some() {
            return None;
        }
        below = up_to;
    }
    only
}

/// A finite bucket while observations are placed.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    lower: f64,
    upper: f64,
    /// May be a fraction once scaled, and negative where a page contradicts itself.
    count: f64,
    /// A learned mean that lies inside.
    mean: Option<f64>,
    variance: f64,
}

impl Bucket {
    fn width(&self) -> f64 {
        self.upper - self.lower
    }

    fn middle(&self) -> f64 {
        (self.lower + self.upper) / 2.0
    }

    fn contains(&self, value: f64) -> bool {
        self.lower < value && value < self.upper
    }

    /// Not `clamp`, which panics on a first bucket below zero: its lower bound of zero is above the upper one.
    fn clip(&self, value: f64) -> f64 {
        value.max(self.lower).min(self.upper)
    }
}

/// The nine percentiles of [`aiperf_types::stats::PERCENTILES`].
///
/// `bounds` are upper bounds in ascending order, `up_to` the observations up to each, `learned` the data on each bucket
/// or empty. `None` if there is nothing to estimate from.
pub fn estimate(
    bounds: &[f64],
    up_to: &[i64],
    total: f64,
    observations: i64,
    learned: &[LearnedBucket],
) -> Option<[f64; 9]> {
    if observations <= 0 || bounds.is_empty() || !total.is_finite() || total < 0.0 {
        return None;
    }
    let (mut finite, mut beyond) = buckets(bounds, up_to, learned);
    // Where there are values on both sides of zero, a sum of zero does not mean that all are zero.
    let has_negatives = finite.iter().any(|bucket| bucket.lower.min(bucket.upper) < 0.0 && bucket.count > 0.0);
    if total == 0.0 && !has_negatives {
        return Some([0.0; 9]);
    }
    let largest = finite.last()?.upper;

    let mut target = total;
    let placed = finite.iter().map(|bucket| bucket.count).sum::<f64>() + beyond;
    if placed > MOST_OBSERVATIONS {
        let ratio = MOST_OBSERVATIONS / placed;
        finite.iter_mut().for_each(|bucket| bucket.count *= ratio);
        beyond *= ratio;
        target *= ratio;
    }
    let unbounded = unbounded_observations(&finite, beyond, largest, target);
    let mut all = finite_observations(finite, target - sum(&unbounded));
    all.extend(unbounded);
    percentiles(&mut all)
}

/// Finite buckets, and the observations beyond them.
fn buckets(bounds: &[f64], up_to: &[i64], learned: &[LearnedBucket]) -> (Vec<Bucket>, f64) {
    let mut finite: Vec<Bucket> = Vec::with_capacity(bounds.len());
    let (mut lower, mut below, mut beyond) = (0.0, 0, 0.0);
    for (at, (&upper, &up_to)) in bounds.iter().zip(up_to).enumerate() {
        let count = (up_to - below) as f64;
        if upper.is_infinite() {
            beyond = count;
            break;
        }
        let mut bucket = Bucket { lower, upper, count, mean: None, variance: 0.0 };
        if let Some(learned) = learned.get(at) {
            bucket.mean = learned.mean().filter(|mean| bucket.contains(*mean));
            bucket.variance = learned.variance().unwrap_or_default();
        }
        finite.push(bucket);
        (lower, below) = (upper, up_to);
    }
    (finite, beyond)
}

/// Those above the largest finite bound: spread evenly around the mean that the sum leaves for them.
fn unbounded_observations(finite: &[Bucket], beyond: f64, largest: f64, target: f64) -> Vec<f64> {
    let count = if beyond > 0.0 { beyond.ceil() as usize } else { 0 };
    if count == 0 {
        return Vec::new();
    }
    let filled = finite.iter().filter(|bucket| bucket.count > 0.0);
    let below: f64 = filled.map(|bucket| bucket.count * bucket.mean.unwrap_or(bucket.middle())).sum();
    let left = target - below;
    let mean = Some(left / count as f64).filter(|mean| left > 0.0 && *mean > largest);
    // Below zero, a multiple of the bound would lie on its other side.
    let beyond_bound = |factor: f64| (factor * largest).max(largest);
    let mean = mean.unwrap_or(beyond_bound(UNBOUNDED_MEAN));
    if count == 1 {
        return vec![mean];
    }
    let highest = Some(2.0 * mean - largest).filter(|highest| *highest > largest).unwrap_or(beyond_bound(2.0));
    let step = (highest - largest) / (count - 1) as f64;
    let mut placed: Vec<f64> = (0..count).map(|at| largest + at as f64 * step).collect();
    placed[count - 1] = highest;
    placed
}

/// Those in finite buckets, moved so that their sum comes near the target.
fn finite_observations(mut finite: Vec<Bucket>, mut target: f64) -> Vec<f64> {
    let count = |finite: &[Bucket]| finite.iter().map(|bucket| bucket.count).sum::<f64>();
    let mut observations = count(&finite);
    if observations > MOST_OBSERVATIONS {
        let ratio = MOST_OBSERVATIONS / observations;
        finite.iter_mut().for_each(|bucket| bucket.count *= ratio);
        target *= ratio;
        observations = count(&finite);
    }
    let average = if observations > 0.0 { target / observations } else { 0.0 };
    let dominant = dominant(&finite, observations);
    // In floating point, where counts that contradict each other do not overflow.
    let wanted: f64 = finite.iter().map(|bucket| bucket.count.trunc()).sum();
    let wanted = wanted.clamp(0.0, MOST_OBSERVATIONS) as usize;

    let mut placed: Vec<f64> = Vec::with_capacity(wanted);
    let mut filled: Vec<(Bucket, Range<usize>)> = Vec::new();
    for (at, bucket) in finite.iter().enumerate() {
        let room = wanted - placed.len();
        let count = (bucket.count.trunc().max(0.0) as usize).min(room);
        if count == 0 {
            continue;
        }
        let from = placed.len();
        let average = Some(average).filter(|average| dominant == Some(at) && bucket.contains(*average));
        place(bucket, count, average, &mut placed);
        filled.push((*bucket, from..placed.len()));
    }
    meet_sum(&filled, target, &mut placed);
    placed
}

/// The lowest bucket of those with most observations, where they are nearly all.
fn dominant(finite: &[Bucket], observations: f64) -> Option<usize> {
    let most = finite.iter().map(|bucket| bucket.count).fold(f64::NEG_INFINITY, f64::max);
    let is_dominant = observations > 0.0 && most / observations >= DOMINANT_SHARE;
    finite.iter().position(|bucket| bucket.count == most).filter(|_| is_dominant)
}

/// Places a bucket's observations, by what is known of it. `average` is that of all observations where this bucket has
/// nearly all.
fn place(bucket: &Bucket, count: usize, average: Option<f64>, placed: &mut Vec<f64>) {
    let (lower, width, middle) = (bucket.lower, bucket.width(), bucket.middle());
    let shares = (0..count).map(|at| (at as f64 + 0.5) / count as f64);
    let shifted = |share: f64, centre: f64| bucket.clip(lower + width * share + (centre - middle));
    let Some(mean) = bucket.mean.filter(|_| bucket.variance > 0.0) else {
        let centre = average.or(bucket.mean).unwrap_or(middle);
        placed.extend(shares.map(|share| shifted(share, centre)));
        return;
    };
    let variance = bucket.variance;
    let deviation = variance.sqrt();
    let spread = 4.0 * deviation / width;
    if spread < TWO_POINT_SPREAD {
        let above = mean - lower;
        let high = bucket.clip(mean + variance / above);
        let at_lower = (variance / (variance + above * above)).clamp(0.0, 1.0);
        let low = (count as f64 * at_lower).trunc() as usize;
        placed.extend((0..count).map(|at| if at < low { lower } else { high }));
        return;
    }
    let below = ((mean - lower) / deviation).min(REACH);
    let above = ((bucket.upper - mean) / deviation).min(REACH);
    let by_variance = |share: f64| {
        bucket.clip(if share < 0.5 {
            mean - below * deviation * (1.0 - 2.0 * share)
        } else {
            mean + above * deviation * (2.0 * share - 1.0)
        })
    };
    if spread < BLEND_SPREAD && (mean - middle).abs() / width < BLEND_OFFSET {
        placed.extend(shares.map(|share| bucket.clip(0.5 * shifted(share, mean) + 0.5 * by_variance(share))));
    } else {
        placed.extend(shares.map(by_variance));
    }
}

/// Moves each bucket's observations by its share of what the sum lacks, once.
fn meet_sum(filled: &[(Bucket, Range<usize>)], target: f64, placed: &mut [f64]) {
    let reached = sum(placed);
    if reached <= 0.0 || target <= 0.0 || (target - reached).abs() / target < SUM_TOLERANCE {
        return;
    }
    for (bucket, range) in filled {
        let observations = &mut placed[range.clone()];
        let share = sum(observations) / reached;
        let most = MOST_SHIFT * bucket.width();
        let shift = ((target - reached) * share / observations.len() as f64).min(most).max(-most);
        observations.iter_mut().for_each(|value| *value = bucket.clip(*value + shift));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_zero_means_that_all_values_are_zero_only_where_none_is_below() {
        assert_eq!(estimate(&[1.0, f64::INFINITY], &[4, 4], 0.0, 4, &[]), Some([0.0; 9]));
        let estimates = estimate(&[-1.0, 0.0, 1.0], &[0, 5, 10], 0.0, 10, &[]).unwrap();
        assert!(estimates[0] < 0.0 && estimates[8] > 0.0, "{estimates:?}");
    }

    #[test]
    fn what_lies_beyond_a_bound_below_zero_is_not_put_before_it() {
        let estimates = estimate(&[-2.0, f64::INFINITY], &[0, 3], 1e-9, 3, &[]).unwrap();
        assert!(estimates[0] >= -2.0, "{estimates:?}");
    }

    #[test]
    fn counts_that_contradict_each_other_do_not_overflow() {
        let (bounds, up_to) = ([1.0, 2.0, 3.0, f64::INFINITY], [i64::MAX, 0, i64::MAX, 5]);
        assert!(estimate(&bounds, &up_to, 10.0, 5, &[]).is_none_or(|estimates| estimates.is_sorted()));
    }

    #[test]
    fn only_intervals_in_which_one_bucket_grew_teach_its_mean() {
        let rows: [Snapshot<'_>; 4] =
            [(0.0, 0.0, &[0.0, 0.0]), (0.8, 2.0, &[2.0, 2.0]), (4.8, 4.0, &[3.0, 4.0]), (7.8, 5.0, &[3.0, 5.0])];
        let learned = learn(2, rows);
        assert_eq!(learned.iter().map(LearnedBucket::intervals).collect::<Vec<_>>(), [1, 1]);
        assert_eq!((learned[0].mean(), learned[1].mean()), (Some(0.4), Some(3.0)));
    }
}
