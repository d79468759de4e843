//! What a benchmark says: conversations.
//!
//! A conversation is a pure function of the plan, the seed and its index: it does not matter how many threads ask, in
//! which order or how often. Nothing here knows a clock or a socket.
//!
//! # Layout
//! - [`dataset`]: [`Dataset`], conversations by index
//! - [`synthetic`]: conversations made to length
//! - `length`: lengths drawn around a mean
//! - `prompt`: texts of exactly so many tokens
//! - `prose`: the sentences they are made of
//! - [`error`]: what can go wrong

pub mod dataset;
pub mod error;
mod length;
mod prompt;
mod prose;
pub mod synthetic;

pub use dataset::Dataset;
pub use error::DatasetError;
