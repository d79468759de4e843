//! The verdict on a run while it is on. It is based on means. The summary adds percentiles and intervals.

use crate::core_watch::CoreWatch;
use crate::kernel_counters::Disturbance;
use aiperf_metrics::{Evidence, Live, Metrics, Quality, Summary, judge};
use aiperf_types::{Nanos, Verdict};
use std::sync::Arc;

/// Judges the numbers so far.
pub(crate) struct LiveJudge {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) cores: Arc<CoreWatch>,
    pub(crate) disturbance: Arc<Disturbance>,
    /// The user asked for the instants of reads.
    pub(crate) wants_unstamped: bool,
    /// The user asked for normal priority of workers.
    pub(crate) wants_normal: bool,
}

/// Reads and content responses so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadCounts {
    reads: u64,
    unstamped: u64,
    events: u64,
    coalesced: u64,
}

impl ReadCounts {
    pub(crate) fn of(quality: &Quality) -> Self {
        Self {
            reads: quality.reads(),
            unstamped: quality.unstamped_reads,
            events: quality.events,
            coalesced: quality.coalesced_events(),
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.reads += other.reads;
        self.unstamped += other.unstamped;
        self.events += other.events;
        self.coalesced += other.coalesced;
    }
}

impl LiveJudge {
    /// The verdict on a phase so far: `lasted` is its duration, `held` the time in which dispatch was held.
    pub(crate) fn judge(
        &self,
        live: &Live,
        summary: &Summary,
        reads: ReadCounts,
        lasted: Nanos,
        held: Nanos,
    ) -> Verdict {
        let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        let cores = self.cores.so_far();
        judge(&Evidence {
            bounds: &live.bounds(&self.metrics, summary),
            // Earlier phases held requests back, too.
            held: share(held.0, lasted.0.max(cores.watched_for.0)),
            stopped: share(cores.stopped.0, cores.watched_for.0),
            core_wait: share(cores.longest_wait.0, cores.watched_for.0),
            is_realtime: cores.are_realtime,
            steal: self.disturbance.steal_share().unwrap_or(0.0),
            throttled: self.disturbance.throttled().unwrap_or(0),
            unstamped: share(reads.unstamped, reads.reads),
            wants_unstamped: self.wants_unstamped,
            wants_normal: self.wants_normal,
            coalesced: share(reads.coalesced, reads.events),
            ..Evidence::default()
        })
    }
}
