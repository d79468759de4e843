//! The simulated server over real sockets.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail like tests")]

mod burst;
mod client;
mod engine;
mod faults;
mod golden;
mod lengths;
mod truth;
mod unix;
