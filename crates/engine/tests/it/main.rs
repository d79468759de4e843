//! Whole exchanges through the engine: golden cases, responses that are cut off, mutated responses.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod golden;
mod mutated_responses;
mod reading;
