//! The subcommands: one file each.

pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod metrics;
pub(crate) mod profile;
pub(crate) mod schedule;
pub(crate) mod sim;
pub(crate) mod table;
