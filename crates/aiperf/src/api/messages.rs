//! What is pushed to WebSocket clients: one table of the kinds of messages, and what an event says in them.

use super::about::About;
use super::live::{Live, Outcome};
use super::views;
use aiperf_types::{LogLevel, MonoNs, PhaseId, PhaseMoment, RunEvent, WallNs};
use serde_json::{Map, Value, json};

/// A message to whoever subscribed to its kind.
#[derive(Clone, Debug)]
pub(super) struct Push {
    pub(super) kind: &'static str,
    /// Of snapshots only the latest is sent: of which phase or part it is.
    pub(super) snapshot_of: Option<u32>,
    pub(super) body: Value,
}

/// A kind of message.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) when: &'static str,
    pub(super) holds: &'static str,
}

macro_rules! kinds {
    ($($constant:ident = $name:literal, $when:literal, $holds:literal;)*) => {
        $(const $constant: &str = $name;)*
        /// Every kind, in the order of a run.
        pub(super) const KINDS: &[Kind] = &[$(Kind { name: $name, when: $when, holds: $holds },)*];
    };
}

kinds! {
    SYSTEM_STATE_CHANGED = "system_state_changed", "the run as a whole gets further", "`state`: `configuring`, `ready`, `profiling`, `processing`, `stopping`";
    SERVER_METRICS_STATUS = "server_metrics_status", "a metrics page of a server answers, or is lost", "`enabled`, `reason`, `endpoints_configured`, `endpoints_reachable`";
    TELEMETRY_STATUS = "telemetry_status", "a source of GPU telemetry answers, or is lost", "the same";
    CREDIT_PHASE_START = "credit_phase_start", "a phase starts", "`stats`: the phase, as in `/api/progress`; `config`: `load` and `target` in words, `concurrency`";
    CREDIT_PHASE_PROGRESS = "credit_phase_progress", "twice a second while a phase is on; the latest only", "`stats`";
    CREDIT_PHASE_SENDING_COMPLETE = "credit_phase_sending_complete", "a phase sends no more", "`stats`";
    CREDIT_PHASE_COMPLETE = "credit_phase_complete", "the last request of a phase came back", "`stats`";
    CREDITS_COMPLETE = "credits_complete", "the last request of the last phase came back", "";
    PROCESSING_STATS = "processing_stats", "twice a second while a phase is on, and when its records are done; the latest only", "`processing_stats`: the records of the phase";
    ALL_RECORDS_RECEIVED = "all_records_received", "the records of the last phase are computed", "`final_processing_stats`";
    REALTIME_METRICS = "realtime_metrics", "once a second while profiling; the latest only", "`metrics`: a list of metrics with `tag`, `header`, `unit` and statistics";
    REALTIME_SERVER_METRICS = "realtime_server_metrics", "as often as server metrics are published; the latest only", "`snapshot`: values by name; what each endpoint says is at `/api/server-metrics`";
    REALTIME_TELEMETRY_METRICS = "realtime_telemetry_metrics", "GPUs report, where a value changed; the latest only", "`metrics`: of each GPU and each metric one, with `current` and statistics over all samples";
    WORKER_STATUS_SUMMARY = "worker_status_summary", "twice a second while a phase is on; the latest only", "`worker_statuses`: `healthy`, `high_load`, `error`, `idle` or `stale` by worker";
    WORKER_GROUP_STATS = "worker_group_stats", "twice a second while a phase is on; the latest only", "all workers together, and each of them";
    SERVICE_ERROR = "service_error", "the run logs an error", "`error`: `message`, `type` (its level)";
    PROCESS_ALL_RESULTS = "process_all_results", "the run is over", "`results`, as in `/api/results`";
    RESULTS_EXPORTED = "results_exported", "the files of the run are written", "`was_cancelled`";
    BENCHMARK_COMPLETE = "benchmark_complete", "after both", "`was_cancelled`";
    HEARTBEAT = "heartbeat", "every five seconds", "`state`, `service_type`";
}

/// Between two snapshots of a phase.
const SNAPSHOT_EVERY_NS: u64 = 450_000_000;

/// Who speaks: there is one process.
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
        Self { kind, snapshot_of: None, body: views::without_nulls(Value::Object(members)) }
    }

    fn snapshot(self, of: u32) -> Self {
        Self { snapshot_of: Some(of), ..self }
    }
}

/// What there is to push for events, one after the other.
#[derive(Default)]
pub(super) struct Pusher {
    /// How far each phase was when a snapshot of it was last pushed.
    told: Vec<(u16, u64)>,
    state: Option<&'static str>,
}

impl Pusher {
    /// The messages about an event that was taken already.
    pub(super) fn about(&mut self, event: &RunEvent, live: &Live, about: &About) -> Vec<Push> {
        let mut out = self.state(live);
        match event {
            RunEvent::PhaseStarted(started) => {
                let config = json!({
                    "load": &*started.load,
                    "target": &*started.target,
                    "concurrency": started.targets.concurrency,
                });
                out.extend(of_phase(CREDIT_PHASE_START, live, &started.phase, started.at, &[("config", config)]));
            }
            RunEvent::SendingComplete(moment) => out.extend(turned(CREDIT_PHASE_SENDING_COMPLETE, live, moment)),
            RunEvent::RequestsDone(moment) => {
                out.extend(turned(CREDIT_PHASE_COMPLETE, live, moment));
                if live.is_last(&moment.phase) {
                    out.push(Push::new(CREDITS_COMPLETE, live.wall(moment.at), Value::Null));
                }
            }
            RunEvent::PhaseComplete(moment) => {
                let at = live.wall(moment.at);
                out.extend(processing(live, &moment.phase, at));
                if let Some(phase) = live.phase(&moment.phase).filter(|_| live.is_last(&moment.phase)) {
                    let stats = json!({ "final_processing_stats": views::records(live, phase) });
                    out.push(Push::new(ALL_RECORDS_RECEIVED, at, stats));
                }
            }
            RunEvent::Progress(progress) if self.is_due(&progress.phase, progress.elapsed.0) => {
                out.extend(snapshots(live, &progress.phase));
            }
            RunEvent::Metrics(snapshot) if live.metrics.as_ref().is_some_and(|known| known.at == snapshot.at) => {
                let body = json!({ "metrics": views::metrics(live) });
                out.push(Push::new(REALTIME_METRICS, live.wall(snapshot.at), body).snapshot(0));
            }
            RunEvent::ServerMetrics(snapshot) => {
                let body = json!({ "snapshot": views::server_snapshot(snapshot) });
                out.push(Push::new(REALTIME_SERVER_METRICS, None, body).snapshot(0));
            }
            RunEvent::GpuMetrics(_) => {
                let body = json!({ "metrics": views::gpu_metrics(live) });
                out.push(Push::new(REALTIME_TELEMETRY_METRICS, None, body).snapshot(0));
            }
            RunEvent::SourceFound { at, source } | RunEvent::SourceLost { at, source } => {
                let (kind, pages) = match source.kind {
                    SERVER_METRICS => (SERVER_METRICS_STATUS, &about.server_pages),
                    _ => (TELEMETRY_STATUS, &about.gpu_pages),
                };
                out.push(Push::new(kind, live.wall(*at), views::sources(live, source.kind, pages)));
            }
            RunEvent::Message(message) if matches!(message.level, LogLevel::Error | LogLevel::Critical) => {
                let error = json!({ "message": &*live.shown(message).text, "type": message.level.name() });
                out.push(Push::new(SERVICE_ERROR, Some(message.at), json!({ "error": error })));
            }
            _ => {}
        }
        out
    }

    /// The messages about the end of a run.
    pub(super) fn at_the_end(&mut self, live: &Live, outcome: &Outcome) -> Vec<Push> {
        let was_cancelled = json!({ "was_cancelled": outcome.was_cancelled });
        let mut out = Vec::new();
        if let Some(results) = &outcome.results {
            out.push(Push::new(PROCESS_ALL_RESULTS, None, json!({ "results": results })));
            out.push(Push::new(RESULTS_EXPORTED, None, was_cancelled.clone()));
        }
        out.push(Push::new(BENCHMARK_COMPLETE, None, was_cancelled));
        out.extend(self.state(live));
        out
    }

    fn state(&mut self, live: &Live) -> Vec<Push> {
        let state = live.state.name();
        let is_new = self.state.replace(state) != Some(state);
        is_new.then(|| Push::new(SYSTEM_STATE_CHANGED, None, json!({ "state": state }))).into_iter().collect()
    }

    /// Progress is told ten times a second, which is more often than anybody looks.
    fn is_due(&mut self, phase: &PhaseId, elapsed: u64) -> bool {
        match self.told.iter_mut().find(|(index, _)| *index == phase.index) {
            None => {
                self.told.push((phase.index, elapsed));
                true
            }
            Some((_, told)) if elapsed >= told.saturating_add(SNAPSHOT_EVERY_NS) => {
                *told = elapsed;
                true
            }
            Some(_) => false,
        }
    }
}

/// What the source of a servers' page is called in events.
const SERVER_METRICS: &str = "server metrics";

pub(super) fn heartbeat() -> Push {
    Push::new(HEARTBEAT, None, json!({ "service_type": "api", "state": "running" })).snapshot(0)
}

fn of_phase(kind: &'static str, live: &Live, id: &PhaseId, at: MonoNs, more: &[(&str, Value)]) -> Option<Push> {
    let mut body = json!({ "stats": views::phase(live, live.phase(id)?) });
    more.iter().for_each(|(name, value)| body[*name] = value.clone());
    Some(Push::new(kind, live.wall(at), body))
}

fn turned(kind: &'static str, live: &Live, moment: &PhaseMoment) -> Option<Push> {
    of_phase(kind, live, &moment.phase, moment.at, &[])
}

fn processing(live: &Live, id: &PhaseId, at: Option<WallNs>) -> Option<Push> {
    let body = json!({ "processing_stats": views::records(live, live.phase(id)?) });
    Some(Push::new(PROCESSING_STATS, at, body).snapshot(id.index.into()))
}

fn snapshots(live: &Live, id: &PhaseId) -> Vec<Push> {
    let Some(phase) = live.phase(id) else { return Vec::new() };
    let stats = json!({ "stats": views::phase(live, phase) });
    let statuses = json!({ "worker_statuses": views::worker_statuses(live) });
    let progress = Push::new(CREDIT_PHASE_PROGRESS, None, stats).snapshot(id.index.into());
    let workers = Push::new(WORKER_STATUS_SUMMARY, None, statuses).snapshot(0);
    let group = Push::new(WORKER_GROUP_STATS, None, views::worker_group(live)).snapshot(0);
    [Some(progress), processing(live, id, None), Some(workers), Some(group)].into_iter().flatten().collect()
}
