//! Aggregates of golden runs, the model hub, and what is checked before a run.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod golden_aggregate;
mod hub;
mod preparation;
