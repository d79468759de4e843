//! One run wired together: dataset, engine and report. Many runs will stand on it.
//!
//! What needs more than the plan to be checked (a tokenizer's name, the metrics of objectives, a directory that can be
//! written to, enough descriptors) is checked here, before anything is sent.
//!
//! # Layout
//! - [`profile`]: one run
//! - [`objectives`]: whether requests can meet what they are held to
//! - `slices`: its results cut into slices of time
//! - [`measurement`]: the run's own error, as numbers and in words
//! - [`mod@confidence`]: several runs of one benchmark, how far they agree
//! - [`tell`]: what is said while it runs; `live`: its statistics so far

pub mod confidence;
mod live;
pub mod measurement;
pub mod objectives;
pub mod profile;
mod slices;
pub mod tell;

pub use aiperf_engine::{Board, Stop};
pub use aiperf_metrics::docs::{markdown as metrics_markdown, registry_json as metrics_json};
pub use objectives::ObjectivesError;
pub use profile::{CampaignError, Finished, Prepared};
pub use tell::Teller;
