//! Aggregates of golden runs, the model hub, what is checked before a run, and what follows it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod consumers;
mod golden_aggregate;
mod hub;
mod preparation;
