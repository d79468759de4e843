//! The gaps between content responses: summed up as they come, whether or not they are kept one by one.

use crate::numbers::scalar::Scalar;
use crate::numbers::stats::{Distribution, Moments, Stats};
use crate::numbers::weights::Weights;

/// Gaps of a phase or of a slice: percentiles from a histogram, everything else exact.
#[derive(Clone, Debug)]
pub(crate) struct Gaps {
    weights: Weights,
    moments: Moments,
    min: u64,
    max: u64,
}

impl Gaps {
    pub(crate) fn new() -> Self {
        Self { weights: Weights::default(), moments: Moments::default(), min: u64::MAX, max: 0 }
    }

    pub(crate) fn count(&self) -> u64 {
        self.moments.count
    }

    pub(crate) fn add(&mut self, gaps: &[u64]) {
        let (mut min, mut max) = (self.min, self.max);
        for &gap in gaps {
            self.weights.add(1, gap as i64 as f64);
            min = min.min(gap);
            max = max.max(gap);
        }
        (self.min, self.max) = (min, max);
        self.moments.add_all(gaps);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.weights.merge(&other.weights);
        self.moments.merge(&other.moments);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub(crate) fn distribution(&self) -> Option<Distribution> {
        let count = self.moments.count;
        if count == 0 {
            return None;
        }
        let sum = self.moments.sum;
        let mut stats = Stats {
            avg: Some(sum as f64 / count as f64),
            min: Some(self.min as f64),
            max: Some(self.max as f64),
            sum: Some(sum as f64),
            std: Some(self.moments.std()),
            count: Some(count),
            ..Stats::default()
        };
        stats.set_percentiles(self.weights.percentiles(self.min as f64, self.max as f64));
        Some(Distribution { stats, sum: Scalar::Int(sum as i128), adjusted: None })
    }

    pub(crate) fn size(&self) -> usize {
        self.weights.size()
    }
}
