//! The subcommands: one file each.

pub(crate) mod analyze_trace;
pub(crate) mod compare;
pub(crate) mod config;
pub(crate) mod demo;
mod many_runs;
pub(crate) mod metrics;
pub(crate) mod profile;
pub(crate) mod schedule;
pub(crate) mod sim;
pub(crate) mod synthesize;
pub(crate) mod table;
mod validate_trace;
