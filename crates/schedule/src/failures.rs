//! When so many requests fail that a run is not worth going on with.

use aiperf_plan::PhasePlan;

/// Fewer records than this are too few to judge the share of failures.
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
        let armed_at = phase.session_limit().map_or(1, u64::from).max(FEWEST_RECORDS);
        Self { threshold: phase.failure_threshold(), armed_at, records: 0, failed: 0 }
    }

    /// Counts a record; `true` when the share of failures is now past what is allowed.
    pub fn add(&mut self, failed: bool) -> bool {
        self.records += 1;
        self.failed += u64::from(failed);
        self.is_past(self.records, self.failed)
    }

    /// Counts so many good records, then so many failed ones, as if they came one by one. Where the share of failures
    /// passes what is allowed among them: the records so far at that point, and of these the failed ones.
    pub fn add_run(&mut self, answered: u64, failed: u64) -> Option<(u64, u64)> {
        let (records, failed_before) = (self.records, self.failed);
        self.records += answered + failed;
        self.failed += failed;
        self.threshold?;
        // Good records lower the share, so of them the first that may decide does; failures raise it, so of them the
        // first that passes is found by halving.
        let first = (records + 1).max(self.armed_at);
        if first <= records + answered && self.is_past(first, failed_before) {
            return Some((first, failed_before));
        }
        let after = |more: u64| (records + answered + more, failed_before + more);
        let is_past = |more: u64| {
            let (records, failed) = after(more);
            self.is_past(records, failed)
        };
        if failed == 0 || !is_past(failed) {
            return None;
        }
        let (mut low, mut high) = (1, failed);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_past(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(after(high))
    }

    fn is_past(&self, records: u64, failed: u64) -> bool {
        let threshold = self.threshold.filter(|_| records >= self.armed_at);
        threshold.is_some_and(|threshold| failed as f64 / records as f64 > threshold)
    }

    /// Records so far, and of these the failed ones.
    pub fn counts(&self) -> (u64, u64) {
        (self.records, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_of_records_decide_as_records_one_by_one(
            threshold in 0.0..1.0, armed_at in 1u64..40, runs in prop::collection::vec((0u64..30, 0u64..30), 1..12),
        ) {
            let count = FailureCount { threshold: Some(threshold), armed_at, records: 0, failed: 0 };
            let (mut by_run, mut one_by_one) = (count.clone(), count);
            for (answered, failed) in runs {
                let mut first = None;
                for record in 0..answered + failed {
                    if one_by_one.add(record >= answered) && first.is_none() {
                        first = Some(one_by_one.counts());
                    }
                }
                prop_assert_eq!(by_run.add_run(answered, failed), first);
                prop_assert_eq!(by_run.counts(), one_by_one.counts());
            }
        }
    }
}
