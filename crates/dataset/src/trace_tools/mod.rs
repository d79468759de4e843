//! Traces as files to look at and to make: nothing here is sent.
//!
//! - [`analysis`]: how long the requests of a trace are, and how much of them a cache could answer
//! - [`validate`]: whether a run could send the rows of a trace
//! - [`agentic`]: traces of coding agents, made up
//! - `lines`: lines of a file, one at a time; `numbers`: what numbers have in common

pub mod agentic;
pub mod analysis;
mod lines;
mod numbers;
pub mod validate;
