//! What a benchmark says: conversations.
//!
//! A conversation is a pure function of the plan, the seed and its index: it does not matter how many threads ask, in
//! which order or how often. Nothing here knows a clock or a socket.
//! Files are read before anything else, and never again.
//!
//! # Layout
//! - [`dataset`]: [`Dataset`], conversations by index
//! - [`source`]: what every kind of dataset gives, and what it is made with
//! - [`columns`]: rows of Parquet and Arrow
//! - `synthetic`: conversations made to length
//! - `text`: texts that are made to length
//! - `files`: conversations of files, one file a format
//! - `additions`: what is put into all of them
//! - [`trace_tools`]: traces as files to look at and to make
//! - `session_id`: names of sessions
//! - `length`: numbers drawn from distributions
//! - `turn_shape`: turns as schedules see them
//! - [`error`]: what can go wrong

mod additions;
pub mod columns;
pub mod dataset;
pub mod error;
mod files;
mod length;
mod session_id;
pub mod source;
mod synthetic;
mod text;
pub mod trace_tools;
mod turn_shape;

pub use dataset::Dataset;
pub use error::DatasetError;
pub use source::Making;
use turn_shape::turn_shape;
