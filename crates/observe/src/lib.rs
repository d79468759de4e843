//! Watches the servers while a run is on: their Prometheus pages are fetched, read, kept, and come to statistics.
//!
//! Everything but the shell that fetches takes texts and instants and gives values: no clock, no socket, no file.
//!
//! # Layout
//! - [`scrape`]: what one page said, and when
//! - [`results`]: what all pages of a run came to
//! - [`store`]: all pages so far, as columns
//! - [`windows`]: which samples count, and over what length of time
//! - [`deltas`]: samples as rows of a table

pub mod deltas;
pub mod results;
pub mod scrape;
pub mod store;
pub mod windows;

pub use deltas::{DeltaColumns, Deltas, deltas};

pub use results::{
    Bucket, CounterStats, EndpointInfo, GaugeStats, HistogramStats, Metric, PhaseMetrics, ScrapeError, Series,
    SeriesStats, ServerMetrics, SliceStats, TimeRange, Timeslice,
};
pub use scrape::{Family, HistogramSample, MetricKind, Samples, ScalarSample, Scrape, ScrapeTimes};
pub use store::{Bound, Endpoint, Fetch, Store, StoreFault, StoreWarning, StoredSeries};
pub use windows::{View, Window, Windowing};
