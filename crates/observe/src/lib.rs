//! Watches servers and GPUs while a run is on: their Prometheus pages are fetched, read, kept and summarised; the
//! round trip to the servers is measured.
//!
//! Everything but the shells that fetch and probe takes texts and instants and gives values: no clock, no socket, no
//! file.
//!
//! # Layout
//! - [`scrape`]: the content of one page, and when
//! - [`exposition`]: a page's text becomes its families
//! - [`units`]: what a family's values are in
//! - [`results`]: the results of all pages of a run
//! - [`store`]: all pages so far, as columns
//! - [`windows`]: which samples count, and over what length of time
//! - [`timeslices`]: a window cut into slices
//! - [`statistics`]: statistics of the samples of a series
//! - [`estimator`]: percentiles of histograms
//! - [`labels`]: the order of series
//! - [`numbers`]: sums, deviations and percentiles of plain numbers
//! - `distribution`: statistics of many numbers, of which none is kept
//! - [`summarise`](mod@summarise): everything that is exported when a run is over
//! - [`snapshot`](mod@snapshot): what is known while the run is on
//! - [`deltas`](mod@deltas): samples as rows of a table
//! - [`discovery`]: pages that pods of a Kubernetes cluster have
//! - [`gpu`]: what GPUs report
//! - [`collection`]: the shell: pages fetched while a run is on
//! - [`network`]: the round trip to the servers, measured while a run is on

pub mod collection;
pub mod deltas;
pub mod discovery;
mod distribution;
pub mod estimator;
pub mod exposition;
pub mod gpu;
pub mod labels;
pub mod network;
pub mod numbers;
pub mod results;
pub mod scrape;
pub mod snapshot;
pub mod statistics;
pub mod store;
pub mod summarise;
pub mod timeslices;
pub mod units;
pub mod windows;

pub use collection::{
    Announce, Boundary, CollectError, Collected, Collector, EncodeLine, Pods, ServerPages, Setup, WatchedPage,
};
pub use deltas::{DeltaColumns, Deltas, deltas};
pub use discovery::{Cluster, Discovered, discover};
pub use labels::label_text;
pub use network::{NetworkSummary, ProbeSample, ProbeSetup, Probed, Prober};
pub use results::{
    Bucket, CounterStats, EndpointInfo, GaugeStats, HistogramStats, Metric, PhaseMetrics, ScrapeError, Series,
    SeriesStats, ServerMetrics, SliceStats, TimeRange, Timeslice,
};
pub use scrape::{Family, HistogramSample, MetricKind, Samples, ScalarSample, Scrape, ScrapeTimes};
pub use snapshot::snapshot;
pub use store::{Bound, Endpoint, Fetch, Store, StoreFault, StoreWarning, StoredSeries};
pub use summarise::{Observed, ObservedEndpoint, ObservedPhase, summarise};
pub use windows::{View, Window, Windowing};
