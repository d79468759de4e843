//! Weights by ranges of values, to find the range that contains a percentile.
//!
//! Every power of two is divided into 2^11 ranges, as in a histogram. Values are keys: integers of the same order
//! (`stats::float_key`). Only powers of two that occur take memory, so the values may lie far apart.

/// Ranges of a power of two, as a power of two.
const BITS: u32 = 11;
const PARTS: usize = 1 << BITS;
const SHIFT: u32 = 52 - BITS;
/// One for each sign and exponent of a float.
const OCTAVES: usize = 1 << 12;

/// The weight of each range.
#[derive(Clone, Debug)]
pub(crate) struct Ranges {
    octaves: Vec<Option<Box<[u64; PARTS]>>>,
}

impl Ranges {
    pub(crate) fn new() -> Self {
        Self { octaves: vec![None; OCTAVES] }
    }

    #[inline]
    pub(crate) fn add(&mut self, key: i64, weight: u64) {
        let (octave, part) = place(key);
        match &mut self.octaves[octave] {
            Some(parts) => parts[part] += weight,
            none => none.insert(Box::new([0; PARTS]))[part] = weight,
        }
    }

    /// The weight of the range that contains a key.
    #[inline]
    pub(crate) fn get(&self, key: i64) -> u64 {
        let (octave, part) = place(key);
        self.octaves[octave].as_ref().map_or(0, |parts| parts[part])
    }

    /// The smallest key of each range that has a weight, and that weight, ascending.
    pub(crate) fn used(&mut self) -> impl Iterator<Item = (i64, &mut u64)> {
        let octaves = self.octaves.iter_mut().enumerate().filter_map(|(octave, parts)| Some((octave, parts.as_mut()?)));
        let weights = octaves.flat_map(|(octave, parts)| {
            parts.iter_mut().enumerate().map(move |(part, weight)| (first_key(octave, part), weight))
        });
        weights.filter(|(_, weight)| **weight > 0)
    }
}

/// The range that contains a key.
#[inline]
pub(crate) fn range(key: i64) -> i64 {
    key >> SHIFT
}

#[inline]
fn place(key: i64) -> (usize, usize) {
    let range = range(key) + (OCTAVES * PARTS / 2) as i64;
    (range as usize / PARTS, range as usize % PARTS)
}

fn first_key(octave: usize, part: usize) -> i64 {
    ((octave * PARTS + part) as i64 - (OCTAVES * PARTS / 2) as i64) << SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::stats::float_key;

    #[test]
    fn ranges_are_listed_in_the_order_of_values() {
        let mut ranges = Ranges::new();
        let values = [f64::MIN, -3.5, -1e-300, 0.0, 1e-9, 1.0, 1.000_01, 2.0, 4095.0, 4096.0, 4097.0, f64::MAX];
        values.iter().for_each(|value| ranges.add(float_key(*value), 5));
        assert!(values.iter().all(|value| ranges.get(float_key(*value)) > 0) && ranges.get(float_key(7.0)) == 0);
        let used: Vec<(i64, u64)> = ranges.used().map(|(first, weight)| (first, *weight)).collect();
        assert!(used.is_sorted() && used.len() == values.len() - 2, "two pairs share a range: {used:?}");
        let firsts: Vec<i64> = used.iter().map(|(first, _)| *first).collect();
        for value in values {
            let known = firsts[..].partition_point(|first| *first <= float_key(value));
            assert_eq!(place(firsts[known - 1]), place(float_key(value)), "{value}");
        }
    }
}
