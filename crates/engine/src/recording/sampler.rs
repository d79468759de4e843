//! Asks the record threads for their running statistics and histograms, once for everyone who watches.

use crate::events::Events;
use crate::events::phases::PhaseTrack;
use crate::recording::recorder::{LiveByKind, Question, Recorder, Running};
use aiperf_metrics::{Live, Metrics, Summary, verdict};
use aiperf_types::{LatencyBucket, MetricSnapshot, MetricsSnapshot, MonoNs, Nanos, PhaseKind, Verdict};

/// Nobody sees more than ten snapshots a second.
const SHORTEST: Nanos = Nanos(100_000_000);
/// How long to wait for the running statistics of a thread that gets no core; its earlier ones are taken then.
const PATIENCE: Nanos = Nanos(200_000_000);
/// More bars than these are not told apart.
const MOST_BUCKETS: usize = 256;

/// When to ask, and what was answered.
pub(crate) struct Sampler {
    metrics: Option<Pace>,
    histograms: Option<Pace>,
    question: Question,
    /// When the question was put that is not answered yet.
    asked_at: Option<MonoNs>,
    /// By record thread: its latest answers, and to which question the last one was.
    answers: Vec<(Question, Running)>,
}

/// How often something is wanted, and when next.
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
    /// `None` where nobody wants anything.
    pub(crate) fn of(events: &Events, threads: usize, now: MonoNs) -> Option<Self> {
        let pace = |every: Option<Nanos>| every.map(|every| Pace::new(every, now));
        let (metrics, histograms) = (pace(events.metrics_every()), pace(events.histograms_every()));
        let answers = (0..threads).map(|_| Default::default()).collect();
        let is_wanted = metrics.is_some() || histograms.is_some();
        is_wanted.then(|| Self { metrics, histograms, question: Question::default(), asked_at: None, answers })
    }

    pub(crate) fn is_due(&self, now: MonoNs) -> bool {
        self.asked_at.is_none() && [&self.metrics, &self.histograms].into_iter().flatten().any(|pace| pace.is_due(now))
    }

    /// For what is due by now.
    pub(crate) fn ask(&mut self, now: MonoNs) -> Question {
        let due = |pace: &mut Option<Pace>| pace.as_mut().is_some_and(|pace| pace.take(now));
        self.question = self.question.next(due(&mut self.metrics), due(&mut self.histograms));
        self.asked_at = Some(now);
        self.question
    }

    pub(crate) fn answer(&mut self, thread: usize, asked: Question, running: Running) {
        let (answered, known) = &mut self.answers[thread];
        *answered = asked;
        known.update(running);
    }

    /// What all threads say, once they answered the question that is open or took too long.
    pub(crate) fn take_answers(&mut self, now: MonoNs, coordinator: &Recorder) -> Option<Running> {
        if !self.is_answered(now) {
            return None;
        }
        self.asked_at = None;
        let mut running = coordinator.running(self.question);
        self.answers.iter().for_each(|(_, answer)| running.merge(answer, self.question));
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
    // One that began earlier may go on for longer.
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
