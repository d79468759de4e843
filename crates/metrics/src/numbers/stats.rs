//! Statistics of a population: exact, of integers or floats.

use crate::numbers::scalar::Scalar;
use crate::numbers::sum::Sum;
pub use aiperf_types::stats::{PERCENTILES, Stats};
use serde::{Deserialize, Serialize};

/// The statistics of some numbers; `None` if there are none. Reorders the values.
pub fn stats_of(values: &mut [f64]) -> Option<Stats> {
    let mut keys: Vec<i64> = values.iter().map(|&value| float_key(value)).collect();
    Encoding::Float.distribution(&mut keys, 0).map(|distribution| distribution.stats)
}

/// The same, with one infinite value for each of `errors` failures; percentiles by nearest rank.
pub fn stats_with_errors(values: &mut [f64], errors: u64) -> Option<Stats> {
    let mut keys: Vec<i64> = values.iter().map(|&value| float_key(value)).collect();
    Encoding::Float.distribution(&mut keys, errors).and_then(|distribution| distribution.adjusted)
}

/// A population's statistics in its own unit, with its exact sum.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Distribution {
    pub(crate) stats: Stats,
    pub(crate) sum: Scalar,
    /// With one infinite value for each failure, if there were any.
    pub(crate) adjusted: Option<Stats>,
}

/// How the values of a population are encoded as integers of the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Int,
    Float,
}

impl Encoding {
    pub(crate) fn decode(self, value: i64) -> f64 {
        match self {
            Self::Int => value as f64,
            Self::Float => float_of_key(value),
        }
    }

    /// The statistics of a population, and of that population with one infinite value for each of `errors` failures.
    /// Reorders the values.
    pub(crate) fn distribution(self, values: &mut [i64], errors: u64) -> Option<Distribution> {
        self.ranked(values, errors).map(|ranked| ranked.distribution)
    }

    /// The same, with the values at the ranks of percentiles.
    pub(crate) fn ranked(self, values: &mut [i64], errors: u64) -> Option<Ranked> {
        let bounds = bounds(values)?;
        let (sum, std) = match self {
            Self::Int => sum_of_ints(values, bounds),
            Self::Float => sum_of_floats(values),
        };
        let ranks = Ranks::of(values.len() as u64, errors);
        if bounds.0 < bounds.1 {
            place_ranks(values, ranks.needed(), 0);
        }
        Some(ranks.ranked(self, |rank| values[rank], sum, std, bounds))
    }
}

/// The exact sum, and the deviation, from exact sums if these fit.
fn sum_of_ints(values: &[i64], (min, max): (i64, i64)) -> (Scalar, f64) {
    let sum: i128 = values.iter().map(|&value| i128::from(value)).sum();
    let std = if has_exact_moments((min, max)) {
        let mut moments = Moments::default();
        values.iter().for_each(|&value| moments.add(value.abs_diff(min)));
        moments.std()
    } else {
        let mean = sum as f64 / values.len() as f64;
        deviation(squares(values.iter().map(|&value| value as f64), mean), values.len() as u64)
    };
    (Scalar::Int(sum), std)
}

/// Whether the squares of distances between integers in these bounds can be added exactly.
pub(crate) fn has_exact_moments((min, max): (i64, i64)) -> bool {
    max.abs_diff(min) < 1 << 40
}

fn sum_of_floats(keys: &[i64]) -> (Scalar, f64) {
    let values = || keys.iter().map(|&key| float_of_key(key));
    let sum = values().collect::<Sum>().value();
    (Scalar::Float(sum), deviation(squares(values(), sum / keys.len() as f64), keys.len() as u64))
}

fn bounds(values: &[i64]) -> Option<(i64, i64)> {
    let first = *values.first()?;
    Some(values.iter().fold((first, first), |(min, max), &value| (min.min(value), max.max(value))))
}

/// The ranks whose values give the percentiles of a population.
#[derive(Debug)]
pub(crate) struct Ranks {
    count: u64,
    errors: u64,
    linear: [Rank; 9],
    /// Among the values and one infinite value for each of `errors` failures.
    nearest: [u64; 9],
    needed: Vec<usize>,
}

impl Ranks {
    /// Those of a population that is not empty.
    pub(crate) fn of(count: u64, errors: u64) -> Self {
        let linear = PERCENTILES.map(|percent| Rank::linear(percent, count));
        let nearest = PERCENTILES.map(|percent| nearest_rank(percent, count + errors));
        let mut needed: Vec<usize> = linear.iter().flat_map(|rank| [rank.low, rank.high]).collect();
        if errors > 0 {
            needed.extend(nearest.iter().copied().filter(|&rank| rank < count).map(|rank| rank as usize));
        }
        needed.sort_unstable();
        needed.dedup();
        Self { count, errors, linear, nearest, needed }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// All of them, ascending.
    pub(crate) fn needed(&self) -> &[usize] {
        &self.needed
    }

    /// The statistics of a population with these values at its ranks.
    pub(crate) fn ranked(
        &self,
        encoding: Encoding,
        at: impl Fn(usize) -> i64,
        sum: Scalar,
        std: f64,
        (min, max): (i64, i64),
    ) -> Ranked {
        let Self { count, errors, linear, nearest, needed } = self;
        let values = needed.iter().map(|&rank| (rank, at(rank))).collect();
        let at = |rank: usize| encoding.decode(at(rank));
        let total = sum.as_f64();
        let (least, most) = (encoding.decode(min), encoding.decode(max));
        // Rounding may put the mean of equal values beside them.
        let mean = total / *count as f64;
        let mut stats = Stats {
            avg: Some(if least <= most { mean.clamp(least, most) } else { mean }),
            min: Some(least),
            max: Some(most),
            sum: Some(total),
            std: Some(if min == max { 0.0 } else { std }),
            count: Some(*count),
            ..Stats::default()
        };
        stats.set_percentiles(linear.map(|rank| Some(rank.between(at(rank.low), at(rank.high)))));
        let adjusted = (*errors > 0).then(|| {
            let mut stats = Stats { min: stats.min, count: Some(count + errors), ..Stats::default() };
            stats.set_percentiles(nearest.map(|rank| (rank < *count).then(|| at(rank as usize))));
            stats
        });
        Ranked { distribution: Distribution { stats, sum, adjusted }, min, values }
    }
}

/// The statistics of a population, and its values at the ranks that these need.
#[derive(Clone, Debug)]
pub(crate) struct Ranked {
    pub(crate) distribution: Distribution,
    pub(crate) min: i64,
    values: Vec<(usize, i64)>,
}

impl Ranked {
    /// The value at one of [`Ranks::needed`].
    pub(crate) fn at(&self, rank: usize) -> i64 {
        let place = self.values.partition_point(|(known, _)| *known < rank);
        self.values.get(place).map_or(self.min, |(_, value)| *value)
    }
}

/// The position of a percentile between two values of a sorted population.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rank {
    pub(crate) low: usize,
    pub(crate) high: usize,
    share: f64,
}

impl Rank {
    /// Linear interpolation between closest ranks.
    pub(crate) fn linear(percent: u8, count: u64) -> Self {
        let position = f64::from(percent) / 100.0 * (count - 1) as f64;
        let low = position.floor();
        let high = (low as usize + 1).min(count as usize - 1);
        Self { low: low as usize, high, share: position - low }
    }

    pub(crate) fn between(self, low: f64, high: f64) -> f64 {
        low + self.share * (high - low)
    }
}

/// The nearest rank, rounding half to even.
fn nearest_rank(percent: u8, count: u64) -> u64 {
    (f64::from(percent) / 100.0 * (count.max(1) - 1) as f64).round_ties_even() as u64
}

/// Moves the values of some ranks (ascending) to their positions without sorting the rest.
fn place_ranks(values: &mut [i64], ranks: &[usize], offset: usize) {
    if ranks.is_empty() || values.len() < 2 {
        return;
    }
    if values.len() <= 64 {
        values.sort_unstable();
        return;
    }
    let middle = ranks.len() / 2;
    let rank = ranks[middle] - offset;
    let (left, _, right) = values.select_nth_unstable(rank);
    place_ranks(left, &ranks[..middle], offset);
    place_ranks(right, &ranks[middle + 1..], offset + rank + 1);
}

/// A float as an integer of the same order.
pub(crate) fn float_key(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// The float of a key.
pub(crate) fn float_of_key(key: i64) -> f64 {
    f64::from_bits((key ^ (((key >> 63) as u64) >> 1) as i64) as u64)
}

/// Exact sums of integers and their squares, for values below 2^48.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Moments {
    pub(crate) count: u64,
    pub(crate) sum: u128,
    squares: u128,
}

impl Moments {
    pub(crate) fn of(count: u64, sum: u128, squares: u128) -> Self {
        Self { count, sum, squares }
    }

    pub(crate) fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.squares = self.squares.saturating_add(u128::from(value) * u128::from(value));
    }

    pub(crate) fn add_all(&mut self, values: &[u64]) {
        let (mut sum, mut squares) = (0_u128, 0_u128);
        for &value in values {
            sum += u128::from(value);
            squares = squares.saturating_add(u128::from(value) * u128::from(value));
        }
        self.count += values.len() as u64;
        self.sum += sum;
        self.squares = self.squares.saturating_add(squares);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Sample deviation. Distances are from the integer part of the mean, so nothing is lost to cancellation.
    pub(crate) fn std(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let count = u128::from(self.count);
        let (mean, rest) = (self.sum / count, self.sum % count);
        let distances = self.squares.saturating_sub(mean * (self.sum + rest));
        let around_mean = distances as f64 - rest as f64 * (rest as f64 / count as f64);
        (around_mean.max(0.0) / (self.count - 1) as f64).sqrt()
    }
}

/// The sum of the squares of all distances from the mean.
fn squares(values: impl Iterator<Item = f64>, mean: f64) -> Sum {
    values.map(|value| (value - mean) * (value - mean)).collect()
}

/// The sample deviation of `count` values, from the squares of their distances.
pub(crate) fn deviation(squares: Sum, count: u64) -> f64 {
    if count < 2 { 0.0 } else { (squares.value() / (count - 1) as f64).sqrt() }
}
