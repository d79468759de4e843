//! Flags, YAML and environment to a plan, and every message about bad input.
//!
//! # Layout
//! - [`flags`]: every flag, one table
//! - `tokens`: the command line to flags with raw values
//! - `values`: raw values to values of their kind
//! - `resolve`: values to a [`aiperf_plan::Plan`]
//! - `environment`: settings from `AIPERF_*` variables
//! - `command_line`: the command line as it is shown
//! - [`error`]: what is said about bad input

mod command_line;
mod environment;
pub mod error;
pub mod flags;
mod nearest;
mod resolve;
mod tokens;
mod values;

pub use error::{ConfigError, Problem};
pub use resolve::{Context, Resolved, resolve_profile};

fn help() -> String {
    flags::GROUPS
        .iter()
        .map(|group| {
            let rows: String = group
                .flags
                .iter()
                .map(|flag| format!("  {} {}\n      {}\n", flag.name, flag.placeholder(), flag.summary))
                .collect();
            format!("{}\n{rows}", group.title)
        })
        .collect()
}
