//! A run that is over.

use aiperf_report::{RunResult, Written};

/// A run that is over and written down.
pub struct WrittenRun {
    pub result: RunResult,
    pub written: Written,
    /// No request was answered: all failed, or were cut off.
    pub nothing_answered: bool,
    /// It ended itself: more requests failed than was allowed, or no server was reachable.
    pub given_up: bool,
    /// The user ended it, or it ended itself.
    pub was_stopped: bool,
    /// What single requests of its profiling phases measured, by metric; empty if no later step needs them.
    pub values: Vec<(&'static str, Vec<f64>)>,
}

impl WrittenRun {
    /// Whether it has no results, or not all of them.
    pub fn has_failed(&self) -> bool {
        self.nothing_answered || self.given_up || self.is_partial()
    }

    /// Whether something is missing from its files.
    pub fn is_partial(&self) -> bool {
        self.result.has_lost_records || !self.written.failures.is_empty()
    }
}
