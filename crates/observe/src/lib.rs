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
//!
//! # Invariants
//! - Everything but `collection`, `network`, `gpu/local` and the calls of `discovery` takes texts and instants and
//!   returns values: no clock, no socket, no file. When an endpoint is fetched is a pure state machine
//!   (`collection/endpoint.rs`), and so is when a server is probed (`network/pacing.rs`).
//! - The first GET of an endpoint checks that it answers, and its page is the baseline. The run starts when the state
//!   of every endpoint is known.
//! - The fetching thread only fetches: a tick per interval, and a boundary when a phase starts or its last request
//!   ended. An endpoint has one fetch at a time. The stamp of a page is that of its first byte.
//! - The keeper numbers pages and stores them in the order of arrival. The reading thread has the lowest priority, so
//!   no thread waits for it: the keeper itself reads a page that has waited for 0.5 s, and every page that a thread
//!   waits for.
//! - The keeper stores pages, not the reading thread: the end of a run waits for the store. Storing takes 0.1 to 0.7 ms
//!   a page (`cargo bench -p aiperf-observe`).
//! - `collection` knows pages by their kind (`collection/kind.rs`): how one is read, what is kept, what is reported.
//!   Pages of servers and of GPUs (`gpu/pages.rs`) are two kinds, each with its own threads.
//! - A probe is the kernel's time of the handshake. So a late probe is still exact (`network`).
//! - GPU samples end with the last request, before the summary is written: it contains them.
//! - Code that stores, summarises and reports GPU readings does not know their source.
//! - `unsafe` occurs in `gpu/local/nvml.rs` only: calls of NVIDIA's library that its wrapper leaves out.

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
