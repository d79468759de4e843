//! A histogram by magnitude: how often a value occurred, or how long it held.
//!
//! Every power of two is cut into 2048 parts, and a part stands for its lower end: a value is known to within 0.049%, and
//! whole numbers up to 4096 exactly. Weights are integers, so adding two histograms gives that of both, bit for bit.

use crate::numbers::stats::{PERCENTILES, Rank};

/// Bits of the mantissa that tell parts of an octave apart.
const BITS: u32 = 11;
const OCTAVE: usize = 1 << BITS;
const SHIFT: u32 = 52 - BITS;

/// Values below are zero: they are what rounding left of it.
pub(crate) const NOTHING: f64 = 1e-9;

/// Weights by value; values are never negative.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weights {
    zero: u64,
    /// The part that the first of `weights` belongs to.
    first: usize,
    weights: Vec<u64>,
}

impl Weights {
    #[inline]
    pub(crate) fn add(&mut self, weight: u64, value: f64) {
        if value < NOTHING {
            self.zero += weight;
            return;
        }
        let part = (value.to_bits() >> SHIFT) as usize;
        let at = part.wrapping_sub(self.first);
        match self.weights.get_mut(at) {
            Some(known) => *known += weight,
            None => self.add_outside(part, weight),
        }
    }

    #[cold]
    fn add_outside(&mut self, part: usize, weight: u64) {
        let octave = part & !(OCTAVE - 1);
        if self.weights.is_empty() {
            self.first = octave;
        }
        let (first, end) = (self.first.min(octave), (self.first + self.weights.len()).max(octave + OCTAVE));
        self.weights.splice(0..0, std::iter::repeat_n(0, self.first - first));
        self.weights.resize(end - first, 0);
        self.first = first;
        self.weights[part - first] += weight;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.zero += other.zero;
        for (part, &weight) in (other.first..).zip(&other.weights).filter(|(_, weight)| **weight > 0) {
            self.add(weight, value_of(part));
        }
    }

    /// Values with their weights, ascending.
    fn ascending(&self) -> impl Iterator<Item = (f64, u64)> {
        let parts = (self.first..).zip(&self.weights).map(|(part, &weight)| (value_of(part), weight));
        std::iter::once((0.0, self.zero)).chain(parts).filter(|(_, weight)| *weight > 0)
    }

    /// For each target (ascending) the smallest value by which that much weight has passed; `top` where none is.
    pub(crate) fn quantiles(&self, targets: &[f64], found: &mut [f64], top: f64) {
        let mut rest = self.ascending();
        let (mut passed, mut value) = (0_u64, 0.0);
        for (target, found) in targets.iter().zip(found) {
            while (passed as f64) < *target {
                match rest.next() {
                    Some((next, weight)) => {
                        passed += weight;
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
    }

    /// The percentiles of [`PERCENTILES`], interpolated as in a sorted list of values that weigh one each.
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

    /// Bytes held.
    pub(crate) fn size(&self) -> usize {
        self.weights.capacity() * 8
    }
}

/// The lower end of a part.
fn value_of(part: usize) -> f64 {
    f64::from_bits((part as u64) << SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn median(histogram: &Weights, total: f64) -> f64 {
        let mut found = [0.0];
        histogram.quantiles(&[total / 2.0], &mut found, f64::MAX);
        found[0]
    }

    #[test]
    fn a_value_is_known_to_within_a_twentieth_of_a_percent_and_a_small_whole_number_exactly() {
        for value in [3.3e-9, 0.1, 1.0, 7.0, 999.0, 4095.0, 12_345.678, 9.9e12] {
            let mut histogram = Weights::default();
            histogram.add(10, value);
            let found = median(&histogram, 10.0);
            assert!(found <= value && (1.0 - found / value) < 4.9e-4, "{value} became {found}");
            assert!(found == value || value > 4096.0 || value.fract() != 0.0);
        }
    }

    #[test]
    fn what_is_zero_comes_before_all_else() {
        let mut histogram = Weights::default();
        histogram.add(5, 2.0);
        histogram.add(6, 0.0);
        assert_eq!(median(&histogram, 11.0), 0.0);
        histogram.add(2, 1.0);
        assert_eq!(median(&histogram, 13.0), 1.0);
    }

    #[test]
    fn merged_histograms_are_that_of_both() {
        let values = [0.0, 5e3, 2e-3, 1.0, 5e3, 70.0, 8e9];
        let [mut whole, mut one, mut two] = [(); 3].map(|()| Weights::default());
        for (at, value) in values.into_iter().enumerate() {
            whole.add(at as u64 + 1, value);
            if at % 2 == 0 { &mut one } else { &mut two }.add(at as u64 + 1, value);
        }
        one.merge(&two);
        assert_eq!((whole.zero, whole.first, &whole.weights), (one.zero, one.first, &one.weights));
    }
}
