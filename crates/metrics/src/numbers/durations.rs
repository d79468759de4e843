//! Durations, summed as they arrive and not stored.

use crate::numbers::histogram::Histogram;
use crate::numbers::scalar::Scalar;
use crate::numbers::stats::{Distribution, Moments, Stats};
use serde::{Deserialize, Serialize};

/// Durations in nanoseconds: percentiles to within 2^-`BITS` of their value, everything else exact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Durations<const BITS: u32 = 6> {
    histogram: Histogram<BITS>,
    moments: Moments,
    min: u64,
    max: u64,
}

/// Gaps between content responses.
pub(crate) type Gaps = Durations<11>;

impl<const BITS: u32> Default for Durations<BITS> {
    fn default() -> Self {
        Self { histogram: Histogram::default(), moments: Moments::default(), min: u64::MAX, max: 0 }
    }
}

impl<const BITS: u32> Durations<BITS> {
    pub fn add(&mut self, nanos: u64) {
        self.add_all(&[nanos]);
    }

    #[inline]
    pub(crate) fn add_all(&mut self, lengths: &[u64]) {
        let (mut min, mut max) = (self.min, self.max);
        for &length in lengths {
            // A signed integer converts to a float in one instruction.
            self.histogram.add(1, length as i64 as f64);
            min = min.min(length);
            max = max.max(length);
        }
        (self.min, self.max) = (min, max);
        self.moments.add_all(lengths);
    }

    pub fn merge(&mut self, other: &Self) {
        self.histogram.merge(&other.histogram);
        self.moments.merge(&other.moments);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub fn count(&self) -> u64 {
        self.moments.count
    }

    /// In nanoseconds; zero if empty.
    pub fn mean(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.moments.sum as f64 / self.count() as f64 }
    }

    /// The longest; zero if empty.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The duration that a share of all does not exceed, in nanoseconds; zero if empty.
    pub fn quantile(&self, share: f64) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        let mut found = [0.0];
        self.histogram.quantiles(&[share * self.count() as f64], &mut found, self.max as f64);
        found[0].clamp(self.min as f64, self.max as f64)
    }

    pub(crate) fn distribution(&self) -> Option<Distribution> {
        let (count, sum) = (self.count(), self.moments.sum);
        if count == 0 {
            return None;
        }
        let mut stats = Stats {
            avg: Some(self.mean()),
            min: Some(self.min as f64),
            max: Some(self.max as f64),
            sum: Some(sum as f64),
            std: Some(self.moments.std()),
            count: Some(count),
            ..Stats::default()
        };
        stats.set_percentiles(self.histogram.percentiles(self.min as f64, self.max as f64));
        Some(Distribution { stats, sum: Scalar::Int(sum as i128), adjusted: None })
    }

    pub(crate) fn size(&self) -> usize {
        self.histogram.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_three_percent() {
        let mut delays: Durations = Durations::default();
        (1..=100_000u64).for_each(|n| delays.add(n * 10));
        for (share, exact) in [(0.5, 500_000.0), (0.99, 990_000.0)] {
            assert!((delays.quantile(share) / exact - 1.0).abs() < 0.03, "{share}");
        }
        assert_eq!(delays.max(), 1_000_000);
        assert!((delays.mean() - 500_005.0).abs() < 1e-6);
    }

    #[test]
    fn empty_small_and_huge_durations_are_counted() {
        let mut delays: Durations = Durations::default();
        assert_eq!((delays.count(), delays.max()), (0, 0));
        assert_eq!((delays.mean(), delays.quantile(0.5)), (0.0, 0.0));
        [0, 1, 15, 16, i64::MAX as u64].into_iter().for_each(|n| delays.add(n));
        assert_eq!((delays.quantile(0.2), delays.quantile(0.6)), (0.0, 15.0));
        assert_eq!(delays.count(), 5);
    }
}
