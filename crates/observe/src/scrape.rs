//! The content of one page of an endpoint, and when: families as they are kept, whatever the page's grammar was.

use aiperf_types::{Nanos, PhaseId, WallNs};
use std::sync::Arc;

/// Label names and values, sorted by name.
pub type Labels = Vec<(Arc<str>, Arc<str>)>;

/// One page, read. Pages that left no family are no scrape.
#[derive(Clone, Debug, PartialEq)]
pub struct Scrape {
    /// As it may be shown.
    pub endpoint_url: Arc<str>,
    pub times: ScrapeTimes,
    /// The phase that was on when the fetch began.
    pub phase: Option<Arc<PhaseId>>,
    /// The page equals the one before it from this endpoint, byte for byte.
    pub is_duplicate: bool,
    /// In the order in which the page names them first; no two of one name and kind.
    pub families: Vec<Family>,
}

/// When a page was fetched, in the run's own wall time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrapeTimes {
    pub sent: WallNs,
    pub first_byte: Option<WallNs>,
    /// From sending to the end of the body.
    pub latency: Nanos,
    /// The instant that the samples count for: the first byte's, where it is known.
    pub at: WallNs,
}

/// What a family's samples are. Its names are those of the exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MetricKind {
    Gauge,
    Counter,
    Histogram,
    /// Declared untyped, or not at all: kept and summarised like a gauge.
    Unknown,
}

impl MetricKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
            Self::Histogram => "histogram",
            Self::Unknown => "unknown",
        }
    }
}

/// Samples of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Without the `_total` of counters.
    pub name: Arc<str>,
    pub kind: MetricKind,
    /// Its help text, or nothing.
    pub description: Arc<str>,
    pub samples: Samples,
}

/// A family's samples, one a label set, in order of first appearance; none is empty.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// Of gauges, counters and the unknown; every value is finite.
    Scalars(Vec<ScalarSample>),
    Histograms(Vec<HistogramSample>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ScalarSample {
    pub labels: Labels,
    pub value: f64,
}

/// One histogram; every value is finite.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramSample {
    /// Without `le`.
    pub labels: Labels,
    /// Upper bounds as the page spells them, in its order, each with the observations up to it.
    pub buckets: Vec<(Arc<str>, f64)>,
    pub sum: Option<f64>,
    pub count: Option<f64>,
}
