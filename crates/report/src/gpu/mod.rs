//! The files of GPU metrics.
//!
//! # Layout
//! - `json`: their part of the summary, and of each phase
//! - `csv`: their table in the summary CSV
//! - [`jsonl`]: every sample, written while the run is on

pub(crate) mod csv;
pub(crate) mod json;
pub mod jsonl;
