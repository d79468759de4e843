//! Results of several runs: how far the trials of one benchmark agree, and the results of a sweep.
//!
//! Takes the results of runs and returns what `aiperf_report::aggregate` writes. No clock, no file.
//!
//! # Layout
//! - [`outcome`]: a run as one of many
//! - [`mod@confidence`]: each statistic over several runs
//! - [`mod@collate`]: the requests of several runs as one population
//! - [`mod@sweep`]: the cells of a sweep, the best of them, and their limits
//! - [`pareto`]: the points that no other point beats on both axes
//! - [`mod@sweep_table`]: the finished cells, for users who watch
//! - [`post_process`]: steps over the results of a sweep, one file per kind

pub mod collate;
pub mod confidence;
pub mod outcome;
pub mod pareto;
pub mod post_process;
pub mod sweep;
pub mod sweep_table;

pub use collate::{RunRecords, collate};
pub use confidence::{Confidence, ConfidenceError, confidence};
pub use outcome::{RunMetric, RunOutcome};
pub use sweep::{Cell, CellRuns, SweepRules, SweepRun, cells, sweep};
pub use sweep_table::sweep_table;
