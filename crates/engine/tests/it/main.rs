//! Whole exchanges through the engine: golden cases, cut answers, mutated answers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod golden;
mod mutated_answers;
mod reading;
