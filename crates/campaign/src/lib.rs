//! One run wired together: dataset, engine and report. Many runs will stand on it.
//!
//! What needs more than the plan to be checked (a tokenizer's name, the metrics of objectives, a directory that can be
//! written to, enough descriptors) is checked here, before anything is sent.
//!
//! # Layout
//! - [`error`]: why a run could not be made
//! - [`campaign`]: what runs share, and each run from its preparation to its files
//! - [`control`]: calls to the servers around a run; `caller`: who makes them; `hooks`: what is done around phases
//! - [`hub`]: files of the Hugging Face hub, and its cache
//! - [`tokenizers`]: those of a run, fetched where they have to be
//! - `preparation`: what takes long before a run, done so that it can be interrupted
//! - `public_files`: files of public datasets, from caches, the hub or URLs; `media_fetcher`: what rows name by URL
//! - [`rehearsal`]: the schedule of a run, without the run
//! - [`objectives`]: whether requests can meet what they are held to; [`limits`]: whether a run can, and did; [`memory`]: whether prompts fit into it;
//!   [`certificates`]: whether those that the user trusts can be read; [`overwrites`]: whether a run would replace its input
//! - [`consumers`]: what follows a run and reports on it: OTLP, the servers' own metrics, GPUs, the round trip to the servers
//! - `result`: what a run came to; `slices`: the same, cut into slices of time
//! - [`runs`]: many runs, one after the other; [`gather`]: what they came to, said and written down
//! - [`measurement`]: the run's own error, as numbers and in words
//! - [`aggregate`]: what many runs came to: trials and sweeps; [`compare`]: runs side by side

pub mod aggregate;
mod caller;
pub mod campaign;
pub mod certificates;
pub mod compare;
pub mod consumers;
pub mod control;
pub mod error;
pub mod gather;
mod hooks;
pub mod hub;
mod kept;
pub mod limits;
pub mod measurement;
mod media_fetcher;
pub mod memory;
pub mod objectives;
pub mod overwrites;
mod preparation;
mod public_files;
pub mod rehearsal;
mod result;
pub mod runs;
mod sending;
mod slices;
pub mod tokenizers;

pub use aiperf_dataset::trace_tools;
pub use aiperf_engine::{Interest, Stop, Subscription};
pub use aiperf_metrics::docs::{markdown as metrics_markdown, registry_json as metrics_json};
pub use aiperf_metrics::{JudgedLimit, MetricResult};
pub use aiperf_transport::sys::set_lowest_niceness;
pub use campaign::{Campaign, Finished, Prepared};
pub use error::CampaignError;
pub use objectives::ObjectivesError;
