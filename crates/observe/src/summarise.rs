//! From all pages of a run to the input of its files and tables.

use crate::labels::label_text;
use crate::numbers::median;
use crate::results::{EndpointInfo, Metric, PhaseMetrics, ScrapeError, Series, ServerMetrics, TimeRange};
use crate::scrape::MetricKind;
use crate::statistics::{self, Statistics};
use crate::store::{Endpoint, Fetch, Store, StoredSeries};
use crate::units;
use crate::windows::{Window, Windowing};
use aiperf_types::{Nanos, PhaseId, PhaseKind, WallNs};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The facts about a run besides its pages.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// URLs in displayable form, in the order of discovery.
    pub configured: Vec<Arc<str>>,
    /// Those of them that answered.
    pub successful: Vec<Arc<str>>,
    pub endpoints: Vec<ObservedEndpoint>,
    /// From the start of the first profiling phase to the end of the last request.
    pub profiling: TimeRange,
    pub warmup: Option<TimeRange>,
    /// In order.
    pub phases: Vec<ObservedPhase>,
    /// The length of slices; none without.
    pub slice: Option<Nanos>,
    pub errors: Vec<ScrapeError>,
    pub windowing: Windowing,
}

/// An endpoint by the URL that its pages carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedEndpoint {
    pub url: Arc<str>,
    /// Host, port and path without `/metrics`.
    pub display_name: Arc<str>,
    /// Fetches that failed.
    pub errors: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedPhase {
    pub id: Arc<PhaseId>,
    pub range: TimeRange,
}

impl Observed {
    /// The window of the profiling statistics: tables of raw samples are cut to it.
    pub fn profiling_window(&self, store: &Store) -> Window {
        Window::over_kind(store, PhaseKind::Profiling, self.profiling, self.windowing)
    }

    fn warmup_window(&self, store: &Store) -> Option<Window> {
        let range = self.warmup.filter(|range| !range.is_empty())?;
        Some(Window::over_kind(store, PhaseKind::Warmup, range, self.windowing))
    }
}

/// Everything that is exported of the servers' own metrics.
pub fn summarise(store: &Store, run: &Observed) -> ServerMetrics {
    let profiling = run.profiling_window(store);
    let warmup = run.warmup_window(store);
    let mut slices_left_out = false;
    let mut over = |window: &Window| metrics(store, window, run, &mut slices_left_out);
    ServerMetrics {
        configured: run.configured.clone(),
        successful: run.successful.clone(),
        endpoints: endpoints(store, run, |_| true),
        profiling: run.profiling,
        warmup: warmup.map(|window| TimeRange { end: last_page(store, &window, PhaseKind::Warmup), ..window.range() }),
        metrics: over(&profiling),
        warmup_metrics: warmup.as_ref().map(&mut over).unwrap_or_default(),
        phases: phases(store, run, &mut over),
        slices_left_out,
        errors: run.errors.clone(),
    }
}

/// The end of a window, or the last page tagged so, if that is later.
fn last_page(store: &Store, window: &Window, kind: PhaseKind) -> WallNs {
    let tagged = fetches(store).filter(|fetch| fetch.phase.as_ref().is_some_and(|phase| phase.kind == kind));
    tagged.map(|fetch| fetch.at).fold(window.range().end, WallNs::max)
}

fn fetches(store: &Store) -> impl Iterator<Item = &Fetch> + Clone {
    store.endpoints().iter().flat_map(Endpoint::fetches)
}

/// One metric per name and kind, so that endpoints that disagree about a kind each keep theirs.
fn metrics(store: &Store, window: &Window, run: &Observed, slices_left_out: &mut bool) -> Vec<Metric> {
    let mut metrics: BTreeMap<(Arc<str>, MetricKind), Metric> = BTreeMap::new();
    for series in store.series() {
        let Some(statistics) = window.view(series).and_then(|view| statistics::of_view(&view, run.slice)) else {
            continue;
        };
        *slices_left_out |= statistics.slices_left_out;
        let metric = metrics.entry((Arc::clone(series.name()), series.kind())).or_insert_with(|| Metric {
            name: Arc::clone(series.name()),
            kind: series.kind(),
            description: Arc::clone(series.description()),
            unit: units::infer(series.name(), series.description()),
            series: Vec::new(),
        });
        metric.series.push(of_endpoint(series, statistics));
    }
    let mut metrics: Vec<Metric> = metrics.into_values().collect();
    for metric in &mut metrics {
        metric.series.sort_by_cached_key(|series| (Arc::clone(&series.endpoint_url), label_text(&series.labels)));
    }
    metrics
}

fn of_endpoint(series: StoredSeries<'_>, statistics: Statistics) -> Series {
    let Statistics { stats, resets, buckets, timeslices, .. } = statistics;
    let (endpoint_url, labels) = (Arc::clone(series.endpoint().url()), series.labels().clone());
    let bounds = series.bounds().iter().map(|bound| Arc::clone(&bound.le)).collect();
    Series { endpoint_url, labels, stats, resets, buckets, bounds, timeslices }
}

/// Each phase separately; a single one would only repeat the whole.
fn phases(store: &Store, run: &Observed, mut over: impl FnMut(&Window) -> Vec<Metric>) -> Vec<PhaseMetrics> {
    let of_phase = |phase: &ObservedPhase| {
        let window = Window::over_phase(phase.id.index, phase.range, run.windowing);
        let tagged = fetches(store).filter(|fetch| window.is_tagged(fetch.phase.as_deref())).map(|fetch| fetch.at);
        let scraped = TimeRange { start: tagged.clone().min()?, end: tagged.max()? };
        let is_while_on = |fetch: &Fetch| (scraped.start..=scraped.end).contains(&fetch.at);
        let endpoints = endpoints(store, run, is_while_on);
        Some(PhaseMetrics { phase: Arc::clone(&phase.id), scraped, endpoints, metrics: over(&window) })
    };
    if run.phases.len() < 2 { Vec::new() } else { run.phases.iter().filter_map(of_phase).collect() }
}

/// How endpoints were fetched, counting some of their pages; sorted by URL.
fn endpoints(store: &Store, run: &Observed, counts: impl Fn(&Fetch) -> bool) -> Vec<EndpointInfo> {
    let of_endpoint = |endpoint: &Endpoint| {
        let fetches: Vec<&Fetch> = endpoint.fetches().iter().filter(|fetch| counts(fetch)).collect();
        let known = run.endpoints.iter().find(|known| known.url == *endpoint.url());
        let (first, last) = (fetches.first()?, fetches.last()?);
        let updates: Vec<u64> = fetches.iter().filter(|fetch| !fetch.is_duplicate).map(|fetch| fetch.at.0).collect();
        // All pages of a short phase may repeat the one before it.
        let first_update = updates.first().copied().unwrap_or(first.at.0);
        let last_update = updates.last().copied().unwrap_or(first.at.0);
        let duration_seconds = (last_update - first_update) as f64 / 1e9;
        let gaps = updates.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let latencies: f64 = fetches.iter().map(|fetch| fetch.latency.0 as f64).sum();
        Some(EndpointInfo {
            url: Arc::clone(endpoint.url()),
            display_name: Arc::clone(known.map_or(endpoint.url(), |known| &known.display_name)),
            total_fetches: fetches.len() as u64,
            first_fetch: first.at,
            last_fetch: last.at,
            avg_fetch_latency_ms: latencies / fetches.len() as f64 / 1e6,
            unique_updates: updates.len() as u64,
            first_update: WallNs(first_update),
            last_update: WallNs(last_update),
            duration_seconds,
            avg_update_interval_ms: match updates.len() {
                0 | 1 => 0.0,
                updates => duration_seconds * 1e3 / (updates - 1) as f64,
            },
            median_update_interval_ms: median(gaps).map(|gap| gap / 1e6),
            errors: known.map_or(0, |known| known.errors),
        })
    };
    let mut endpoints: Vec<EndpointInfo> = store.endpoints().iter().filter_map(of_endpoint).collect();
    endpoints.sort_by(|one, other| one.url.cmp(&other.url));
    endpoints
}
