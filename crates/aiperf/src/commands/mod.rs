//! The subcommands: one file each. `profile` decides between `one_run` and `many_runs`, which uses `one_run`.

pub(crate) mod analyze_trace;
pub(crate) mod compare;
pub(crate) mod config;
pub(crate) mod demo;
mod many_runs;
pub(crate) mod metrics;
mod one_run;
mod path;
pub(crate) mod profile;
pub(crate) mod schedule;
pub(crate) mod sim;
pub(crate) mod synthesize;
pub(crate) mod table;
mod validate_trace;
