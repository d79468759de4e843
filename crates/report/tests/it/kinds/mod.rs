//! A run's outputs show exactly the metrics that its endpoint, its settings and its answers allow.
//!
//! Each test measures a handful of records as such an endpoint would give them, writes them down with the real writers,
//! and holds the summary JSON, the summary CSV, the record lines and the console tables against a list written by hand.
//!
//! # Layout
//! - [`vocabulary`]: every metric, in groups that come and go together
//! - [`shown`]: the four outputs, read back
//! - [`bench`]: records, and runs of them
//! - [`text`], [`vectors`], [`media`]: kinds of endpoints; [`everything`]: all of them, given all that a record can
//!   have
//! - [`settings`]: objectives, schedules, networks, drafts, GPUs; [`failures`]: requests that fail

mod bench;
mod everything;
mod failures;
mod media;
mod settings;
mod text;
mod vectors;
