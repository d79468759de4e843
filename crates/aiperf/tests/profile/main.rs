//! The real binary against the simulated server, over real sockets.
//!
//! # Layout
//! - [`bench`]: a run of the binary and what it left
//! - [`results`]: what a run writes
//! - [`which_metrics`]: which metrics it shows; [`vocabulary`] and [`shown`] are those of the report's own tests
//! - [`faults`]: servers that fail, lie or are not there
//! - [`stopping`]: signals, time limits
//! - [`input`]: bad input is refused before anything is sent

#![allow(clippy::unwrap_used)]

mod bench;
mod faults;
mod input;
mod results;
#[path = "../../../report/tests/kinds/shown.rs"]
mod shown;
mod stopping;
#[path = "../../../report/tests/kinds/vocabulary.rs"]
mod vocabulary;
mod which_metrics;
