//! The records of one phase: stored, watched live, summarised.

pub mod accumulator;
pub mod bounds;
mod curves;
mod errors;
pub mod gpu;
pub mod gpu_vendors;
pub mod histograms;
pub mod intervals;
pub mod live;
mod main_metrics;
pub mod records;
mod summarise;
pub mod summary;
mod tally;
pub mod until;
mod values;
