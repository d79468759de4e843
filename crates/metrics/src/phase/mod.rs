//! The records of one phase: kept, watched, summed up.

pub mod accumulator;
mod errors;
pub mod gpu;
pub mod live;
mod summarise;
pub mod summary;
mod tally;
