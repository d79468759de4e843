//! The GPUs of a run: sampled during the run, summarised at its end, with metrics of efficiency.

mod efficiency;

use super::shared::{self, Announced, errors, profiling_range, started};
use super::{Consumer, ConsumerError, ConsumerKind, Degraded, ProbeResult, RunContext};
use crate::run_traits::traits;
use aiperf_engine::Events;
use aiperf_observe::collection::CollectedEndpoint;
use aiperf_observe::gpu::local::{self, LocalCollected, LocalCollector, LocalError, LocalSetup};
use aiperf_observe::gpu::results::power_samples;
use aiperf_observe::gpu::{Custom, Dcgm, GpuPages, GpuStore, GpuTelemetry, ObservedGpus, custom, live, summarise_gpus};
use aiperf_observe::{CollectError, Collected, Collector, ScrapeError, Setup, TimeRange, WatchedPage};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{
    BaseUrl, Cadence, DcgmExporter, GpuMetricsFile, GpuSource, GpuTelemetryPlan, LocalSource, MetricsEndpoint, Plan,
};
use aiperf_report::{ExportFailure, GpuTelemetryResult, RunResult, gpu_telemetry_jsonl};
use aiperf_transport::from_plan::{self, TlsError};
use aiperf_types::{LogLevel, Nanos, SourceKind};
use std::io;
use std::sync::Arc;
use thiserror::Error;

/// How long the start of a run waits for exporters at guessed addresses.
const PATIENCE_WITH_GUESSES: Nanos = Nanos::from_millis(1_000);
/// The least time for the last page.
const LAST_PAGE: Nanos = Nanos::from_millis(1_000);
/// How long a cancelled run waits for pages that are still being read.
const CANCEL_WAIT: Nanos = Nanos::from_millis(1_000);
/// How many skipped rows of a metrics file are logged one by one.
const ROWS_LOGGED: usize = 5;
/// Common names and addresses of this machine.
const LOCAL_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// A metrics file without a metric.
#[derive(Debug, Error)]
#[error(
    "the GPU metrics file {name} gives no metric{}\n  it lists fields of DCGM that are not collected anyway, a row \
     `FIELD, gauge|counter, help text` each\n  try: DCGM_FI_DEV_SM_CLOCK, gauge, SM clock frequency (in MHz)",
    first.as_ref().map(|why| format!(": {why}")).unwrap_or_default()
)]
struct GpuMetricsError {
    name: String,
    first: Option<String>,
}

/// Rejects a metrics file without metrics, and local GPUs on a machine that has none.
fn check(plan: &Plan) -> Result<(), ConsumerError> {
    let Some(plan) = &plan.gpu_telemetry else { return Ok(()) };
    plan.metrics_file.as_ref().map_or(Ok(()), |file| read(file).map(drop))?;
    match plan.source {
        GpuSource::Exporters(_) => Ok(()),
        GpuSource::Local(source) => Ok(local::open(source).map(drop)?),
    }
}

fn read(file: &GpuMetricsFile) -> Result<Custom, GpuMetricsError> {
    let custom = custom::parse(&file.text);
    if custom.metrics.is_empty() {
        let first = custom.skipped.first().map(|row| format!("line {}: {}", row.line, row.why));
        return Err(GpuMetricsError { name: file.name.clone(), first });
    }
    Ok(custom)
}

/// GPU telemetry, as a consumer.
pub(super) const KIND: ConsumerKind = ConsumerKind {
    name: SourceKind::GpuTelemetry.name(),
    lost: "GPU telemetry is lost",
    check,
    probe: GpuWatch::probe,
};

/// Samples GPUs during a run.
struct GpuWatch {
    plan: GpuTelemetryPlan,
    /// `None` if there is nothing to sample, and after the end of sampling.
    sampling: Option<Sampling>,
}

/// Where samples come from.
enum Sampling {
    Pages(Collector<GpuPages>),
    Local(LocalCollector, Arc<str>),
}

/// The result of sampling.
struct Sampled {
    store: GpuStore,
    /// Sources that the user named or that were found, each with its name in tables.
    sources: Vec<(Arc<str>, String)>,
    /// The sources that responded.
    reached: Vec<Arc<str>>,
    errors: Vec<ScrapeError>,
    file_failure: Option<io::Error>,
}

impl GpuWatch {
    fn probe(run: &RunContext) -> ProbeResult {
        let Some(watched) = run.plan.gpu_telemetry.clone() else { return Ok(None) };
        let RunContext { plan, events, redactor, .. } = run;
        let sampling = match &watched.source {
            // A user who asked for GPUs is warned that there are no sources.
            GpuSource::Exporters(exporters) if exporters.is_empty() && !watched.is_requested => None,
            GpuSource::Exporters(exporters) => {
                let setup = pages(plan, &watched, exporters, events, redactor)?;
                started(Collector::start(setup), "GPU telemetry is not collected", events).map(Sampling::Pages)
            }
            GpuSource::Local(source) => {
                warn_of_remote_server(*source, &plan.endpoint.urls, events);
                let setup = local_setup(*source, &watched, events, redactor)?;
                let name = setup.source.clone();
                let collector = LocalCollector::start(setup);
                started(collector, "GPU telemetry is not collected", events)
                    .map(|collector| Sampling::Local(collector, name))
            }
        };
        Ok(Some(Box::new(Self { plan: watched, sampling })))
    }

    /// Waits for the last samples, summarises all of them, and adds the results to the metrics.
    fn add(
        &self,
        sampling: Sampling,
        run: &RunContext,
        result: &mut RunResult,
    ) -> Result<Option<ExportFailure>, CollectError> {
        let RunContext { plan, events, .. } = run;
        let sampled = sampling.finish(|| result.was_cancelled || run.stop.is_stopped(), &run.redactor)?;
        let Sampled { store, sources, reached, errors, file_failure } = sampled;
        let observed = ObservedGpus {
            sources,
            reached,
            profiling: profiling_range(result),
            phases: result
                .phases
                .iter()
                .map(|phase| (phase.id.clone(), TimeRange { start: phase.start, end: phase.end }))
                .collect(),
            grace: self.plan.grace,
            errors,
        };
        let telemetry = summarise_gpus(&store, &observed);
        for counter in telemetry.resets() {
            let text = format!("GPU telemetry: {counter} fell while the run was on: its total lacks what came before");
            events.say(LogLevel::Warning, text);
        }
        if self.plan.is_requested {
            without_gpus(&telemetry).into_iter().for_each(|text| events.say(LogLevel::Warning, text));
        }
        let samples = power_samples(&store);
        efficiency::add(plan, &traits(plan), result, &observed, &samples, self.plan.interval);
        let gaps = efficiency::gaps(&samples, &efficiency::spans(result, &observed), self.plan.interval);
        gaps.into_iter().for_each(|text| events.say(LogLevel::Warning, text));
        let is_requested = self.plan.is_requested;
        result.gpu_telemetry = Some(Arc::new(GpuTelemetryResult { telemetry, is_requested }));
        Ok(shared::file_failure(&run.artifacts.gpu_file(), gpu_telemetry_jsonl::NAME, file_failure))
    }
}

impl Consumer for GpuWatch {
    /// Waits until it is known which sources respond, and for their first samples.
    fn settle(&self, run: &RunContext) {
        let is_stopped = || run.stop.is_stopped();
        match &self.sampling {
            Some(Sampling::Pages(collector)) => collector.wait_until_settled(is_stopped),
            Some(Sampling::Local(collector, _)) => collector.wait_until_read(is_stopped),
            None => {}
        }
    }

    fn snapshot(&mut self, run: &RunContext, events: &mut Events) {
        let (stop, file) = (run.stop.clone(), Box::new(run.artifacts.gpu_file()));
        let is_stopped = move || stop.is_stopped();
        match &self.sampling {
            Some(Sampling::Pages(collector)) => {
                collector.write_to(file);
                *events = events.observed_by(Arc::new(collector.listener_until(is_stopped)));
            }
            Some(Sampling::Local(collector, _)) => {
                collector.write_to(file);
                *events = events.observed_by(Arc::new(collector.listener_until(is_stopped)));
            }
            None => {}
        }
    }

    /// The last samples arrive with the last request, and are in the summary.
    fn summary(&mut self, run: &RunContext, result: &mut RunResult) -> Result<Option<ExportFailure>, Degraded> {
        let sampling = self.sampling.take();
        let added = sampling.map_or(Ok(None), |sampling| self.add(sampling, run, result));
        if result.gpu_telemetry.is_none() {
            let range = profiling_range(result);
            result.gpu_telemetry = Some(Arc::new(GpuTelemetryResult::without_sources(range)));
        }
        added.map_err(Degraded::by)
    }
}

impl Sampling {
    /// Waits for the last samples and returns everything.
    fn finish(self, is_stopped: impl Fn() -> bool, redactor: &Redactor) -> Result<Sampled, CollectError> {
        match self {
            Self::Pages(collector) => {
                let Collected { store, mut endpoints, file_failure } = collector.finish(is_stopped)?;
                let has_gpus = |endpoint: &CollectedEndpoint| {
                    let url = endpoint.url.shown();
                    store.sources().iter().any(|source| *source.url == *url)
                };
                // A page without GPUs at a guessed port belongs to another program.
                endpoints.retain(|endpoint| !endpoint.is_guess || has_gpus(endpoint));
                let source = |endpoint: &CollectedEndpoint| (endpoint.url.shown().into(), endpoint.url.display_name());
                let sources = endpoints.iter().map(source).collect();
                let reached = endpoints.iter().filter(|endpoint| endpoint.was_reached);
                let reached = reached.map(|endpoint| endpoint.url.shown().into()).collect();
                Ok(Sampled { store, sources, reached, errors: errors(&endpoints, redactor), file_failure })
            }
            Self::Local(collector, source) => {
                let LocalCollected { store, errors, file_failure } = collector.finish();
                let display_name = live::display_name(&source).to_owned();
                let reached = vec![source.clone()];
                Ok(Sampled { store, sources: vec![(source, display_name)], reached, errors, file_failure })
            }
        }
    }
}

/// The warning about sources without GPUs, for a user who asked for GPUs. Sources that fail are reported at the time of
/// the failure.
fn without_gpus(telemetry: &GpuTelemetry) -> Option<String> {
    if telemetry.configured.is_empty() {
        return Some("DCGM telemetry skipped: no telemetry sources reachable".to_owned());
    }
    let has_error = |url: &Arc<str>| telemetry.errors.iter().any(|error| error.endpoint_url == *url);
    let is_silent = |url: &&Arc<str>| !telemetry.successful.contains(url) && !has_error(url);
    let silent: Vec<&str> = telemetry.reached.iter().filter(is_silent).map(|url| &**url).collect();
    let text = || format!("GPU telemetry: reachable, but reports no GPU: {}", silent.join(", "));
    (!silent.is_empty()).then(text)
}

/// The setup for the pages of exporters.
fn pages(
    plan: &Plan,
    watched: &GpuTelemetryPlan,
    exporters: &[DcgmExporter],
    events: &Arc<Events>,
    redactor: &Arc<Redactor>,
) -> Result<Setup<GpuPages>, TlsError> {
    // A file without metrics was rejected before.
    let custom = watched.metrics_file.as_ref().and_then(|file| Some((file, read(file).ok()?)));
    if let Some((file, custom)) = &custom {
        log_skipped_rows(file, custom, events);
    }
    let custom = custom.map(|(_, custom)| custom.metrics).unwrap_or_default();
    let page = |DcgmExporter { url, is_guess }: &DcgmExporter| WatchedPage {
        endpoint: MetricsEndpoint { url: url.clone(), fallback: None, is_named: !is_guess },
        is_guess: *is_guess,
    };
    Ok(Setup {
        kind: GpuPages {
            dcgm: Dcgm::new(&custom),
            encode: gpu_telemetry_jsonl::record_lines,
            is_watched: events.metrics_every().is_some(),
            redactor: redactor.clone(),
        },
        pages: exporters.iter().map(page).collect(),
        pods: None,
        cadence: cadence(watched, exporters, events),
        anchor: events.anchor(),
        fetcher: from_plan::fetcher(plan)?,
        announce: Announced::to(events, redactor),
        writes_lines: true,
    })
}

/// The setup for the GPUs of this machine.
fn local_setup(
    source: LocalSource,
    watched: &GpuTelemetryPlan,
    events: &Arc<Events>,
    redactor: &Arc<Redactor>,
) -> Result<LocalSetup, LocalError> {
    Ok(LocalSetup {
        gpus: local::open(source)?,
        source: source.address().into(),
        interval: watched.interval,
        patience: watched.grace.max(LAST_PAGE),
        live_every: events.metrics_every(),
        anchor: events.anchor(),
        encode: gpu_telemetry_jsonl::record_lines,
        announce: Announced::to(events, redactor),
    })
}

/// Warns if a server may be on another machine: the local GPUs are not its GPUs.
fn warn_of_remote_server(source: LocalSource, urls: &[BaseUrl], events: &Events) {
    let is_far = |url: &&BaseUrl| !url.is_unix() && !LOCAL_HOSTS.contains(&url.host());
    let Some(url) = urls.iter().find(is_far) else { return };
    let keyword = source.keyword();
    let text = format!(
        "--gpu-telemetry {keyword} reads the GPUs of this machine, and {} may be another one: GPUs of other machines are \
         read through a DCGM exporter there, --gpu-telemetry http://HOST:9400/metrics",
        url.shown()
    );
    events.say(LogLevel::Warning, text);
}

fn cadence(plan: &GpuTelemetryPlan, exporters: &[DcgmExporter], events: &Events) -> Cadence {
    let is_named = exporters.iter().any(|exporter| !exporter.is_guess);
    let patience = Nanos(plan.reachability_timeout.0.saturating_mul(2));
    Cadence {
        interval: plan.interval,
        // Exporters sample on their own: the final state is there at the end.
        flush: Nanos::ZERO,
        reachability_timeout: plan.reachability_timeout,
        // Later samples count nowhere.
        scrape_timeout: plan.grace.max(LAST_PAGE),
        read_timeout: plan.read_timeout,
        // Without a listener, only the first snapshot is published.
        publish_interval: events.metrics_every().unwrap_or(Nanos::MAX),
        cancel_wait: CANCEL_WAIT,
        settle_limit: if is_named { patience } else { PATIENCE_WITH_GUESSES },
    }
}

fn log_skipped_rows(file: &GpuMetricsFile, custom: &Custom, events: &Events) {
    for row in custom.skipped.iter().take(ROWS_LOGGED) {
        events.say(LogLevel::Warning, format!("{}, line {}: {}; it is left out", file.name, row.line, row.why));
    }
    let more = custom.skipped.len().saturating_sub(ROWS_LOGGED);
    if more > 0 {
        events.say(LogLevel::Warning, format!("{}: {more} more rows are left out", file.name));
    }
}
