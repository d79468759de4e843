//! Messages that are pushed to WebSocket clients: one table of their kinds, and the messages of each event.

use super::about::About;
use super::json::without_nulls;
use super::live::Live;
use super::views;
use aiperf_types::{LogLevel, Nanos, PhaseId, PhaseMoment, RunEvent, SourceKind, WallNs};
use serde_json::{Map, Value, json};

/// A message for the clients that subscribed to its kind.
#[derive(Clone, Debug)]
pub(super) struct Push {
    pub(super) kind: &'static str,
    /// The phase or part of a snapshot. Only the latest snapshot of each is sent.
    pub(super) snapshot_of: Option<u32>,
    pub(super) body: Value,
}

/// A kind of message.
pub(super) struct MessageKind {
    pub(super) name: &'static str,
    pub(super) when: &'static str,
    pub(super) holds: &'static str,
}

macro_rules! kinds {
    ($($constant:ident = $name:literal, $when:literal, $holds:literal;)*) => {
        $(const $constant: &str = $name;)*
        /// Every kind, in the order of a run.
        pub(super) const KINDS: &[MessageKind] = &[$(MessageKind { name: $name, when: $when, holds: $holds },)*];
    };
}

kinds! {
    SYSTEM_STATE_CHANGED = "system_state_changed", "the state of the run changes", "`state`: `configuring`, `ready`, `profiling`, `processing`, `stopping`";
    SERVER_METRICS_STATUS = "server_metrics_status", "a metrics page of a server responds, or stops responding", "`enabled`, `reason`, `endpoints_configured`, `endpoints_reachable`";
    TELEMETRY_STATUS = "telemetry_status", "a source of GPU telemetry responds, or stops responding", "the same";
    CREDIT_PHASE_START = "credit_phase_start", "a phase starts", "`stats`: the phase, as in `/api/progress`; `config`: its `load`, `target` and `concurrency`";
    CREDIT_PHASE_PROGRESS = "credit_phase_progress", "twice a second while a phase is on; latest only", "`stats`";
    CREDIT_PHASE_SENDING_COMPLETE = "credit_phase_sending_complete", "a phase has sent its last request", "`stats`";
    CREDIT_PHASE_COMPLETE = "credit_phase_complete", "the last request of a phase is complete", "`stats`";
    CREDITS_COMPLETE = "credits_complete", "the last request of the last phase is complete", "";
    PROCESSING_STATS = "processing_stats", "twice a second while a phase is on, and when its records are computed; latest only", "`processing_stats`: the records of the phase";
    ALL_RECORDS_RECEIVED = "all_records_received", "the records of the last phase are computed", "`final_processing_stats`";
    REALTIME_METRICS = "realtime_metrics", "once a second while profiling; latest only", "`metrics`: a list of metrics with `tag`, `header`, `unit` and statistics; `verdict` as in `/api/metrics`";
    REALTIME_SERVER_METRICS = "realtime_server_metrics", "when server metrics are published; latest only", "`snapshot`: values by name; `/api/server-metrics` has those of each endpoint";
    REALTIME_TELEMETRY_METRICS = "realtime_telemetry_metrics", "every five seconds, or every `--stats-interval`, if a value of a GPU changed; latest only", "`metrics`: one for each GPU and each of its metrics, with `current` and statistics over all samples";
    WORKER_STATUS_SUMMARY = "worker_status_summary", "twice a second while a phase is on, if a status changed; latest only", "`worker_statuses`: for each `worker_id` of the records `healthy`, `high_load`, `error`, `idle` or `stale`";
    WORKER_GROUP_STATS = "worker_group_stats", "twice a second while a phase is on; latest only", "`group_id`, `status`, `task_stats`: all workers together; `worker_statuses`, `worker_task_stats`: each worker, by the `worker_id` of the records";
    SERVICE_ERROR = "service_error", "the run logs an error", "`error`: `message` and `type` (its level)";
    PROCESS_ALL_RESULTS = "process_all_results", "the run is over and has results", "`results`: as in `/api/results`";
    RESULTS_EXPORTED = "results_exported", "the files of the run are written", "`was_cancelled`";
    BENCHMARK_COMPLETE = "benchmark_complete", "after these two, or after a run without results", "`was_cancelled`";
    HEARTBEAT = "heartbeat", "every five seconds", "`state`, `service_type`";
}

/// Time between two snapshots of a phase.
const SNAPSHOT_EVERY_NS: u64 = 450_000_000;

/// The sender of all messages: there is one process.
const SERVICE: &str = "aiperf";

impl Push {
    fn new(kind: &'static str, at: Option<WallNs>, body: Value) -> Self {
        let mut members = Map::new();
        members.insert("message_type".to_owned(), kind.into());
        members.insert("service_id".to_owned(), SERVICE.into());
        members.insert("request_ns".to_owned(), json!(at));
        if let Value::Object(body) = body {
            members.extend(body);
        }
        Self { kind, snapshot_of: None, body: without_nulls(Value::Object(members)) }
    }

    fn snapshot(self, of: u32) -> Self {
        Self { snapshot_of: Some(of), ..self }
    }
}

/// Messages as they are made. Kinds without a subscriber are skipped.
struct Pushes<'w> {
    wants: &'w dyn Fn(&str) -> bool,
    made: Vec<Push>,
}

impl<'w> Pushes<'w> {
    fn new(wants: &'w dyn Fn(&str) -> bool) -> Self {
        Self { wants, made: Vec::new() }
    }

    fn message(&mut self, kind: &'static str, at: Option<WallNs>, body: impl FnOnce() -> Value) {
        if (self.wants)(kind) {
            self.made.push(Push::new(kind, at, body()));
        }
    }

    fn snapshot(&mut self, kind: &'static str, of: u32, at: Option<WallNs>, body: impl FnOnce() -> Value) {
        if (self.wants)(kind) {
            self.made.push(Push::new(kind, at, body()).snapshot(of));
        }
    }
}

/// Makes the messages of one event after the other.
#[derive(Default)]
pub(super) struct Pusher {
    /// The elapsed time of each phase at its last pushed snapshot.
    pushed: Vec<(u16, u64)>,
    gpus: GpuPace,
    state: Option<&'static str>,
}

/// When GPU messages are due. They are the longest messages, and their values change every second.
#[derive(Default)]
struct GpuPace {
    pushed: Option<Nanos>,
    /// A value has changed since then.
    is_behind: bool,
}

impl GpuPace {
    fn is_due(&self, now: Nanos, every: Nanos) -> bool {
        self.is_behind && self.pushed.is_none_or(|pushed| now.0.saturating_sub(pushed.0) >= every.0)
    }
}

impl Pusher {
    /// The messages about an event that `live` has taken already, of kinds with a subscriber.
    pub(super) fn about(
        &mut self,
        event: &RunEvent,
        live: &Live,
        about: &About,
        wants: &dyn Fn(&str) -> bool,
    ) -> Vec<Push> {
        let mut out = Pushes::new(wants);
        self.state(live, &mut out);
        match event {
            RunEvent::PhaseStarted(started) => {
                out.message(CREDIT_PHASE_START, live.wall(started.at), || {
                    let config = json!({
                        "load": &*started.load,
                        "target": &*started.target,
                        "concurrency": started.targets.concurrency,
                    });
                    json!({ "stats": phase(live, &started.phase), "config": config })
                });
            }
            RunEvent::SendingComplete(moment) => turned(&mut out, CREDIT_PHASE_SENDING_COMPLETE, live, moment),
            RunEvent::RequestsDone(moment) => {
                turned(&mut out, CREDIT_PHASE_COMPLETE, live, moment);
                if live.is_last(&moment.phase) {
                    out.message(CREDITS_COMPLETE, live.wall(moment.at), || Value::Null);
                }
            }
            RunEvent::PhaseComplete(moment) => {
                let at = live.wall(moment.at);
                processing(&mut out, live, &moment.phase, at);
                if live.is_last(&moment.phase) {
                    out.message(
                        ALL_RECORDS_RECEIVED,
                        at,
                        || json!({ "final_processing_stats": records(live, &moment.phase) }),
                    );
                }
            }
            RunEvent::Progress(progress) if self.is_due(&progress.phase, progress.elapsed.0) => {
                snapshots(&mut out, live, &progress.phase);
            }
            RunEvent::Metrics(snapshot) if live.metrics.as_ref().is_some_and(|known| known.at == snapshot.at) => {
                out.snapshot(
                    REALTIME_METRICS,
                    0,
                    live.wall(snapshot.at),
                    || json!({ "metrics": views::metrics(live), "verdict": views::verdict(live) }),
                );
            }
            RunEvent::ServerMetrics(snapshot) => {
                let body = || json!({ "snapshot": views::server_snapshot(snapshot) });
                out.snapshot(REALTIME_SERVER_METRICS, 0, None, body);
            }
            RunEvent::GpuMetrics(_) => self.gpus.is_behind = true,
            RunEvent::SourceFound { at, source } | RunEvent::SourceLost { at, source } => {
                let (kind, pages) = match source.kind {
                    SourceKind::ServerMetrics => (SERVER_METRICS_STATUS, &about.server_pages),
                    SourceKind::GpuTelemetry => (TELEMETRY_STATUS, &about.gpu_pages),
                };
                out.message(kind, live.wall(*at), || views::sources(live, source.kind, pages));
            }
            RunEvent::Message(message) if matches!(message.level, LogLevel::Error | LogLevel::Critical) => {
                out.message(
                    SERVICE_ERROR,
                    Some(message.at),
                    || json!({ "error": { "message": &*live.shown(message).text, "type": message.level.name() } }),
                );
            }
            _ => {}
        }
        // Checked on any event: GPUs may report nothing new when their message is due.
        if self.gpus.is_due(live.now, about.gpus_every) {
            self.gpus(live, &mut out);
        }
        out.made
    }

    /// The messages about the end of a run.
    pub(super) fn at_the_end(&mut self, live: &Live, wants: &dyn Fn(&str) -> bool) -> Vec<Push> {
        let mut out = Pushes::new(wants);
        let outcome = live.outcome.as_ref();
        let was_cancelled = || json!({ "was_cancelled": outcome.is_some_and(|outcome| outcome.was_cancelled) });
        if self.gpus.is_behind {
            self.gpus(live, &mut out);
        }
        if let Some(results) = outcome.and_then(|outcome| outcome.results.as_ref()) {
            out.message(PROCESS_ALL_RESULTS, None, || json!({ "results": results }));
            out.message(RESULTS_EXPORTED, None, was_cancelled);
        }
        out.message(BENCHMARK_COMPLETE, None, was_cancelled);
        self.state(live, &mut out);
        out.made
    }

    fn state(&mut self, live: &Live, out: &mut Pushes<'_>) {
        let state = live.state.name();
        if self.state.replace(state) != Some(state) {
            out.message(SYSTEM_STATE_CHANGED, None, || json!({ "state": state }));
        }
    }

    fn gpus(&mut self, live: &Live, out: &mut Pushes<'_>) {
        self.gpus = GpuPace { pushed: Some(live.now), is_behind: false };
        out.snapshot(REALTIME_TELEMETRY_METRICS, 0, None, || json!({ "metrics": views::gpu_metrics(live) }));
    }

    /// Progress events come ten times a second, which is more often than clients need.
    fn is_due(&mut self, phase: &PhaseId, elapsed: u64) -> bool {
        match self.pushed.iter_mut().find(|(index, _)| *index == phase.index) {
            None => {
                self.pushed.push((phase.index, elapsed));
                true
            }
            Some((_, pushed)) if elapsed >= pushed.saturating_add(SNAPSHOT_EVERY_NS) => {
                *pushed = elapsed;
                true
            }
            Some(_) => false,
        }
    }
}

pub(super) fn heartbeat() -> Push {
    Push::new(HEARTBEAT, None, json!({ "service_type": "api", "state": "running" }))
}

fn phase(live: &Live, id: &PhaseId) -> Option<Value> {
    Some(views::phase(live, live.phase(id)?))
}

fn records(live: &Live, id: &PhaseId) -> Option<Value> {
    Some(views::records(live, live.phase(id)?))
}

fn turned(out: &mut Pushes<'_>, kind: &'static str, live: &Live, moment: &PhaseMoment) {
    out.message(kind, live.wall(moment.at), || json!({ "stats": phase(live, &moment.phase) }));
}

fn processing(out: &mut Pushes<'_>, live: &Live, id: &PhaseId, at: Option<WallNs>) {
    out.snapshot(PROCESSING_STATS, id.index.into(), at, || json!({ "processing_stats": records(live, id) }));
}

fn snapshots(out: &mut Pushes<'_>, live: &Live, id: &PhaseId) {
    out.snapshot(CREDIT_PHASE_PROGRESS, id.index.into(), None, || json!({ "stats": phase(live, id) }));
    processing(out, live, id, None);
    let statuses = || json!({ "worker_statuses": views::worker_statuses(live) });
    out.snapshot(WORKER_STATUS_SUMMARY, 0, None, statuses);
    out.snapshot(WORKER_GROUP_STATS, 0, None, || views::worker_group(live));
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_report::RunIds;
    use aiperf_types::{GpuSnapshot, Message};
    use std::sync::Arc;

    /// The messages pushed for an event at this second, to clients that subscribe to everything.
    fn pushed(pusher: &mut Pusher, live: &mut Live, event: &RunEvent, second: u64) -> Vec<&'static str> {
        live.take(event, Nanos::from_millis(1000 * second));
        let pushes = pusher.about(event, live, &About::sample(), &|_| true);
        pushes.iter().map(|push| push.kind).collect()
    }

    #[test]
    fn gpu_messages_are_pushed_every_five_seconds_and_never_late() {
        let (mut pusher, mut live) = (Pusher::default(), Live::new(1, RunIds::new("id"), Arc::default()));
        let gpus = RunEvent::GpuMetrics(Arc::new(GpuSnapshot::default()));
        let other = RunEvent::Message(Message { at: WallNs(0), level: LogLevel::Info, text: "something else".into() });
        let mut at = |event: &RunEvent, second| pushed(&mut pusher, &mut live, event, second);
        assert_eq!(at(&gpus, 0), [SYSTEM_STATE_CHANGED, REALTIME_TELEMETRY_METRICS]);
        assert!((1..5).all(|second| at(&gpus, second).is_empty()));
        assert_eq!(at(&other, 5), [REALTIME_TELEMETRY_METRICS], "no new value came, but clients have not got this one");
        assert!(at(&other, 20).is_empty());
        assert_eq!(at(&gpus, 21), [REALTIME_TELEMETRY_METRICS]);
        assert!(at(&gpus, 22).is_empty());
        let last = pusher.at_the_end(&live, &|_| true);
        assert_eq!(last.first().map(|push| push.kind), Some(REALTIME_TELEMETRY_METRICS));
    }

    #[test]
    fn messages_without_a_subscriber_are_not_made() {
        let (mut pusher, mut live) = (Pusher::default(), Live::new(1, RunIds::new("id"), Arc::default()));
        let error = RunEvent::Message(Message { at: WallNs(0), level: LogLevel::Error, text: "no".into() });
        live.take(&error, Nanos::ZERO);
        let pushes = pusher.about(&error, &live, &About::sample(), &|kind| kind == SERVICE_ERROR);
        assert_eq!(pushes.iter().map(|push| push.kind).collect::<Vec<_>>(), [SERVICE_ERROR]);
    }
}
