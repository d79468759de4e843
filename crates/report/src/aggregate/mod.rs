//! The files of many runs: how far trials agree, and the results of the cells of a sweep.
//!
//! The values come from the caller; nothing is computed here.
//!
//! # Layout
//! - [`trials`]: several runs of one benchmark; [`confidence_json`], [`confidence_csv`]: their files
//! - [`pooled`]: the requests of several runs as one population; [`collated_json`]: its file
//! - [`sweep`]: one benchmark under several settings; [`sweep_json`], [`sweep_csv`]: its files
//! - [`files`]: names, and files that appear whole
//! - [`verdicts`]: the verdicts of runs on their own numbers
//! - `python`: values as the reference prints them

pub mod collated_json;
pub mod confidence_csv;
pub mod confidence_json;
pub mod files;
pub mod pooled;
mod python;
pub mod sweep;
pub mod sweep_csv;
pub mod sweep_json;
pub mod trials;
pub mod verdicts;

pub use files::{AggregateNames, write_collated, write_confidence, write_document, write_sweep};
pub use pooled::{Collated, Combined, Pooled, RunMean};
pub use sweep::{Best, CellMetrics, CellStats, SlaConstraints, Sweep, SweepCell, SweptParameter};
pub use trials::{AcrossRuns, CellOfSweep, ConfidenceReport, FailedRun, RunTally};
pub use verdicts::{RunVerdicts, verdict_mark};
