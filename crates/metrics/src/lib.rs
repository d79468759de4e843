//! The meaning of an exchange: record metrics, run statistics and the metric registry.
//!
//! The input is a finished request as [`Measured`](aiperf_types::Measured). The output is its metrics, the statistics
//! of a phase and its time slices. The crate is pure: no clock, no file. Its only threads are those of a summary.
//!
//! Every metric is one row of one table, and that table is also the documentation (`docs/metrics.md`). A record becomes
//! base facts: integers from which every metric of the record is computed. An accumulator stores them in packed
//! columns, and computes every metric again, one at a time, when the run is summarised.
//!
//! # Layout
//! Each folder uses only those before it.
//! - `numbers`: statistics of a population, histograms, sums
//! - [`facts`]: a record as integers, and many of them as packed columns
//! - [`curves`]: the load at each instant: requests swept in the order of time
//! - [`registry`]: every metric, one row each; the table as text
//! - [`run`]: which metrics a run has; the metrics of one record; the view of a record for writers; service level
//!   objectives; limits that fail a run; statistics that end a phase; whether a request is a valid result
//! - [`phase`]: the records of a phase, its live statistics, its summary and its slices; when its statistics are known
//!   exactly enough to end it
//! - [`measurement`]: whether the numbers of a run can be trusted
//!
//! # Invariants
//! - The crate is pure: no socket, no clock, no file, no async. A summary uses as many threads as its caller allows
//!   ([`Context`]); its results do not depend on them.
//! - A summary finds percentiles in two passes over the packed columns, and stores few values (`numbers/two_passes`).
//!   Only intervals (16 bytes a record, of one metric at a time in a long run), slices and short runs store all values
//!   of a metric.
//! - Folders are floors: each uses only those before it, and no two files of a folder use each other.
//!   `tests/it/layers.rs` reads the imports.
//! - Every metric is one row of its family (`registry/families`).
//! - Sums are integers of 128 bits. So merging two halves gives the whole.
//! - Curves are swept in the order of time. The curves of merged parts are swept from the records of all parts
//!   (`curves/column_sweep.rs`). Requests that wait to be swept take at most 192 MiB.
//! - Only the registry checks and judges a limit that fails a run (`check_limit`, `judge_limit`). In a campaign of
//!   several runs, each run is judged by its results, so a run of an earlier command is judged too.

pub mod curves;
pub mod facts;
pub mod measurement;
mod numbers;
pub mod phase;
pub mod registry;
pub mod run;

pub use aiperf_statistics::Interval;
pub use aiperf_types::{Grade, Reason, Slo, Thresholds, Verdict};
pub use curves::curve::{Curve, Window};
pub use curves::sweep_line::SweepLine;
pub use measurement::certainty::{Certainty, StatisticCertainty};
pub use measurement::conduct::Conduct;
pub use measurement::quality::{ConnectionWaits, Quality, SpecDecodeFaults};
pub use measurement::sending::{PhaseSent, Sending, Sent, are_many};
pub use measurement::stalls::{SinkStall, StallCause, StallTimes};
pub use measurement::until::{PhaseUntil, UntilTarget};
pub use measurement::verdict::{self, DOUBTFUL_MS, Evidence, judge};
pub use measurement::{Judgement, Measurement, PhaseMeasurement, share};
pub use numbers::durations::Durations;
pub use numbers::stats::{self, Stats, stats_of, stats_with_errors};
pub use phase::accumulator::{Accumulator, Limits};
pub use phase::gpu::{self, Coverage, FINAL_SAMPLE_GRACE, GpuSamples, GpuTotals, Sampling};
pub use phase::gpu_vendors::VendorTotals;
pub use phase::histograms::{Instruments, RecordHistograms};
pub use phase::intervals::CONFIDENCE_LEVEL;
pub use phase::live::Live;
pub use phase::records::Records;
pub use phase::summary::{Bound, Context, Exactness, MetricBounds, MetricIntervals, MetricResult, Slice, Summary};
pub use phase::until::{Reached, Sample};
pub use registry::docs::{self, markdown, registry_json};
pub use registry::families::DEGRADED_LAG_MS;
pub use registry::flags::Flags;
pub use registry::instrument::{self, Instrument};
pub use registry::metric::{self, ConsoleGroup, Metric, MetricType};
pub use registry::unit::Unit;
pub use run::check::{CONTEXT_OVERFLOW_PHRASES, invalid_result, reports_context_overflow};
pub use run::error_type::ErrorType;
pub use run::goodput::{self, GoodputError, check_goodput};
pub use run::limits::{self, JudgedLimit, LimitVerdict, check_limit, judge_limit};
pub use run::record::{BaseValue, RecordMetrics, Value, ValueKind};
pub use run::until::{self, NoInterval, Watched, check_precision};
pub use run::view::{RecordEncoder, RecordView};
pub use run::{Metrics, RunTraits};
