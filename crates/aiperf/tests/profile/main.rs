//! The real binary against the simulated server, over real sockets.
//!
//! # Layout
//! - [`bench`]: a run of the binary and what it left
//! - [`results`]: what a run writes
//! - [`faults`]: servers that fail, lie or are not there
//! - [`stopping`]: signals, time limits
//! - [`input`]: bad input is refused before anything is sent

#![allow(clippy::unwrap_used)]

mod bench;
mod faults;
mod input;
mod results;
mod stopping;
