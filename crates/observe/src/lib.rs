//! Watches the servers while a run is on: their Prometheus pages are fetched, read, kept, and come to statistics.
//!
//! Everything but the shell that fetches takes texts and instants and gives values: no clock, no socket, no file.
//!
//! # Layout
//! - [`scrape`]: what one page said, and when
//! - [`results`]: what all pages of a run came to
//! - [`discovery`]: pages that pods of a Kubernetes cluster have

pub mod discovery;
pub mod results;
pub mod scrape;

pub use discovery::{Cluster, Discovered, discover};
pub use results::{
    Bucket, CounterStats, EndpointInfo, GaugeStats, HistogramStats, Metric, PhaseMetrics, ScrapeError, Series,
    SeriesStats, ServerMetrics, SliceStats, TimeRange, Timeslice,
};
pub use scrape::{Family, HistogramSample, MetricKind, Samples, ScalarSample, Scrape, ScrapeTimes};
