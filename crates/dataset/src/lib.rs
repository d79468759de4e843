//! What a benchmark says: conversations.
//!
//! A conversation is a pure function of the plan, the seed and its index: it does not matter how many threads ask, in
//! which order or how often. Nothing here knows a clock or a socket.
//! Files are read before anything else, and never again.
//!
//! # Layout
//! - [`dataset`]: [`Dataset`], conversations by index
//! - [`synthetic`]: conversations made to length
//! - `files`: conversations of files, one file a format
//! - `session_id`: names of sessions
//! - `length`: lengths drawn around a mean
//! - `prompt`: texts of exactly so many tokens
//! - `prose`: the sentences they are made of
//! - `turn_shape`: turns as schedules see them
//! - [`error`]: what can go wrong

pub mod dataset;
pub mod error;
mod files;
mod length;
mod prompt;
mod prose;
mod session_id;
pub mod synthetic;
mod turn_shape;

pub use dataset::Dataset;
pub use error::DatasetError;
use turn_shape::turn_shape;
