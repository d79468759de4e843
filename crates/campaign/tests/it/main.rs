//! Aggregates of golden runs, the model hub, checks before a run, and consumers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod consumers;
mod golden_aggregate;
mod hub;
mod preparation;
