//! The records of one phase: kept, watched, summed up.

pub mod accumulator;
mod curves;
mod errors;
pub mod gpu;
pub mod gpu_vendors;
pub mod histograms;
pub mod live;
pub mod records;
mod summarise;
pub mod summary;
mod tally;
mod values;
