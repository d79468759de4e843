//! What a benchmark says: conversations.
//!
//! A conversation is a pure function of the plan, the seed and its index: it does not matter how many threads ask, in
//! which order or how often. Nothing here knows a clock or a socket.
//! Files are read before anything else, and never again, but for traces: those are looked through before anything else, and
//! their rows read again when they are wanted.
//!
//! # Layout
//! - [`dataset`]: [`Dataset`], conversations by index
//! - [`source`]: what every kind of dataset gives, and what and whom it is made with
//! - [`columns`]: rows of Parquet and Arrow
//! - `synthetic`: conversations made to length
//! - `media`: images, audio and video that are made
//! - `text`: texts that are made to length
//! - `files`: conversations of files, one file a format
//! - `additions`: what is put into all of them
//! - `trace`: traces, one file a format
//! - [`trace_tools`]: traces as files to look at and to make
//! - `public`: conversations of public datasets, one file a kind
//! - `plain_file`: files that users name; `image_file`: how those of images begin; `json_kind`: values in messages
//! - `session_id`: names of sessions
//! - `length`: numbers drawn from distributions
//! - [`in_order`]: things made on all cores; [`courtesy`]: giving way to others meanwhile
//! - [`turn_models`]: which model each turn goes to
//! - `turn_shape`: turns as schedules see them; `long_delays`: what is told of their delays
//! - [`error`]: what can go wrong
//!
//! # Invariants
//! - The crate knows no clock and no socket. A conversation is a function of the plan, the seed and its index.
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
