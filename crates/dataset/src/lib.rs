//! The content that a benchmark sends: conversations.
//!
//! A conversation is a pure function of the plan, the seed and its index. The number of threads that ask, their order
//! and how often they ask do not matter. The crate has no clock and no socket. Files are read once, before anything
//! else. Traces are the exception: they are scanned once, and their rows are read again when they are needed.
//!
//! # Layout
//! - [`dataset`]: [`Dataset`], conversations by index
//! - [`source`]: the trait of every kind of dataset, and what a dataset is made with
//! - [`columns`]: rows of Parquet and Arrow
//! - `synthetic`: conversations generated to length
//! - `media`: generated images, audio and video
//! - `text`: texts generated to length
//! - `files`: conversations from files, one file per format
//! - `additions`: additions to all conversations
//! - `trace`: traces, one file per format
//! - [`trace_tools`]: traces as files to analyse and to generate
//! - `public`: conversations of public datasets, one file per kind
//! - `plain_file`: files that users name; `image_file`: formats of image files; `json_kind`: JSON types in messages
//! - `session_id`: session ids; `iso_time`: times of recordings
//! - `length`: numbers drawn from distributions
//! - [`in_order`]: items made on all cores; [`courtesy`]: yielding to other threads
//! - [`turn_models`]: the model of each turn
//! - `turn_shape`: turns as the schedule sees them; `long_delays`: the note about long delays
//! - [`error`]: why a dataset cannot be made
//!
//! # Invariants
//! - The crate has no clock and no socket. A conversation is a function of the plan, the seed and its index.
//! - One file per layout of input files (`files`), per format of traces (`trace`) and per kind of public dataset
//!   (`public`); each folder has one table.
//! - The memory that input files take is counted while they are read (`files/room.rs`).

mod additions;
pub mod columns;
pub mod courtesy;
pub mod dataset;
pub mod error;
mod files;
mod image_file;
pub mod in_order;
mod iso_time;
mod json_kind;
mod length;
mod long_delays;
mod media;
mod plain_file;
mod public;
mod session_id;
pub mod source;
mod synthetic;
mod text;
mod trace;
pub mod trace_tools;
pub mod turn_models;
mod turn_shape;

pub use dataset::Dataset;
pub use error::DatasetError;
pub use source::{Downloads, FetchMedia, Fetched, Making, Repository};
pub use turn_models::TurnModels;
use turn_shape::turn_shape;
