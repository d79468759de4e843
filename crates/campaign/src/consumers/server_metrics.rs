//! The servers' own metrics of a run: collected beside it, summed up when it is over.

use super::Boundary;
use super::shared::{self, Announced, errors, profiling_range, started};
use aiperf_engine::travel::{self, TlsError};
use aiperf_engine::{Events, Stop};
use aiperf_observe::collection::CollectedEndpoint;
use aiperf_observe::{
    Cluster, CollectError, Collected, Collector, Observed, ObservedEndpoint, ObservedPhase, Pods, ServerMetrics,
    ServerPages, Setup, TimeRange, WatchedPage, Windowing, summarise, timeslices,
};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{Cadence, MetricsEndpoint, Plan, ServerMetricsPlan};
use aiperf_report::{Artifacts, ExportFailure, RunResult, ServerMetricsResult, server_metrics_jsonl};
use aiperf_transport::clock::mono_now;
use aiperf_types::{LogLevel, Nanos, PhaseKind};
use std::path::Path;
use std::sync::Arc;

/// Where Kubernetes puts what a pod may say of itself.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Collection beside a run.
pub(crate) struct ServerWatch {
    collector: Collector<ServerPages>,
    plan: ServerMetricsPlan,
    stop: Stop,
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
        let encode: aiperf_observe::EncodeLine = server_metrics_jsonl::scrape_line;
        let cluster = Cluster::of_environment(|name| std::env::var(name).ok(), Path::new(SERVICE_ACCOUNT));
        // What nobody hears of is not made.
        let publish_interval = events.metrics_every().map_or(Nanos::MAX, |_| watched.cadence.publish_interval);
        let page = |endpoint: &MetricsEndpoint| WatchedPage { endpoint: endpoint.clone(), is_guess: false };
        let setup = Setup {
            kind: ServerPages { encode: watched.formats.jsonl.then_some(encode), redactor: redactor.clone() },
            pages: watched.endpoints.iter().map(page).collect(),
            pods: Some(Pods { plan: watched.discovery.clone(), cluster }),
            cadence: Cadence { publish_interval, ..watched.cadence },
            anchor: events.anchor(),
            fetcher: travel::fetcher(plan)?,
            origin: travel::origin,
            announce: Announced::to(events, redactor),
            writes_lines: watched.formats.jsonl,
        };
        let collector = started(Collector::start(setup), "server metrics are not collected", events);
        Ok(collector.map(|collector| Self { collector, plan: watched, stop: stop.clone() }))
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
        let pages = self.collector.boundary();
        Box::new(move |is_stopped| pages.wait(is_stopped))
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
        let Collected { store, endpoints, file_failure } = collected;
        let errors = errors(&endpoints, redactor);
        let shown = |endpoint: &CollectedEndpoint| -> Arc<str> { endpoint.url.shown().into() };
        let seen = |endpoint: &CollectedEndpoint| ObservedEndpoint {
            url: shown(endpoint),
            display_name: endpoint.url.display_name().into(),
            errors: endpoint.errors.iter().map(|error| error.count).sum(),
        };
        let failure = shared::file_failure(&artifacts.scrape_file(), server_metrics_jsonl::NAME, file_failure);
        let ranges = |kind: PhaseKind| {
            let of_kind = run.phases.iter().filter(move |phase| phase.id.kind == kind);
            of_kind.map(|phase| TimeRange { start: phase.start, end: phase.end })
        };
        let whole = |a: TimeRange, b: TimeRange| TimeRange { start: a.start.min(b.start), end: a.end.max(b.end) };
        let observed = Observed {
            configured: endpoints.iter().map(shown).collect(),
            successful: endpoints.iter().filter(|endpoint| endpoint.was_reached).map(shown).collect(),
            endpoints: endpoints.iter().map(seen).collect(),
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

fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}
