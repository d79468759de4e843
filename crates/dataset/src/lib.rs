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
//! - `media`: images, audio and video that are made
//! - `text`: texts that are made to length
//! - `files`: conversations of files, one file a format
//! - [`public`]: conversations of public datasets, one file a kind
//! - [`trace_tools`]: traces as files to look at and to make
//! - `session_id`: names of sessions
//! - `length`: numbers drawn from distributions
//! - `turn_shape`: turns as schedules see them
//! - `ahead`: work in parts, on all cores
//! - [`error`]: what can go wrong

mod ahead;
pub mod columns;
pub mod dataset;
pub mod error;
mod files;
mod length;
mod media;
pub mod public;
mod session_id;
pub mod source;
mod synthetic;
mod text;
pub mod trace_tools;
mod turn_shape;

pub use dataset::Dataset;
pub use error::DatasetError;
pub use public::Downloads;
pub use source::Making;
use turn_shape::turn_shape;
