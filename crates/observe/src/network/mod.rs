//! The round trip to the servers, measured while a run is on.
//!
//! A separate thread opens a connection to each server at an interval and closes it again. The round trip is the
//! kernel's own time of the handshake, so a busy client does not lengthen it.
//!
//! # Layout
//! - `sample`: one probe and its outcome
//! - `summary`: the results of all of them
//! - `setup`: the input of the probing thread and its result
//! - `pacing`: when a server is probed
//! - `probing`: the thread that probes
//! - `prober`: all of it, for a run

mod pacing;
mod prober;
mod probing;
mod sample;
mod setup;
mod summary;

pub use prober::{ProbeThreadError, Prober};
pub use sample::{ProbeError, ProbeSample, RoundTrip};
pub use setup::{EncodeSample, ProbeSetup, Probed};
pub use summary::{NetworkSummary, ProbeErrors, RoundTripTimes, RoundTrips, TargetSummary};
