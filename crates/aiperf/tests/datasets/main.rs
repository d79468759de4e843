//! What the real binary says to a server that writes down every request: datasets of every kind.
//!
//! # Layout
//! - [`recorded`]: a run, and the requests that the server received; [`bench`] is that of the tests of whole runs
//! - [`seeds`]: the same seed, the same dataset
//! - [`lengths`], [`corpora`], [`prefixes`]: made-up text, its lengths, what it is of and what stands before it
//! - [`markers`]: what keeps requests out of a server's cache
//! - [`examples`]: the commands of the documentation
//! - [`trace_tools`]: commands for traces, which send nothing

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

#[path = "../profile/bench.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod bench;
mod corpora;
mod examples;
mod lengths;
mod markers;
mod prefixes;
mod recorded;
mod seeds;
mod trace_tools;
