//! Counts requests that were released and wait until their worker begins them.

use aiperf_plan::Plan;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Requests that may wait per worker. At a rate far above what a worker can send, they would otherwise pile up without
/// end, and their lateness would be invisible.
const A_WORKER: u64 = 10_000;

/// Counts the waiting requests of all workers together.
#[derive(Debug)]
pub(crate) struct Unsent {
    waiting: AtomicU64,
    most: AtomicU64,
    /// All sessions that may be live at once may also begin at once.
    sessions: u64,
}

impl Unsent {
    pub(crate) fn of(plan: &Plan, workers: usize) -> Self {
        let slots = plan.phases.iter().filter_map(|phase| phase.concurrency).max().unwrap_or(0);
        let unsent = Self { sessions: u64::from(slots), ..Self::up_to(0) };
        unsent.share_over(workers);
        unsent
    }

    pub(crate) fn up_to(most: u64) -> Self {
        Self { waiting: AtomicU64::new(0), most: AtomicU64::new(most), sessions: 0 }
    }

    /// From now on, there are this many workers.
    pub(crate) fn share_over(&self, workers: usize) {
        self.most.store(A_WORKER.saturating_mul(workers.max(1) as u64).max(self.sessions), Relaxed);
    }

    fn most(&self) -> u64 {
        self.most.load(Relaxed)
    }

    /// One more request was released.
    pub(crate) fn add(&self) {
        self.waiting.fetch_add(1, Relaxed);
    }

    /// Some requests were begun, or never will be.
    pub(crate) fn remove(&self, count: u64) {
        self.waiting.fetch_sub(count, Relaxed);
    }

    /// Whether so many wait that no more may be released.
    pub(crate) fn is_behind(&self) -> bool {
        self.waiting.load(Relaxed) > self.most()
    }

    /// Whether few enough wait that more may be released.
    pub(crate) fn has_caught_up(&self) -> bool {
        self.waiting.load(Relaxed) <= self.most() / 2
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    #[test]
    fn as_many_requests_may_wait_as_sessions_begin_at_once() {
        let mut plan = plan("http://127.0.0.1:1");
        plan.phases[0].concurrency = Some(4);
        assert_eq!(Unsent::of(&plan, 2).most(), 20_000);
        plan.phases[0].concurrency = Some(50_000);
        let unsent = Unsent::of(&plan, 2);
        assert_eq!(unsent.most(), 50_000);
        unsent.share_over(8);
        assert_eq!(unsent.most(), 80_000);
        plan.phases[0].concurrency = None;
        let open = Unsent::of(&plan, 1);
        open.share_over(0);
        assert_eq!(open.most(), 10_000, "the conductor's worker still sends");
    }
}
