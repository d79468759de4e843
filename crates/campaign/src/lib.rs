//! One run wired together: dataset, engine and report. Many runs will stand on it.
//!
//! What needs more than the plan to be checked (a tokenizer's name, a directory that can be written to, enough
//! descriptors) is checked here, before anything is sent.
//!
//! # Layout
//! - [`profile`]: one run
//! - [`measurement`]: the run's own error, as numbers and in words
//! - [`tell`]: what is said while it runs

pub mod measurement;
pub mod profile;
pub mod tell;

pub use aiperf_engine::{Board, Stop};
pub use aiperf_metrics::docs::{markdown as metrics_markdown, registry_json as metrics_json};
pub use profile::{CampaignError, Finished, Prepared};
pub use tell::Teller;
