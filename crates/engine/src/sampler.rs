//! Asks the record threads for their running statistics and histograms, once for everyone who watches.

use crate::phases::PhaseTrack;
use crate::recorder::{LiveByKind, Recorder, Running};
use aiperf_metrics::{Live, Metrics};
use aiperf_types::{LatencyBucket, MetricSnapshot, MetricsSnapshot, MonoNs, Nanos, PhaseKind};

/// Nobody sees more than ten snapshots a second.
const SHORTEST: Nanos = Nanos(100_000_000);
/// How long to wait for the running statistics of a thread that gets no core; its earlier ones are taken then.
const PATIENCE: Nanos = Nanos(200_000_000);
/// More bars than these are not told apart.
const MOST_BUCKETS: usize = 256;

/// When to ask, and what was answered.
pub(crate) struct Sampler {
    every: Nanos,
    next: MonoNs,
    question: u64,
    /// When the question was put that is not answered yet.
    asked_at: Option<MonoNs>,
    /// By record thread: its latest answer, and to which question.
    answers: Vec<(u64, Running)>,
}

impl Sampler {
    pub(crate) fn new(every: Nanos, threads: usize, now: MonoNs) -> Self {
        let answers = (0..threads).map(|_| (0, Running::default())).collect();
        let every = every.max(SHORTEST);
        Self { every, next: now.plus(every), question: 0, asked_at: None, answers }
    }

    pub(crate) fn is_due(&self, now: MonoNs) -> bool {
        self.asked_at.is_none() && now >= self.next
    }

    pub(crate) fn ask(&mut self, now: MonoNs) -> u64 {
        self.question += 1;
        self.asked_at = Some(now);
        self.next = self.next.plus(self.every).max(now);
        self.question
    }

    pub(crate) fn answer(&mut self, thread: usize, asked: u64, running: Running) {
        self.answers[thread] = (asked, running);
    }

    /// The statistics of all threads, once they answered the question that is open or took too long.
    pub(crate) fn take_answers(&mut self, now: MonoNs, coordinator: &Recorder) -> Option<Running> {
        if !self.is_answered(now) {
            return None;
        }
        self.asked_at = None;
        let mut running = coordinator.running();
        self.answers.iter().for_each(|(_, answer)| running.merge(answer));
        Some(running)
    }

    fn is_answered(&self, now: MonoNs) -> bool {
        let all = || self.answers.iter().all(|(answered, _)| *answered == self.question);
        self.asked_at.is_some_and(|at| all() || now.since(at) > PATIENCE)
    }
}

/// The metrics of the kind of phase now running; `None` before its first record.
pub(crate) fn snapshot(
    phases: &[PhaseTrack],
    metrics: &Metrics,
    live: LiveByKind,
    now: MonoNs,
) -> Option<MetricsSnapshot> {
    let kind = phases.iter().rev().find(|phase| phase.started.get().is_some())?.id.kind;
    let of_kind = || phases.iter().filter(|phase| phase.id.kind == kind && phase.started.get().is_some());
    let first = of_kind().find_map(|phase| phase.started.get())?;
    let live: Live = match kind {
        PhaseKind::Warmup => live.warmup,
        PhaseKind::Profiling => live.profiling,
    }?;
    // One that began earlier may go on for longer.
    let until = of_kind().map(|phase| phase.requests_done.get().map_or(now, |done| done.at)).max()?;
    let latencies = live.ranges(metrics, "request_latency", MOST_BUCKETS).into_iter();
    let latencies = latencies.map(|(from, to, count)| LatencyBucket { from, to, count }).collect();
    let results = live.summary(metrics).results.into_iter();
    let metrics = results
        .map(|result| MetricSnapshot { tag: result.tag, header: result.header, unit: result.unit, stats: result.stats })
        .collect();
    Some(MetricsSnapshot {
        kind,
        at: now,
        elapsed: until.since(*first),
        records: live.records(),
        failed: live.failed(),
        metrics,
        latencies,
    })
}
