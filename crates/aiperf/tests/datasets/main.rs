//! What the real binary says to a server that writes down every request: datasets of every kind.
//!
//! # Layout
//! - [`recorded`]: a run, and the requests that the server received; [`bench`] is that of the tests of whole runs
//! - [`files`]: files of every layout
//! - [`seeds`]: the same seed, the same dataset
//! - [`trace_tools`]: commands for traces, which send nothing

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

#[path = "../profile/bench.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod bench;
mod files;
mod recorded;
mod seeds;
mod trace_tools;
