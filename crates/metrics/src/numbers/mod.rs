//! Numbers, independent of their meaning: statistics of a population, histograms, sums.

pub(crate) mod buckets;
pub(crate) mod chunks;
pub(crate) mod durations;
pub(crate) mod histogram;
pub(crate) mod quantiles;
pub(crate) mod scalar;
pub mod stats;
pub(crate) mod sum;
