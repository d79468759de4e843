//! The metrics of a run.
//!
//! # Layout
//! - [`measurement`]: what the run measured of itself
//! - [`json`], [`csv`]: over the profiling phases
//! - [`timeslices_json`], [`timeslices_csv`]: the same by slices of time
//! - [`phases`]: the index of phases, and the files of each

pub mod csv;
pub mod json;
pub mod measurement;
pub mod phases;
pub mod timeslices_csv;
pub mod timeslices_json;
