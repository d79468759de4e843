//! The servers' own metrics of a run: collected beside it, summed up when it is over.

use aiperf_engine::travel::{self, TlsError};
use aiperf_engine::{Events, Stop};
use aiperf_observe::collection::Boundary;
use aiperf_observe::{
    Announce, Cluster, CollectError, Collected, Collector, Observed, ObservedPhase, ServerMetrics, Setup, TimeRange,
    Windowing, summarise, timeslices,
};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{Plan, ServerMetricsPlan};
use aiperf_report::{Artifacts, ExportFailure, RunResult, ServerMetricsResult, server_metrics_jsonl};
use aiperf_transport::clock::mono_now;
use aiperf_types::{LogLevel, PhaseKind, RunEvent};
use std::path::Path;
use std::sync::Arc;

/// Where Kubernetes puts what a pod may say of itself.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Collection beside a run.
pub(crate) struct ServerWatch {
    collector: Collector,
    plan: ServerMetricsPlan,
    stop: Stop,
}

/// Passes on what collection tells, without secrets.
struct Announced {
    events: Events,
    redactor: Arc<Redactor>,
}

impl Announce for Announced {
    fn say(&self, level: LogLevel, text: String) {
        self.events.say(level, self.redactor.hide(&text).as_ref());
    }

    fn emit(&self, event: RunEvent) {
        self.events.emit(event);
    }
}

impl ServerWatch {
    /// Starts to look for metrics, where the plan wants any.
    pub(crate) fn start(
        plan: &Plan,
        events: &Events,
        redactor: &Arc<Redactor>,
        stop: &Stop,
    ) -> Result<Option<Self>, TlsError> {
        let Some(watched) = plan.server_metrics.clone() else { return Ok(None) };
        let announce = Arc::new(Announced { events: events.clone(), redactor: redactor.clone() });
        let encode: aiperf_observe::EncodeLine = server_metrics_jsonl::scrape_line;
        let setup = Setup {
            anchor: events.anchor(),
            fetcher: travel::fetcher(plan)?,
            origin: travel::origin,
            announce,
            redactor: redactor.clone(),
            cluster: Cluster::of_environment(|name| std::env::var(name).ok(), Path::new(SERVICE_ACCOUNT)),
            encode: watched.formats.jsonl.then_some(encode),
            plan: watched.clone(),
        };
        match Collector::start(setup) {
            Ok(collector) => Ok(Some(Self { collector, plan: watched, stop: stop.clone() })),
            // The run itself can do without.
            Err(error) => {
                events.say(LogLevel::Warning, format!("server metrics are not collected: {error}"));
                Ok(None)
            }
        }
    }

    /// Waits until it is known who answers, and their first pages are there.
    pub(crate) fn wait_until_settled(&self) {
        self.collector.wait_until_settled(|| self.stop.is_stopped());
    }

    /// The run is about to start: its events are followed, and its file is there.
    pub(crate) fn begin(&self, events: &Events, artifacts: &Artifacts) -> Events {
        if self.plan.formats.jsonl {
            self.collector.write_to(Box::new(artifacts.scrape_file()));
        }
        events.observed_by(Arc::new(self.collector.listener()))
    }

    /// What has to be waited for between phases.
    pub(crate) fn boundary(&self) -> Boundary {
        self.collector.boundary()
    }

    /// Waits for the last pages and sums all of them up; why not, where who collected them did not live to the end.
    pub(crate) fn finish(
        self,
        plan: &Plan,
        run: &RunResult,
        events: &Events,
        redactor: &Redactor,
        artifacts: &Artifacts,
    ) -> Result<(ServerMetricsResult, Option<ExportFailure>), CollectError> {
        let collected = self.collector.finish(|| run.was_cancelled || self.stop.is_stopped())?;
        let Collected { store, configured, successful, endpoints, mut errors, file_failure } = collected;
        for error in &mut errors {
            error.message = redactor.hide(&error.message).into_owned();
        }
        let path = || artifacts.scrape_file().path().to_owned();
        // What could not take a line is no file of scrapes.
        if file_failure.is_some() && std::fs::metadata(path()).is_ok_and(|file| file.len() == 0) {
            let _ = std::fs::remove_file(path());
        }
        let failure = file_failure.map(|error| ExportFailure::of(server_metrics_jsonl::NAME, path(), error));
        let ranges = |kind: PhaseKind| {
            let of_kind = run.phases.iter().filter(move |phase| phase.id.kind == kind);
            of_kind.map(|phase| TimeRange { start: phase.start, end: phase.end })
        };
        let whole = |a: TimeRange, b: TimeRange| TimeRange { start: a.start.min(b.start), end: a.end.max(b.end) };
        let observed = Observed {
            configured,
            successful,
            endpoints,
            profiling: profiling_range(run),
            warmup: ranges(PhaseKind::Warmup).reduce(whole),
            phases: run
                .phases
                .iter()
                .map(|phase| ObservedPhase {
                    id: Arc::new(phase.id.clone()),
                    range: TimeRange { start: phase.start, end: phase.end },
                })
                .collect(),
            slice: plan.metrics.slice,
            errors,
            windowing: Windowing::ProfilingWindow,
        };
        let metrics = summarise(&store, &observed);
        tell_of(&metrics, events);
        let result = ServerMetricsResult {
            metrics,
            window: observed.profiling_window(&store),
            store,
            formats: self.plan.formats,
            hostname: hostname(),
            exported: events.anchor().wall(mono_now()),
        };
        Ok((result, failure))
    }
}

/// What a reader of the numbers should know.
fn tell_of(metrics: &ServerMetrics, events: &Events) {
    for (url, series) in metrics.resets() {
        let text = format!(
            "server metrics of {url}: {series} counters and histograms fell while the run was on (was the server \
             started anew?): their totals lack what came before"
        );
        events.say(LogLevel::Warning, text);
    }
    if metrics.slices_left_out {
        events.say(LogLevel::Warning, format!("server metrics: {}", timeslices::TooManySlices));
    }
}

/// From the start of the first profiling phase to the end of the last; nothing where none began.
fn profiling_range(run: &RunResult) -> TimeRange {
    let began = run.phases.iter().any(|phase| phase.id.kind == PhaseKind::Profiling);
    let start = if began { run.start } else { run.end };
    TimeRange { start, end: run.end }
}

fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}
