//! The round trip to the servers, measured while a run is on.
//!
//! One thread of its own opens a connection to each server at a beat and closes it again. What is taken as the round
//! trip is the kernel's own time of the handshake, so that a busy client does not lengthen it.
//!
//! # Layout
//! - `sample`: one probe and its outcome
//! - `summary`: the results of all of them
//! - `setup`: what the probing thread is given and returns
//! - `pacing`: when a server is probed
//! - `probing`: the thread that probes
//! - `prober`: all of it, as a run holds it

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
