//! Numbers, independent of their meaning: statistics of a population (stored, or visited twice), histograms, sums.

pub(crate) mod buckets;
pub(crate) mod chunks;
pub(crate) mod durations;
pub(crate) mod histogram;
pub(crate) mod in_parallel;
pub(crate) mod quantiles;
pub(crate) mod ranges;
pub(crate) mod scalar;
pub mod stats;
pub(crate) mod sum;
pub(crate) mod two_passes;
