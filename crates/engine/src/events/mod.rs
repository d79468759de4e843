//! What a run reports while it is on: the stream of events, and the state of phases and workers that it is made from.
//! Nothing here waits for a listener, and nothing here sends or computes.
//!
//! - `stream`: the listeners of a run, and what travels to each
//! - `phases`: what each phase is meant to do, and how far it is; `worker_counters`: what each worker did so far
//! - `progress`: when the progress of a phase is reported
//! - `request_watch`: messages about single requests; `failure_reports`: failed requests, as the schedule counts them

pub(crate) mod failure_reports;
pub(crate) mod phases;
pub(crate) mod progress;
pub(crate) mod request_watch;
mod stream;
pub(crate) mod worker_counters;

pub use stream::{Events, Heard, Interest, Observer, Subscription};
