//! GPU metrics while a run is on: read, stored and summarised.
//!
//! Sources give readings, one file per kind of source; from there on the readings of all sources are alike.
//!
//! # Layout
//! - [`table`]: the metrics that a GPU may have, in the order in which they are shown
//! - [`custom`]: more of them, from a file of the user
//! - [`reading`]: the readings of a source at one instant
//! - [`dcgm`]: a source: pages of DCGM exporters
//! - [`live`]: the current values
//! - [`series`]: the samples of a GPU; [`store`]: those of all GPUs so far, as columns
//! - [`statistics`]: statistics of the samples of a metric
//! - [`results`]: results for a run and for each of its phases
//! - [`pages`]: pages of exporters, for collection
//! - [`local`]: sources: the GPUs of this machine, without an exporter

pub mod custom;
pub mod dcgm;
pub mod live;
pub mod local;
pub mod pages;
pub mod reading;
pub mod results;
pub mod series;
pub mod statistics;
pub mod store;
pub mod table;

pub use custom::Custom;
pub use dcgm::Dcgm;
pub use pages::{EncodeGpus, GpuPages};
pub use reading::{Gpu, GpuReading, GpuScrape};
pub use results::{GpuEndpoint, GpuPhase, GpuStats, GpuSummary, GpuTelemetry, ObservedGpus, summarise_gpus};
pub use series::GpuSeries;
pub use statistics::{Span, increase, of_kind};
pub use store::GpuStore;
pub use table::{CustomMetric, GpuMetric, GpuMetricKind, MetricId, Table};
