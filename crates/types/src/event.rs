//! What a run reports while it is on, for log, progress, dashboards, scrapers, exporters.
//!
//! Phases and messages reach every consumer; of snapshots only the latest does. There is no message per record.

use crate::{LogLevel, MonoNs, Nanos, PhaseId, PhaseKind, Stats, Verdict, WallAnchor, WallNs};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Something that happened in a run. Instants are on the run's monotonic clock; [`RunStarted::anchor`] turns them into
/// wall time.
///
/// The events of one phase come in the order of this list. A phase starts when the requests of the one before are done,
/// or, where it is seamless, when that one sends no more: then both are on at once. A phase may be complete after the
/// next one started in either case, since records take their time.
#[derive(Clone, Debug)]
pub enum RunEvent {
    RunStarted(Arc<RunStarted>),
    PhaseStarted(Arc<PhaseStarted>),
    /// A phase sends no more; requests may be in flight.
    SendingComplete(PhaseMoment),
    /// Its last request came back, or was given up; records may still be computed.
    RequestsDone(PhaseMoment),
    /// Its records are computed and written.
    PhaseComplete(PhaseMoment),
    Message(Message),
    /// How far the preparation of a run is, where it takes longer than a moment: for those who want progress.
    Preparing(Arc<Preparing>),
    /// Ten times a second, the latest only.
    Progress(Arc<Progress>),
    /// As often as the most eager listener wants it, the latest only.
    Metrics(Arc<MetricsSnapshot>),
    /// What records measured as histograms, over the whole run so far; the latest only.
    Histograms(Arc<Histograms>),
    /// Every record of the run is computed; with all histograms, where a consumer wants them.
    RecordsComplete(Option<Arc<Histograms>>),
    /// The servers' own metrics, while a profiling phase is on; the latest only.
    ServerMetrics(Arc<ServerSnapshot>),
    /// What GPUs report, as often as metrics come and where a value changed, also between phases; the latest only.
    GpuMetrics(Arc<GpuSnapshot>),
    /// A source of measurements beside the requests answers: a scraped endpoint, a GPU.
    SourceFound {
        at: MonoNs,
        source: Source,
    },
    SourceLost {
        at: MonoNs,
        source: Source,
    },
    /// Everything that there is to write is written.
    RunFinished {
        was_stopped: bool,
    },
}

#[derive(Clone, Debug)]
pub struct RunStarted {
    pub benchmark_id: Arc<str>,
    /// The run's one pair of clock readings, taken before anything of it began.
    pub anchor: WallAnchor,
    /// Where its files go.
    pub directory: Arc<Path>,
}

#[derive(Clone, Debug)]
pub struct PhaseStarted {
    pub phase: Arc<PhaseId>,
    pub at: MonoNs,
    pub targets: PhaseTargets,
    /// How its load arrives and within which limits, in words.
    pub load: Arc<str>,
    /// What ends its sending, in words.
    pub target: Arc<str>,
}

/// What is done before a run starts.
#[derive(Clone, Debug)]
pub struct Preparing {
    pub stage: &'static str,
    pub done: u64,
    pub total: Option<u64>,
}

/// What a phase is meant to do; whichever is met first ends its sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseTargets {
    pub requests: Option<u64>,
    pub sessions: Option<u64>,
    pub length: Option<Nanos>,
    /// Slots for sessions that are under way, each with a request in flight at most.
    pub concurrency: Option<u32>,
}

/// A phase at one of its turning points.
#[derive(Clone, Debug)]
pub struct PhaseMoment {
    pub phase: Arc<PhaseId>,
    pub at: MonoNs,
    pub counts: PhaseProgress,
}

#[derive(Clone, Debug)]
pub struct Message {
    pub at: WallNs,
    pub level: LogLevel,
    pub text: Arc<str>,
}

/// What a source of measurements gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    ServerMetrics,
    GpuTelemetry,
}

impl SourceKind {
    /// As messages name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ServerMetrics => "server metrics",
            Self::GpuTelemetry => "GPU telemetry",
        }
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where measurements come from, as in (`server metrics`, `http://host:8000/metrics`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub kind: SourceKind,
    pub address: Arc<str>,
    /// Why it was lost, or what it was found to be.
    pub detail: Option<Arc<str>>,
}

/// How far one phase is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseProgress {
    pub sent: u64,
    /// Requests that came back, failed ones included.
    pub completed: u64,
    /// Of these, failed ones.
    pub errors: u64,
    /// Cancelled from outside.
    pub cancelled: u64,
    /// Sessions of which the first request was sent.
    pub sessions_sent: u64,
    /// Sessions of which the last request came back.
    pub sessions_completed: u64,
    /// Sessions of which the last request was cancelled from outside.
    pub sessions_cancelled: u64,
    /// Requests that all sessions begun so far will have sent in the end.
    pub session_turns: u64,
    /// Requests that no longer wait for their first content.
    pub prefills_released: u64,
    /// Requests that a rate, users or a recording asked for so far. Once a phase sends no more, each of them was sent, or
    /// is one of the three that follow.
    pub offered: u64,
    /// Of these, those that found no free slot and were dropped.
    pub missed: u64,
    /// Of these, those that were due and not sent when the phase stopped sending, because this client held back or was late.
    pub unsent_held: u64,
    /// Of these, those that were due and still waited for a slot when the phase stopped sending.
    pub unsent_waiting: u64,
    /// Ticks of a rate that had nothing to send: all sessions were begun, and none had a turn due. They are not offered.
    pub idle: u64,
    /// How far the schedule was moved because it could not be caught up.
    pub slip: Nanos,
    /// Known once its requests are done.
    pub ending: PhaseEnding,
}

/// How the requests of a phase ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseEnding {
    /// Its time was up before its counts were reached.
    pub timed_out: bool,
    /// The grace period ran out and requests in flight were cancelled.
    pub grace_expired: bool,
    /// The user stopped it, or too many failures did.
    pub was_stopped: bool,
}

impl PhaseEnding {
    /// Of both parts of a phase together: what happened to one of them happened.
    pub fn merge(&mut self, other: Self) {
        self.timed_out |= other.timed_out;
        self.grace_expired |= other.grace_expired;
        self.was_stopped |= other.was_stopped;
    }
}

impl PhaseProgress {
    /// Adds the counts of another part of the same phase. Each part has a schedule of its own: the one that was moved
    /// furthest counts.
    pub fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.completed += other.completed;
        self.errors += other.errors;
        self.cancelled += other.cancelled;
        self.sessions_sent += other.sessions_sent;
        self.sessions_completed += other.sessions_completed;
        self.sessions_cancelled += other.sessions_cancelled;
        self.session_turns += other.session_turns;
        self.prefills_released += other.prefills_released;
        self.offered += other.offered;
        self.missed += other.missed;
        self.unsent_held += other.unsent_held;
        self.unsent_waiting += other.unsent_waiting;
        self.idle += other.idle;
        self.slip = self.slip.max(other.slip);
        self.ending.merge(other.ending);
    }

    pub fn in_flight(&self) -> u64 {
        self.sent.saturating_sub(self.completed + self.cancelled)
    }

    pub fn sessions_in_flight(&self) -> u64 {
        self.sessions_sent.saturating_sub(self.sessions_completed + self.sessions_cancelled)
    }
}

/// What a phase is doing, while progress is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PhaseStage {
    #[default]
    Sending,
    /// It stopped sending and waits for what is in flight.
    Draining,
    /// Its requests are done; records of theirs are still computed.
    Processing,
}

/// A phase that is not complete, about ten times a second.
#[derive(Clone, Debug)]
pub struct Progress {
    pub phase: Arc<PhaseId>,
    pub targets: PhaseTargets,
    /// Since it started, also while its records are computed.
    pub elapsed: Nanos,
    pub counts: PhaseProgress,
    pub stage: PhaseStage,
    /// Records of this phase computed and written so far, also of requests that were cut off.
    pub records: u64,
    /// Each worker, in the order of their numbers.
    pub workers: Arc<[WorkerProgress]>,
}

/// What one worker did since the run started, over all phases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerProgress {
    /// Its thread, as the operating system numbers them.
    pub thread: u32,
    pub in_flight: u64,
    /// Requests that came back, failed ones included.
    pub completed: u64,
    /// Of these, those that the worker knows to have failed: an error inside a response that began well is found later.
    pub failed: u64,
    /// Of requests that are over, on all their legs.
    pub bytes_sent: u64,
    pub bytes_received: u64,
}

/// The metrics so far: percentiles within 0.4%; counts, totals and rates exact.
#[derive(Clone, Debug)]
pub struct MetricsSnapshot {
    /// Over which phases: all warm-ups so far, or all profiling phases so far.
    pub kind: PhaseKind,
    pub at: MonoNs,
    /// Since the first phase of this kind started.
    pub elapsed: Nanos,
    /// Records, failed ones included.
    pub records: u64,
    pub failed: u64,
    pub metrics: Vec<MetricSnapshot>,
    /// Whether these numbers are those of the server, as far as it is known while the run is on.
    pub verdict: Verdict,
    /// How request latencies are distributed: ranges from the shortest to the longest, empty ones between them
    /// included, finer than anyone shows them and not all of one width; none before the first latency is known.
    pub latencies: Vec<LatencyBucket>,
}

/// Histograms of what records measured, for those who pass them on. No value is left out, warm-up included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histograms {
    pub at: MonoNs,
    pub histograms: Vec<Histogram>,
}

/// One metric as buckets with fixed bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    pub name: Arc<str>,
    pub unit: &'static str,
    pub description: Arc<str>,
    /// One that the conventions for generative AI know, so that it carries their attributes.
    pub is_convention: bool,
    /// Upper bounds, each within its bucket; the last bucket has none.
    pub bounds: Arc<[f64]>,
    pub points: Vec<HistogramPoint>,
}

/// The values of records that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramPoint {
    pub phase: Arc<PhaseId>,
    pub worker: u16,
    /// `None` where record threads are not distinguished.
    pub record_thread: Option<u16>,
    pub was_cancelled: bool,
    pub has_error: bool,
    /// What kind of error, where the metric distinguishes them.
    pub error_type: Option<&'static str>,
    /// `input` or `output`, where the metric counts both.
    pub token_type: Option<&'static str>,
    pub count: u64,
    pub sum: f64,
    pub min: f64,
    pub max: f64,
    /// One more than bounds.
    pub buckets: Vec<u64>,
}

/// How many requests took so long, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyBucket {
    pub from: f64,
    pub to: f64,
    pub count: u64,
}

/// The servers' own metrics of the phase so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerSnapshot {
    /// By the names of the live display, over all endpoints.
    pub values: Vec<(&'static str, f64)>,
    pub endpoints: Vec<EndpointSnapshot>,
}

impl ServerSnapshot {
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// What one metrics page reports by now.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointSnapshot {
    /// What tables call it: host, port and path, or its URL where that is the name of several.
    pub name: Arc<str>,
    pub url: Arc<str>,
    /// Over the whole run.
    pub fetches: u64,
    pub first_fetch: WallNs,
    pub last_fetch: WallNs,
    /// Sorted by name; no more than so many, however long the page is.
    pub series: Vec<SeriesSnapshot>,
}

/// One series of a metrics page.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesSnapshot {
    pub name: Arc<str>,
    /// `gauge`, `counter`, `histogram` or `unknown`.
    pub kind: &'static str,
    pub description: Arc<str>,
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    /// What was counted since the phase began, by the names that files have for it; of a gauge its `current` value.
    pub stats: Vec<(&'static str, f64)>,
}

/// Every GPU that reported anything so far, by source and index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuSnapshot {
    pub gpus: Vec<GpuState>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GpuState {
    /// Its source, its number and its model, as in `localhost | GPU 0 | NVIDIA H100`.
    pub title: Arc<str>,
    /// In the order of tables.
    pub metrics: Vec<GpuValue>,
}

/// One metric of one GPU over all of its samples, warm-up included: percentiles within 0.4%, the rest exact. Of a counter
/// it is the counter itself, not its growth.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuValue {
    /// No other metric of any GPU has it, as in `nvidia_power_usage_dcgm_http___n1_9400_metrics_gpu0_GPU-aaaabbbb`.
    pub tag: Arc<str>,
    /// As in `NVIDIA GPU Power Usage | n1:9400 | GPU 0 | NVIDIA H100`.
    pub header: Arc<str>,
    /// The beginning of the header: `NVIDIA GPU Power Usage`.
    pub name: Arc<str>,
    pub unit: Arc<str>,
    /// The latest value.
    pub current: f64,
    pub stats: Stats,
}

/// One metric of a snapshot, in its display unit.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricSnapshot {
    pub tag: Cow<'static, str>,
    pub header: Cow<'static, str>,
    pub unit: &'static str,
    pub stats: Stats,
}

impl MetricsSnapshot {
    /// A statistic of a metric by their names.
    pub fn stat(&self, tag: &str, name: &str) -> Option<f64> {
        self.metrics.iter().find(|metric| metric.tag == tag)?.stats.get(name)
    }
}
