//! The files of server metrics.
//!
//! # Layout
//! - `statistics`, `unique_names`: shared by these files and the tables of the console
//! - [`json`], [`csv`]: statistics of every series
//! - `phases`: each phase, endpoint by endpoint
//! - [`parquet`]: every sample
//! - [`jsonl`]: every page, written while the run is on

pub(crate) mod statistics;
mod unique_names;

pub mod csv;
pub mod json;
pub mod jsonl;
pub mod parquet;
pub(crate) mod phases;
