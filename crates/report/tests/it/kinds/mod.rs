//! A run's outputs show exactly the metrics that its endpoint, its settings and its responses allow.
//!
//! Each test measures a few records as such an endpoint would give them, writes them with the real writers, and
//! compares the summary JSON, the summary CSV, the record lines and the console tables with a list written by hand.
//!
//! # Layout
//! - [`vocabulary`]: every metric, in groups that occur together
//! - [`shown`]: the four outputs, read back
//! - [`bench`]: records, and runs of them
//! - [`text`], [`vectors`], [`media`]: kinds of endpoints; [`everything`]: all of them, with everything that a record
//!   can have
//! - [`settings`]: objectives, schedules, networks, drafts, GPUs; [`failures`]: requests that fail

mod bench;
mod everything;
mod failures;
mod media;
mod settings;
mod text;
mod vectors;
