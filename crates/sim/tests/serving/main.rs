//! The simulated server over real sockets.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used)]

mod burst;
mod client;
mod engine;
mod faults;
mod golden;
mod lengths;
mod truth;
