//! Requests running statistics and histograms from the record threads, once for all consumers.

use crate::events::Events;
use crate::events::phases::PhaseTrack;
use crate::recording::recorder::{LiveByKind, Recorder, RunningStats, StatsRequest};
use aiperf_metrics::{Live, Metrics, Summary, verdict};
use aiperf_types::{LatencyBucket, MetricSnapshot, MetricsSnapshot, MonoNs, Nanos, PhaseKind, Verdict};

/// At most ten snapshots a second.
const SHORTEST: Nanos = Nanos(100_000_000);
/// How long to wait for the statistics of a thread that gets no core. After that, its earlier ones are used.
const PATIENCE: Nanos = Nanos(200_000_000);
/// More bars than these cannot be distinguished.
const MOST_BUCKETS: usize = 256;

/// Decides when to request statistics, and merges those of all threads.
pub(crate) struct Sampler {
    metrics: Option<Pace>,
    histograms: Option<Pace>,
    request: StatsRequest,
    /// The time of the open request.
    asked_at: Option<MonoNs>,
    /// By record thread: its latest statistics, and their request.
    by_thread: Vec<(StatsRequest, RunningStats)>,
}

/// How often something is due, and when next.
struct Pace {
    every: Nanos,
    next: MonoNs,
}

impl Pace {
    fn new(every: Nanos, now: MonoNs) -> Self {
        let every = every.max(SHORTEST);
        Self { every, next: now.plus(every) }
    }

    fn is_due(&self, now: MonoNs) -> bool {
        now >= self.next
    }

    /// Whether it is due; then the next time is set.
    fn take(&mut self, now: MonoNs) -> bool {
        let is_due = self.is_due(now);
        if is_due {
            self.next = self.next.plus(self.every).max(now);
        }
        is_due
    }
}

impl Sampler {
    /// `None` if no consumer wants statistics.
    pub(crate) fn of(events: &Events, threads: usize, now: MonoNs) -> Option<Self> {
        let pace = |every: Option<Nanos>| every.map(|every| Pace::new(every, now));
        let (metrics, histograms) = (pace(events.metrics_every()), pace(events.histograms_every()));
        let by_thread = (0..threads).map(|_| Default::default()).collect();
        let is_wanted = metrics.is_some() || histograms.is_some();
        is_wanted.then(|| Self { metrics, histograms, request: StatsRequest::default(), asked_at: None, by_thread })
    }

    pub(crate) fn is_due(&self, now: MonoNs) -> bool {
        self.asked_at.is_none() && [&self.metrics, &self.histograms].into_iter().flatten().any(|pace| pace.is_due(now))
    }

    /// Makes the request for the statistics that are due.
    pub(crate) fn ask(&mut self, now: MonoNs) -> StatsRequest {
        let due = |pace: &mut Option<Pace>| pace.as_mut().is_some_and(|pace| pace.take(now));
        self.request = self.request.next(due(&mut self.metrics), due(&mut self.histograms));
        self.asked_at = Some(now);
        self.request
    }

    pub(crate) fn add(&mut self, thread: usize, asked: StatsRequest, stats: RunningStats) {
        let (latest, known) = &mut self.by_thread[thread];
        *latest = asked;
        known.update(stats);
    }

    /// The merged statistics of all threads, once each has responded to the open request or has taken too long.
    pub(crate) fn take_merged(&mut self, now: MonoNs, coordinator: &Recorder) -> Option<RunningStats> {
        if !self.is_complete(now) {
            return None;
        }
        self.asked_at = None;
        let mut merged = coordinator.running_stats(self.request);
        self.by_thread.iter().for_each(|(_, stats)| merged.merge(stats, self.request));
        Some(merged)
    }

    fn is_complete(&self, now: MonoNs) -> bool {
        let all = || self.by_thread.iter().all(|(latest, _)| *latest == self.request);
        self.asked_at.is_some_and(|at| all() || now.since(at) > PATIENCE)
    }
}

/// The metrics of the kind of phase now running; `None` before its first record.
pub(crate) fn snapshot(
    phases: &[PhaseTrack],
    metrics: &Metrics,
    live: LiveByKind,
    judge: impl Fn(&Live, &Summary, Nanos) -> Verdict,
    now: MonoNs,
) -> Option<MetricsSnapshot> {
    let kind = phases.iter().rev().find(|phase| phase.started.get().is_some())?.id.kind;
    let of_kind = || phases.iter().filter(|phase| phase.id.kind == kind && phase.started.get().is_some());
    let first = of_kind().find_map(|phase| phase.started.get())?;
    let live: Live = match kind {
        PhaseKind::Warmup => live.warmup,
        PhaseKind::Profiling => live.profiling,
    }?;
    // A phase that began earlier may end later.
    let until = of_kind().map(|phase| phase.requests_done.get().map_or(now, |done| done.at)).max()?;
    let latencies = live.ranges(metrics, "request_latency", MOST_BUCKETS).into_iter();
    let latencies = latencies.map(|(from, to, count)| LatencyBucket { from, to, count }).collect();
    let elapsed = until.since(*first);
    let mut summary = live.summary(metrics);
    let verdict = judge(&live, &summary, elapsed);
    if kind == PhaseKind::Profiling {
        verdict::add_to(&mut summary, &verdict);
    }
    let metrics = summary
        .results
        .into_iter()
        .map(|result| MetricSnapshot { tag: result.tag, header: result.header, unit: result.unit, stats: result.stats })
        .collect();
    Some(MetricsSnapshot {
        kind,
        at: now,
        elapsed,
        records: live.records(),
        failed: live.failed(),
        metrics,
        verdict,
        latencies,
    })
}
