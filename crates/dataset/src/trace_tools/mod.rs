//! Traces as files to analyse and to generate: nothing here is sent.
//!
//! - [`analysis`]: the lengths of the requests of a trace, and how much of them a cache could serve
//! - [`validate`]: whether a run could send the rows of a trace
//! - [`agentic`]: synthetic traces of coding agents
//! - `lines`: lines of a file, one at a time; `numbers`: statistics of numbers

pub mod agentic;
pub mod analysis;
mod lines;
mod numbers;
pub mod validate;
