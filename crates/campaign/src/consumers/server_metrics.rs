//! The servers' own metrics: collected during a run, summarised at its end.

use super::shared::{self, Announced, errors, profiling_range, started};
use super::{Boundary, Consumer, ConsumerKind, Degraded, ProbeResult, RunContext};
use aiperf_engine::Events;
use aiperf_observe::collection::CollectedEndpoint;
use aiperf_observe::{
    Cluster, Collected, Collector, Observed, ObservedEndpoint, ObservedPhase, Pods, ServerMetrics, ServerPages, Setup,
    TimeRange, WatchedPage, Windowing, summarise, timeslices,
};
use aiperf_plan::{Cadence, MetricsEndpoint, ServerMetricsPlan};
use aiperf_report::{ExportFailure, RunResult, ServerMetricsResult, server_metrics_jsonl};
use aiperf_transport::clock::mono_now;
use aiperf_transport::from_plan::{self, TlsError};
use aiperf_types::{LogLevel, Nanos, PhaseKind, SourceKind};
use std::path::Path;
use std::sync::Arc;

/// Where Kubernetes stores a pod's credentials.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Server metrics, as a consumer.
pub(super) const KIND: ConsumerKind = ConsumerKind {
    name: SourceKind::ServerMetrics.name(),
    lost: "server metrics are lost",
    check: |_| Ok(()),
    probe: ServerWatch::probe,
};

/// Collects pages during a run.
struct ServerWatch {
    plan: ServerMetricsPlan,
    /// `None` after the end of the collection.
    collector: Option<Collector<ServerPages>>,
}

impl ServerWatch {
    fn probe(run: &RunContext) -> ProbeResult {
        let Some(watched) = run.plan.server_metrics.clone() else { return Ok(None) };
        let collector = Collector::start(setup(run, &watched)?);
        let collector = started(collector, "server metrics are not collected", &run.events);
        Ok(collector.map(|collector| Box::new(Self { plan: watched, collector: Some(collector) }) as _))
    }
}

/// The setup for the pages of servers.
fn setup(run: &RunContext, watched: &ServerMetricsPlan) -> Result<Setup<ServerPages>, TlsError> {
    let RunContext { plan, events, redactor, .. } = run;
    let encode: aiperf_observe::EncodeLine = server_metrics_jsonl::scrape_line;
    let cluster = Cluster::of_environment(|name| std::env::var(name).ok(), Path::new(SERVICE_ACCOUNT));
    // Without a listener, no events are made.
    let publish_interval = events.metrics_every().map_or(Nanos::MAX, |_| watched.cadence.publish_interval);
    let page = |endpoint: &MetricsEndpoint| WatchedPage { endpoint: endpoint.clone(), is_guess: false };
    Ok(Setup {
        kind: ServerPages { encode: watched.formats.jsonl.then_some(encode), redactor: redactor.clone() },
        pages: watched.endpoints.iter().map(page).collect(),
        pods: Some(Pods { plan: watched.discovery.clone(), cluster }),
        cadence: Cadence { publish_interval, ..watched.cadence },
        anchor: events.anchor(),
        fetcher: from_plan::fetcher(plan)?,
        announce: Announced::to(events, redactor),
        writes_lines: watched.formats.jsonl,
    })
}

impl Consumer for ServerWatch {
    /// Waits until it is known which endpoints respond, and for their first pages.
    fn settle(&self, run: &RunContext) {
        self.collector.iter().for_each(|collector| collector.wait_until_settled(|| run.stop.is_stopped()));
    }

    fn snapshot(&mut self, run: &RunContext, events: &mut Events) {
        let Some(collector) = &self.collector else { return };
        if self.plan.formats.jsonl {
            collector.write_to(Box::new(run.artifacts.scrape_file()));
        }
        *events = events.observed_by(Arc::new(collector.listener()));
    }

    /// The pages must contain the effects of one phase before the next phase adds its own.
    fn boundary(&self) -> Option<Boundary> {
        let pages = self.collector.as_ref()?.boundary();
        Some(Box::new(move |is_stopped| pages.wait(is_stopped)))
    }

    /// Waits for the last pages, which follow the last request, and summarises all of them.
    fn flush(&mut self, run: &RunContext, result: &mut RunResult) -> Result<Option<ExportFailure>, Degraded> {
        let Some(collector) = self.collector.take() else { return Ok(None) };
        let collected = collector.finish(|| result.was_cancelled || run.stop.is_stopped()).map_err(Degraded::by)?;
        let Collected { store, endpoints, file_failure } = collected;
        let errors = errors(&endpoints, &run.redactor);
        let shown = |endpoint: &CollectedEndpoint| -> Arc<str> { endpoint.url.shown().into() };
        let seen = |endpoint: &CollectedEndpoint| ObservedEndpoint {
            url: shown(endpoint),
            display_name: endpoint.url.display_name().into(),
            errors: endpoint.errors.iter().map(|error| error.count).sum(),
        };
        let failure = shared::file_failure(&run.artifacts.scrape_file(), server_metrics_jsonl::NAME, file_failure);
        let ranges = |kind: PhaseKind| {
            let of_kind = result.phases.iter().filter(move |phase| phase.id.kind == kind);
            of_kind.map(|phase| TimeRange { start: phase.start, end: phase.end })
        };
        let whole = |a: TimeRange, b: TimeRange| TimeRange { start: a.start.min(b.start), end: a.end.max(b.end) };
        let observed = Observed {
            configured: endpoints.iter().map(shown).collect(),
            successful: endpoints.iter().filter(|endpoint| endpoint.was_reached).map(shown).collect(),
            endpoints: endpoints.iter().map(seen).collect(),
            profiling: profiling_range(result),
            warmup: ranges(PhaseKind::Warmup).reduce(whole),
            phases: result
                .phases
                .iter()
                .map(|phase| ObservedPhase {
                    id: Arc::new(phase.id.clone()),
                    range: TimeRange { start: phase.start, end: phase.end },
                })
                .collect(),
            slice: run.plan.metrics.slice,
            errors,
            windowing: Windowing::ProfilingWindow,
        };
        let metrics = summarise(&store, &observed);
        warn_of(&metrics, &run.events);
        result.server_metrics = Some(Arc::new(ServerMetricsResult {
            metrics,
            window: observed.profiling_window(&store),
            store,
            formats: self.plan.formats,
            hostname: hostname(),
            exported: run.events.anchor().wall(mono_now()),
        }));
        Ok(failure)
    }
}

/// Warns about numbers that may be wrong or missing.
fn warn_of(metrics: &ServerMetrics, events: &Events) {
    for (url, series) in metrics.resets() {
        let text = format!(
            "server metrics of {url}: {series} counters and histograms fell while the run was on (was the server \
             restarted?): their totals lack what came before"
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
