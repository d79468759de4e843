//! When so many requests fail that a run is not worth going on with.

use aiperf_plan::PhasePlan;
use aiperf_types::PhaseKind;

/// Fewer records than this say nothing about the share of failures.
const FEWEST_RECORDS: u64 = 10;

/// Counts the records of a phase and those that failed.
#[derive(Clone, Debug, Default)]
pub struct FailureCount {
    /// The share past which a run ends; `None` where it never does.
    threshold: Option<f64>,
    /// Records before which nothing is decided: as many as may be in flight together.
    armed_at: u64,
    records: u64,
    failed: u64,
}

impl FailureCount {
    /// For a phase. A warm-up never ends a run.
    pub fn of(phase: &PhasePlan) -> Self {
        let threshold = phase.failed_request_threshold.filter(|_| phase.kind == PhaseKind::Profiling);
        let armed_at = phase.concurrency.map_or(1, u64::from).max(FEWEST_RECORDS);
        Self { threshold, armed_at, records: 0, failed: 0 }
    }

    /// Counts a record; `true` when the share of failures is now past what is allowed.
    pub fn add(&mut self, failed: bool) -> bool {
        self.records += 1;
        self.failed += u64::from(failed);
        let Some(threshold) = self.threshold.filter(|_| self.records >= self.armed_at) else { return false };
        self.failed as f64 / self.records as f64 > threshold
    }

    /// The share past which a run ends.
    pub fn threshold(&self) -> Option<f64> {
        self.threshold
    }

    /// Records so far, and of these the failed ones.
    pub fn counts(&self) -> (u64, u64) {
        (self.records, self.failed)
    }
}
