//! Many runs: how far trials of one benchmark agree, and what came of a sweep over its settings.
//!
//! Takes what runs came to and gives what `aiperf_report::aggregate` writes down; no clock, no file.
//!
//! # Layout
//! - [`outcome`]: a run as one of many
//! - [`mod@confidence`]: each statistic over several runs
//! - [`mod@collate`]: the requests of several runs as one population
//! - [`mod@sweep`]: cells of a sweep, the best of them, and what cells are held to
//! - [`pareto`]: which points no other is better than in every way
//! - [`mod@recipe_axes`]: what each recipe trades against what
//! - [`mod@sweep_table`]: the cells that are done, for people who watch
//! - [`post_process`]: what is made of a sweep when it is over, one file a kind

pub mod collate;
pub mod confidence;
pub mod outcome;
pub mod pareto;
pub mod post_process;
pub mod recipe_axes;
pub mod sweep;
pub mod sweep_table;

pub use collate::{RunRecords, collate};
pub use confidence::{Confidence, ConfidenceError, confidence};
pub use outcome::{RunMetric, RunOutcome};
pub use recipe_axes::recipe_axes;
pub use sweep::{Cell, CellRuns, SweepRules, SweepRun, cells, sweep};
pub use sweep_table::sweep_table;
