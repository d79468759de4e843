//! Runs the load: a conductor, workers, a record coordinator and record threads.
//!
//! The conductor is a value that lives in the only worker's loop, or on a thread of its own when there are several.
//! Workers send and read and do nothing else; record threads parse, count and compute at the lowest priority there
//! is, so that they never stand between a byte and its stamp.
//!
//! # Layout
//! - [`mod@run`]: a run from start to end; `sizing`: how many threads and connections it gets
//! - [`requests`]: what is sent, encoded before the clock starts
//! - `ahead`: what did not fit, encoded while the run is on
//! - [`travel`]: how the plan has requests travel
//! - `load`: the sending side. `conductor`: the schedule driven by a clock; `workers`: which worker a request goes to;
//!   `unsent`: how many wait for theirs; `worker`: requests in flight on one thread; `worker_counters`: what each did so far; `sessions`: what was said in those of several turns
//! - `reach`: whether any server is there
//! - [`hooks`]: what is done around phases
//! - `queue`: finished exchanges on their way, with a budget
//! - `failure_names`: what failures are called in records
//! - [`reading`]: answers read, once they are there or while they come; `legs`: requests of several legs;
//!   `secrets`: what no redirect takes to another server
//! - [`record`]: one exchange parsed, counted and measured; `trace`: its HTTP steps, and `raw`: all of it as it
//!   was, where they are asked for; `prompt_counts`: tokens of prompts; `recorder`: batches of records, added up
//! - `record_thread`: the threads that do so; `coordinator`: who hands them their work and writes what comes of it;
//!   `sampler`: when they are asked for running statistics; `curves`: what all of them know of the order of time
//! - `request_watch`: what is told of single requests; `failure_reports`: what the schedule hears of those that failed
//! - [`sinks`]: records in order of completion, written while the run is on; [`stalls`]: why one keeps them waiting
//! - [`events`]: what a run tells those who watch it; `phases`: how far its phases are; `progress`: when that is told
//! - [`quality`]: how exact the run itself was
//! - [`part`]: what came of a run as a value that is sent and merged with that of others
//! - [`stop`]: the wish to end early; [`error`]: why a run could not be made

mod ahead;
mod conductor;
mod coordinator;
mod curves;
pub mod error;
pub mod events;
mod failure_names;
mod failure_reports;
pub mod hooks;
mod legs;
mod load;
mod markers;
pub mod part;
mod phases;
mod progress;
mod prompt_counts;
pub mod quality;
mod queue;
mod raw;
mod reach;
pub mod reading;
pub mod record;
mod record_thread;
mod recorder;
mod request_watch;
pub mod requests;
pub mod run;
mod sampler;
mod secrets;
mod sessions;
mod shelf;
pub mod sinks;
mod sizing;
pub mod stalls;
pub mod stop;
#[cfg(test)]
mod testing;
mod trace;
pub mod travel;
mod unsent;
mod worker;
mod worker_counters;
mod workers;

pub use error::EngineError;
pub use events::{Events, Heard, Interest, Subscription};
pub use part::{PartError, PhasePart, RunPart};
pub use quality::Quality;
pub use requests::Requests;
pub use run::{Lost, Outcome, PhaseOutcome, Setup, check, run};
pub use sinks::{RecordSink, SinkFailure, SinkStall};
pub use stalls::{StallCause, StallTimes};
pub use stop::Stop;
