//! Results of all pages of a run: the source of files and tables of server metrics.

use crate::scrape::{Labels, MetricKind};
use aiperf_types::{Nanos, PhaseId, WallNs};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything known of the servers' own metrics when a run is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerMetrics {
    /// URLs as they may be shown, in the order in which they were found.
    pub configured: Vec<Arc<str>>,
    /// Those of them that answered.
    pub successful: Vec<Arc<str>>,
    /// Of endpoints that gave at least one scrape, sorted by URL.
    pub endpoints: Vec<EndpointInfo>,
    /// From the start of the first profiling phase to the end of the last request.
    pub profiling: TimeRange,
    pub warmup: Option<TimeRange>,
    /// Over the profiling phases, sorted by name, then kind.
    pub metrics: Vec<Metric>,
    /// Over the warm-up, likewise.
    pub warmup_metrics: Vec<Metric>,
    /// Each phase on its own; none unless there was more than one.
    pub phases: Vec<PhaseMetrics>,
    /// Some series have no slices, for there would be too many of them.
    pub slices_left_out: bool,
    pub errors: Vec<ScrapeError>,
}

impl ServerMetrics {
    /// Endpoints that were restarted during profiling, sorted by URL, each with the number of its series that fell.
    pub fn resets(&self) -> Vec<(Arc<str>, u64)> {
        let mut fallen: BTreeMap<&Arc<str>, u64> = BTreeMap::new();
        let series = self.metrics.iter().flat_map(|metric| &metric.series);
        for series in series.filter(|series| series.resets > 0) {
            *fallen.entry(&series.endpoint_url).or_default() += 1;
        }
        fallen.into_iter().map(|(url, series)| (Arc::clone(url), series)).collect()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    pub start: WallNs,
    pub end: WallNs,
}

impl TimeRange {
    pub fn length(self) -> Nanos {
        Nanos(self.end.0.saturating_sub(self.start.0))
    }

    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// How an endpoint was fetched, over the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointInfo {
    pub url: Arc<str>,
    /// Host, port and path without `/metrics`: what tables call it.
    pub display_name: Arc<str>,
    pub total_fetches: u64,
    pub first_fetch: WallNs,
    pub last_fetch: WallNs,
    pub avg_fetch_latency_ms: f64,
    /// Pages that differed from the one before.
    pub unique_updates: u64,
    pub first_update: WallNs,
    pub last_update: WallNs,
    pub duration_seconds: f64,
    pub avg_update_interval_ms: f64,
    pub median_update_interval_ms: Option<f64>,
    /// Fetches that failed.
    pub errors: u64,
}

/// Something that went wrong while collecting, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrapeError {
    pub endpoint_url: Arc<str>,
    /// As in Python's names of exceptions: `TimeoutError`.
    pub kind: String,
    pub message: String,
    pub count: u64,
}

/// One name and kind, over all endpoints.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    pub name: Arc<str>,
    pub kind: MetricKind,
    pub description: Arc<str>,
    pub unit: Option<&'static str>,
    /// Sorted by endpoint, then by the text of their labels.
    pub series: Vec<Series>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub endpoint_url: Arc<str>,
    pub labels: Labels,
    pub stats: SeriesStats,
    /// How often a value fell that must not fall: the server was restarted.
    pub resets: u64,
    /// Of histograms, over the window: observations up to each bound.
    pub buckets: Option<Vec<Bucket>>,
    /// Of histograms: upper bounds as the page spells them, which the buckets of slices are counted up to.
    pub bounds: Vec<Arc<str>>,
    pub timeslices: Option<Vec<Timeslice>>,
}

/// An upper bound as the page spells it, and the observations up to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub le: Arc<str>,
    pub count: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SeriesStats {
    /// Of gauges and the unknown.
    Gauge(GaugeStats),
    Counter(CounterStats),
    Histogram(HistogramStats),
}

/// Percentiles are in the order of [`aiperf_types::stats::PERCENTILES`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GaugeStats {
    pub avg: f64,
    pub min: f64,
    pub max: f64,
    pub std: f64,
    pub percentiles: [f64; 9],
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CounterStats {
    pub total: f64,
    pub rate: f64,
    /// Average, least, most and deviation of the rates of complete slices.
    pub rates: Option<[f64; 4]>,
}

/// Without observations there is only a count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HistogramStats {
    pub count: i64,
    pub sum: Option<f64>,
    pub avg: Option<f64>,
    pub count_rate: Option<f64>,
    pub sum_rate: Option<f64>,
    pub percentile_estimates: Option<[f64; 9]>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Timeslice {
    pub start: WallNs,
    pub end: WallNs,
    /// `false` for the last one where the window ends inside it.
    pub is_complete: bool,
    pub stats: SliceStats,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SliceStats {
    Gauge {
        avg: f64,
        min: f64,
        max: f64,
    },
    Counter {
        total: f64,
        rate: f64,
    },
    /// Buckets are observations up to each of the bounds of the series, which every slice shares: there may be
    /// millions.
    Histogram {
        count: i64,
        sum: f64,
        avg: f64,
        buckets: Option<Vec<i64>>,
    },
}

/// One phase on its own.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseMetrics {
    pub phase: Arc<PhaseId>,
    /// From its first scrape to its last.
    pub scraped: TimeRange,
    /// Only what was fetched while it was on, sorted by URL.
    pub endpoints: Vec<EndpointInfo>,
    pub metrics: Vec<Metric>,
}
