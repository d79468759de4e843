//! The verdict on a run while it is on. It is based on means. Percentiles, requests that were not sent and the clocks are
//! known at the end, so the verdict of the summary may be worse.

use crate::core_watch::CoreWatch;
use crate::kernel_counters::Disturbance;
use aiperf_metrics::{ConnectionWaits, Evidence, Live, Metrics, Quality, Summary, judge};
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

/// Reads, content responses and waits for connections so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ReadCounts {
    reads: u64,
    unstamped: u64,
    events: u64,
    coalesced: u64,
    waits: ConnectionWaits,
}

impl ReadCounts {
    pub(crate) fn of(quality: &Quality) -> Self {
        Self {
            reads: quality.reads(),
            unstamped: quality.unstamped_reads,
            events: quality.events,
            coalesced: quality.coalesced_events(),
            waits: quality.connection_waits(),
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.reads += other.reads;
        self.unstamped += other.unstamped;
        self.events += other.events;
        self.coalesced += other.coalesced;
        self.waits.merge(&other.waits);
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
        let share = |part: u64, all: u64| aiperf_metrics::share(part as f64, all as f64);
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
            connection_wait_ms: reads.waits.mean().as_millis_f64(),
            is_empty: live.records() == live.failed(),
            // Known when workers and phases have ended.
            unsent: 0.0,
            clock_ms: 0.0,
            clock_steps: 0,
            unfinished: 0.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::{Accumulator, RecordMetrics, RunTraits};
    use aiperf_plan::WorkerPriority;
    use aiperf_types::{ContentMark, EndpointKind, Measured, MonoNs, RequestError};

    /// The codes of the reasons for a run of one request, which took 50 ms.
    fn codes(quality: &Quality, error: Option<RequestError>) -> Vec<String> {
        let metrics = Arc::new(Metrics::for_run(RunTraits::new(EndpointKind::Chat, false)));
        let content = vec![ContentMark { at: MonoNs(50_000_000), output: true, reasoning: false }];
        let measured = Measured { end: MonoNs(50_000_000), content, error, ..Measured::default() };
        let (mut records, mut computed) = (Accumulator::new(&metrics), RecordMetrics::default());
        metrics.record(&measured, &mut computed);
        records.add(&measured, &computed);
        let judge = LiveJudge {
            metrics: metrics.clone(),
            cores: CoreWatch::new(WorkerPriority::Normal),
            disturbance: Arc::new(Disturbance::since_now()),
            wants_unstamped: false,
            wants_normal: false,
        };
        let live = records.live().unwrap();
        let second = Nanos(1_000_000_000);
        let verdict = judge.judge(&live, &live.summary(&metrics), ReadCounts::of(quality), second, Nanos(0));
        verdict.reasons.iter().map(|reason| reason.code.to_string()).collect()
    }

    #[test]
    fn waits_for_connections_and_a_lack_of_results_count_while_a_run_is_on() {
        let mut quality = Quality::default();
        quality.place_wait.add(20_000_000);
        assert!(codes(&quality, None).contains(&"connection_wait".to_owned()));
        let codes_of_good = codes(&Quality::default(), None);
        assert!(!codes_of_good.iter().any(|code| code == "connection_wait" || code == "no_results"));
        let failed = Some(RequestError::client("TimeoutError", "too late", &[]));
        assert!(codes(&Quality::default(), failed).contains(&"no_results".to_owned()));
    }
}
