//! Statistics of numbers that are not stored: sums and counts of buckets, so that nothing grows or is sorted while a
//! run is on.

use std::collections::BTreeMap;

/// Bits of a number that a bucket ignores: eight bits of the fraction stay, so a bucket is at most 0.4% wide.
const DROPPED_BITS: u32 = 52 - 8;

/// All numbers so far. Percentiles are exact to the width of a bucket; everything else is as exact as addition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution {
    pub(crate) count: u64,
    pub(crate) sum: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The running mean, for the squares.
    mean: f64,
    /// Squares of the distances to the mean.
    squares: f64,
    /// The count of each bucket and its latest value, in the order of values.
    buckets: BTreeMap<i64, (u64, f64)>,
}

impl Distribution {
    pub(crate) fn add(&mut self, value: f64) {
        let is_first = self.count == 0;
        self.count += 1;
        self.sum += value;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
        self.min = if is_first { value } else { self.min.min(value) };
        self.max = if is_first { value } else { self.max.max(value) };
        let bucket = self.buckets.entry(place(value)).or_default();
        *bucket = (bucket.0 + 1, value);
    }

    pub(crate) fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// Of a sample (divisor n - 1); zero for a single value.
    pub(crate) fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }

    /// A value from the bucket of the percentile.
    pub(crate) fn percentile(&self, percent: f64) -> f64 {
        let rank = (self.count.saturating_sub(1) as f64 * percent / 100.0).round() as u64;
        let mut before = 0;
        let found = self.buckets.values().find(|(count, _)| {
            before += count;
            before > rank
        });
        found.map_or(self.max, |(_, value)| *value)
    }
}

impl Extend<f64> for Distribution {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.add(value));
    }
}

/// The number of a value's bucket; larger values have larger numbers.
fn place(value: f64) -> i64 {
    let bits = (value.abs().to_bits() >> DROPPED_BITS) as i64;
    if value < 0.0 { -bits } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn percentiles_are_within_half_a_percent_of_a_neighbour(values in prop::collection::vec(-1e6..1e6f64, 1..200)) {
            let mut all = Distribution::default();
            all.extend(values.iter().copied());
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            for percent in [0.0, 25.0, 50.0, 99.0, 100.0] {
                let exact = sorted[((values.len() - 1) as f64 * percent / 100.0).round() as usize];
                let shown = all.percentile(percent);
                prop_assert!((shown - exact).abs() <= exact.abs() * 0.004, "{shown} for {exact}");
            }
            prop_assert!(all.mean() >= all.min - 1e-6 && all.mean() <= all.max + 1e-6);
            prop_assert!((all.deviation() - numbers::deviation(&values)).abs() <= 1e-3);
        }
    }
}
