//! A histogram by magnitude: how often a value occurred, or how long it held.
//!
//! Every power of two is divided into 2^`BITS` parts, and a part represents its end that is nearer to zero. So a value
//! is known to within 2^-`BITS` of itself (0.049% for 11 bits), and whole numbers up to 2^(`BITS` + 1) exactly. Weights
//! are integers, so adding two histograms gives that of both, bit for bit.

use crate::numbers::quantiles::of_sorted;
use crate::numbers::stats::{PERCENTILES, Rank};
use serde::{Deserialize, Serialize};

/// Values nearer to zero count as zero: they are rounding errors.
pub(crate) const NOTHING: f64 = 1e-9;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Received<BITS>")]
pub(crate) struct Histogram<const BITS: u32> {
    zero: u64,
    /// The part of the first of `weights`.
    first: usize,
    weights: Vec<u64>,
    /// Values below zero, by their distance from zero.
    negative: Option<Box<Self>>,
}

/// A histogram from another machine, which may be damaged.
#[derive(Deserialize)]
struct Received<const BITS: u32> {
    zero: u64,
    first: usize,
    weights: Vec<u64>,
    negative: Option<Box<Histogram<BITS>>>,
}

impl<const BITS: u32> TryFrom<Received<BITS>> for Histogram<BITS> {
    type Error = &'static str;

    fn try_from(received: Received<BITS>) -> Result<Self, Self::Error> {
        let Received { zero, first, weights, negative } = received;
        let end = first.checked_add(weights.len()).filter(|end| *end <= Self::OCTAVES * Self::OCTAVE);
        match end.filter(|end| first % Self::OCTAVE == 0 && end % Self::OCTAVE == 0) {
            Some(_) => Ok(Self { zero, first, weights, negative }),
            None => Err("a histogram with parts out of range"),
        }
    }
}

impl<const BITS: u32> Histogram<BITS> {
    /// The number of exponents of a float.
    const OCTAVES: usize = 1 << 11;
    const OCTAVE: usize = 1 << BITS;
    const SHIFT: u32 = 52 - BITS;

    #[inline]
    pub(crate) fn add(&mut self, weight: u64, value: f64) {
        if value < NOTHING {
            self.add_below(weight, value);
            return;
        }
        let part = (value.to_bits() >> Self::SHIFT) as usize;
        let at = part.wrapping_sub(self.first);
        match self.weights.get_mut(at) {
            Some(known) => *known += weight,
            None => self.add_outside(part, weight),
        }
    }

    fn add_below(&mut self, weight: u64, value: f64) {
        if value > -NOTHING {
            self.zero += weight;
        } else {
            self.negative.get_or_insert_default().add(weight, -value);
        }
    }

    #[cold]
    fn add_outside(&mut self, part: usize, weight: u64) {
        let octave = part & !(Self::OCTAVE - 1);
        if self.weights.is_empty() {
            self.first = octave;
        }
        let (first, end) = (self.first.min(octave), (self.first + self.weights.len()).max(octave + Self::OCTAVE));
        self.weights.splice(0..0, std::iter::repeat_n(0, self.first - first));
        self.weights.resize(end - first, 0);
        self.first = first;
        self.weights[part - first] += weight;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.zero += other.zero;
        for (part, &weight) in (other.first..).zip(&other.weights).filter(|(_, weight)| **weight > 0) {
            self.add(weight, Self::value_of(part));
        }
        if let Some(negative) = &other.negative {
            self.negative.get_or_insert_default().merge(negative);
        }
    }

    fn value_of(part: usize) -> f64 {
        f64::from_bits((part as u64) << Self::SHIFT)
    }

    fn above_zero(&self) -> impl DoubleEndedIterator<Item = (f64, u64)> {
        let parts = self.weights.iter().enumerate().map(|(at, &weight)| (Self::value_of(self.first + at), weight));
        parts.filter(|(_, weight)| *weight > 0)
    }

    /// Values with their weights, ascending.
    fn ascending(&self) -> impl Iterator<Item = (f64, u64)> {
        let below = self.negative.iter().flat_map(|negative| negative.above_zero().rev());
        let below = below.map(|(value, weight)| (-value, weight));
        below.chain((self.zero > 0).then_some((0.0, self.zero))).chain(self.above_zero())
    }

    /// For each target (ascending) the smallest value by which that much weight has passed; `top` if there is none.
    pub(crate) fn quantiles(&self, targets: &[f64], found: &mut [f64], top: f64) {
        let mut passed = 0;
        let ascending = self.ascending().map(|(value, weight)| {
            passed += weight;
            (value, passed as f64)
        });
        of_sorted((0.0, 0.0), ascending, targets, found, top);
    }

    /// The percentiles of [`PERCENTILES`], interpolated as in a sorted list of values of weight one.
    pub(crate) fn percentiles(&self, min: f64, max: f64) -> [Option<f64>; 9] {
        let mut end = 0;
        let ends: Vec<(u64, f64)> = self
            .ascending()
            .map(|(value, weight)| {
                end += weight;
                (end, value)
            })
            .collect();
        if end == 0 {
            return [None; 9];
        }
        let at = |rank: usize| ends[ends.partition_point(|(end, _)| *end <= rank as u64)].1;
        PERCENTILES.map(|percent| {
            let rank = Rank::linear(percent, end);
            Some(rank.between(at(rank.low), at(rank.high)).clamp(min, max))
        })
    }

    /// How often values from zero on occurred, in contiguous ranges from the lowest value to the highest. The ranges
    /// are parts of powers of two, the finest that give at most `most` ranges. Each has a start, an end and a weight.
    pub(crate) fn ranges(&self, most: usize) -> Vec<(f64, f64, u64)> {
        let mut used =
            self.weights.iter().enumerate().filter(|(_, weight)| **weight > 0).map(|(at, _)| self.first + at);
        let Some(low) = used.next() else {
            return if self.zero > 0 { vec![(0.0, 0.0, self.zero)] } else { Vec::new() };
        };
        let high = used.next_back().unwrap_or(low);
        let most = most.max(2);
        let width = (0..).find(|width| (high >> width) - (low >> width) < most).unwrap_or(0);
        let value = |range: usize| Self::value_of(range << width);
        let mut ranges: Vec<(f64, f64, u64)> =
            (low >> width..=high >> width).map(|range| (value(range), value(range + 1), 0)).collect();
        for (part, weight) in (self.first..).zip(&self.weights).filter(|(part, _)| (low..=high).contains(part)) {
            ranges[(part >> width) - (low >> width)].2 += weight;
        }
        if self.zero > 0 {
            (ranges[0].0, ranges[0].2) = (0.0, ranges[0].2 + self.zero);
        }
        ranges
    }

    pub(crate) fn size(&self) -> usize {
        self.weights.capacity() * 8 + self.negative.as_ref().map_or(0, |negative| negative.size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn median<const BITS: u32>(histogram: &Histogram<BITS>, total: f64) -> f64 {
        let mut found = [0.0];
        histogram.quantiles(&[total / 2.0], &mut found, f64::MAX);
        found[0]
    }

    fn check_value<const BITS: u32>(value: f64) {
        let mut histogram = Histogram::<BITS>::default();
        histogram.add(10, value);
        let (found, parts) = (median(&histogram, 10.0), f64::from(1 << BITS));
        assert!(found.abs() <= value.abs() && (1.0 - found / value) < 1.0 / parts, "{value} became {found}");
        assert!(found == value || value.abs() > 2.0 * parts || value.fract() != 0.0, "{value} became {found}");
    }

    #[test]
    fn a_value_is_known_to_within_a_part_and_a_small_whole_number_exactly() {
        for value in [3.3e-9, 0.1, 1.0, 7.0, 127.0, 999.0, 4095.0, 12_345.678, 9.9e12, -5.0, -1e7] {
            check_value::<6>(value);
            check_value::<11>(value);
        }
    }

    #[test]
    fn zero_lies_between_negative_and_positive_values() {
        let mut histogram = Histogram::<11>::default();
        histogram.add(5, 2.0);
        histogram.add(6, 0.0);
        assert_eq!(median(&histogram, 11.0), 0.0);
        histogram.add(2, 1.0);
        assert_eq!(median(&histogram, 13.0), 1.0);
        histogram.add(1, -100.0);
        histogram.add(9, -50.0);
        assert_eq!(median(&histogram, 23.0), 0.0);
        let percentiles = histogram.percentiles(-100.0, 2.0);
        assert_eq!((percentiles[0], percentiles[3], percentiles[6]), (Some(-89.0), Some(-50.0), Some(2.0)));
    }

    #[test]
    fn ranges_contain_every_value_once_and_are_at_most_as_many_as_wanted() {
        assert!(Histogram::<8>::default().ranges(40).is_empty());
        for top in [1.0, 1.001, 1.3, 40.0, 1e6] {
            let mut histogram = Histogram::<8>::default();
            let values: Vec<f64> = (0..500).map(|at| 3e6 * (1.0 + (top - 1.0) * f64::from(at) / 500.0)).collect();
            values.iter().for_each(|value| histogram.add(1, *value));
            let ranges = histogram.ranges(40);
            assert!((1..=40).contains(&ranges.len()) && (top < 1.2 || ranges.len() > 15), "{top}: {}", ranges.len());
            assert!(ranges.windows(2).all(|two| two[0].1 == two[1].0), "contiguous");
            for (start, end, count) in ranges {
                let within = values.iter().filter(|value| (start..end).contains(*value)).count();
                assert_eq!(count, within as u64, "{start}..{end}");
            }
            histogram.add(7, 0.0);
            assert_eq!((histogram.ranges(40)[0].0, histogram.ranges(40).iter().map(|range| range.2).sum()), (0.0, 507));
        }
    }

    #[test]
    fn merged_histograms_are_the_histogram_of_both() {
        let values = [0.0, 5e3, 2e-3, 1.0, 5e3, 70.0, 8e9, -3.0, -1e4];
        let [mut whole, mut one, mut two] = [(); 3].map(|()| Histogram::<11>::default());
        for (at, value) in values.into_iter().enumerate() {
            whole.add(at as u64 + 1, value);
            if at % 2 == 0 { &mut one } else { &mut two }.add(at as u64 + 1, value);
        }
        one.merge(&two);
        assert_eq!(whole, one);
    }
}
