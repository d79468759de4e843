//! A log-linear histogram: every power of two is cut into equal parts.
//!
//! With 2^b parts a value is known to within 2^-(b+1) of itself: 0.049% for b = 10. An octave takes memory only once a
//! value falls into it, so a population that spans a factor of a thousand needs ten of them, 4 KB each. Counts are
//! integers: adding two histograms gives the histogram of both populations, bit for bit.

use crate::numbers::stats::{PERCENTILES, Rank};
use std::collections::BTreeMap;

/// Exponents that have octaves of their own: 2^-128 to 2^127; values beyond count as the nearest.
const EXPONENTS: usize = 256;
const LOWEST: i64 = -128;
const NONE: u8 = u8::MAX;

#[derive(Clone, Debug)]
struct Octave {
    exponent: usize,
    counts: Box<[u32]>,
}

/// Counts of values by magnitude.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    bits: u32,
    zeros: u64,
    slots: Box<[u8; EXPONENTS]>,
    octaves: Vec<Octave>,
    /// How often a count of 32 bits ran over, by exponent and part.
    overruns: BTreeMap<(usize, usize), u64>,
    /// Values below zero, by their distance from it.
    negative: Option<Box<Histogram>>,
}

impl Histogram {
    /// An empty histogram that cuts an octave into 2^`bits` parts.
    pub(crate) fn new(bits: u32) -> Self {
        Self {
            bits,
            zeros: 0,
            slots: Box::new([NONE; EXPONENTS]),
            octaves: Vec::new(),
            overruns: BTreeMap::new(),
            negative: None,
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        if value > 0.0 {
            let (exponent, part) = self.place(value);
            self.add_at(exponent, part, 1);
        } else if value < 0.0 {
            let bits = self.bits;
            self.negative.get_or_insert_with(|| Box::new(Self::new(bits))).add(-value);
        } else {
            self.zeros += 1;
        }
    }

    #[inline]
    fn place(&self, value: f64) -> (usize, usize) {
        let bits = value.to_bits();
        let exponent = (bits >> 52) as i64 - 1023 - LOWEST;
        let part = (bits >> (52 - self.bits)) as usize & ((1 << self.bits) - 1);
        match exponent {
            ..0 => (0, 0),
            0..256 => (exponent as usize, part),
            _ => (EXPONENTS - 1, (1 << self.bits) - 1),
        }
    }

    #[inline]
    fn add_at(&mut self, exponent: usize, part: usize, count: u32) {
        let slot = match self.slots[exponent] {
            NONE => self.open_octave(exponent),
            slot => slot as usize,
        };
        let cell = &mut self.octaves[slot].counts[part];
        let (sum, over) = cell.overflowing_add(count);
        *cell = sum;
        if over {
            *self.overruns.entry((exponent, part)).or_default() += 1;
        }
    }

    #[cold]
    fn open_octave(&mut self, exponent: usize) -> usize {
        let slot = self.octaves.len();
        self.slots[exponent] = slot as u8;
        self.octaves.push(Octave { exponent, counts: vec![0; 1 << self.bits].into_boxed_slice() });
        slot
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.zeros += other.zeros;
        for octave in &other.octaves {
            for (part, &count) in octave.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                self.add_at(octave.exponent, part, count);
            }
        }
        for (place, count) in &other.overruns {
            *self.overruns.entry(*place).or_default() += count;
        }
        if let Some(negative) = &other.negative {
            let bits = self.bits;
            self.negative.get_or_insert_with(|| Box::new(Self::new(bits))).merge(negative);
        }
    }

    /// Values with their counts, ascending. A value is the middle of its part.
    fn ascending(&self) -> Vec<(f64, u64)> {
        let mut values: Vec<(f64, u64)> = self
            .negative
            .iter()
            .flat_map(|negative| negative.ascending())
            .map(|(value, count)| (-value, count))
            .collect();
        values.reverse();
        if self.zeros > 0 {
            values.push((0.0, self.zeros));
        }
        let mut octaves: Vec<&Octave> = self.octaves.iter().collect();
        octaves.sort_unstable_by_key(|octave| octave.exponent);
        let parts = (1_u64 << self.bits) as f64;
        for octave in octaves {
            let scale = 2_f64.powi((octave.exponent as i64 + LOWEST) as i32);
            for (part, &count) in octave.counts.iter().enumerate() {
                let overruns = self.overruns.get(&(octave.exponent, part)).copied().unwrap_or(0);
                let count = u64::from(count) + (overruns << 32);
                if count > 0 {
                    values.push((scale * (1.0 + (part as f64 + 0.5) / parts), count));
                }
            }
        }
        values
    }

    /// The percentiles of [`PERCENTILES`], interpolated as in a sorted list, within the given bounds.
    pub(crate) fn percentiles(&self, min: f64, max: f64) -> [Option<f64>; 9] {
        let values = self.ascending();
        let total: u64 = values.iter().map(|(_, count)| count).sum();
        if total == 0 {
            return [None; 9];
        }
        let mut ends = Vec::with_capacity(values.len());
        let mut end = 0;
        for (_, count) in &values {
            end += count;
            ends.push(end);
        }
        let at = |rank: usize| values[ends.partition_point(|&end| end <= rank as u64)].0;
        PERCENTILES.map(|percent| {
            let rank = Rank::linear(percent, total);
            Some(rank.between(at(rank.low), at(rank.high)).clamp(min, max))
        })
    }

    /// Bytes held.
    pub(crate) fn size(&self) -> usize {
        EXPONENTS + self.octaves.len() * (4 << self.bits) + self.negative.as_ref().map_or(0, |negative| negative.size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_known_to_within_a_twentieth_of_a_percent() {
        for value in [1.0, 3.0, 999.0, 1023.0, 1025.0, 123_456_789.0, 2e-3, 7.5e11] {
            let mut histogram = Histogram::new(10);
            histogram.add(value);
            let found = histogram.percentiles(f64::MIN, f64::MAX)[4].unwrap();
            assert!((found / value - 1.0).abs() <= 0.0005, "{value} became {found}");
        }
    }

    #[test]
    fn negative_values_zero_and_positive_ones_are_in_order() {
        let mut histogram = Histogram::new(10);
        for value in [-100.0, -50.0, 0.0, 50.0, 100.0] {
            histogram.add(value);
        }
        let percentiles = histogram.percentiles(-100.0, 100.0);
        assert_eq!(percentiles[4], Some(0.0));
        assert!((percentiles[3].unwrap() + 50.0).abs() < 0.05);
        assert!((percentiles[5].unwrap() - 50.0).abs() < 0.05);
    }

    #[test]
    fn a_count_may_pass_four_thousand_million() {
        let mut histogram = Histogram::new(10);
        for _ in 0..3 {
            histogram.add_at(128, 0, u32::MAX);
        }
        assert_eq!(histogram.ascending()[0].1, 3 * u64::from(u32::MAX));
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!(twice.ascending()[0].1, 6 * u64::from(u32::MAX));
    }
}
