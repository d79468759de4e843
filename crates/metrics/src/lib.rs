//! What an exchange meant: record metrics, run statistics and the metric registry.
//!
//! A finished request comes in as [`Measured`](aiperf_types::Measured); its metrics, the statistics of a phase, its time
//! slices and the comparison of several runs come out. The crate is pure: no clock, no file, no thread.
//!
//! Every metric is one row of one table, and that table is also the documentation (`docs/metrics.md`). A record becomes
//! base facts, integers that every metric of the record is a function of; an accumulator keeps these in packed columns and
//! computes every metric again, one at a time, when the run is summarised.
//!
//! # Layout
//! - [`metric`], [`mod@unit`], [`flags`]: what a row of the registry says; `families`: the rows, a file a family; [`registry`]:
//!   finding them; [`docs`]: the registry as text
//! - [`run`]: what decides which metrics a run has; [`goodput`]: service level objectives; [`check`]: whether a request is a
//!   result at all
//! - [`facts`]: a record as integers; [`record`]: its metrics; [`view`]: all of it, for those who write it down
//! - [`accumulator`]: the records of a phase. `columns`: their facts, packed; `gaps`: values of which a record has many;
//!   `histogram` and `weights`: how often they are what; `errors`: why some failed
//! - [`stats`]: statistics of a population; [`scope`] and `tally`: the values that derived metrics see; `summarise` and
//!   [`summary`]: what a phase and its slices come to
//! - [`curve`]: what was going on at each instant. `timing` and `flight`: a record as curves see it; [`sweep`] and `changes`:
//!   records in the order of time; `gauges`: all curves at once; `weighted` and `quantiles`: statistics over time
//! - [`live`]: a phase while it is on; [`text`]: the lines printed of it
//! - [`gpu`]: power and energy; [`mod@confidence`]: several runs of one benchmark

pub mod accumulator;
mod changes;
pub mod check;
mod columns;
pub mod confidence;
pub mod curve;
pub mod docs;
mod errors;
pub mod facts;
mod families;
pub mod flags;
mod flight;
mod gaps;
mod gauges;
pub mod goodput;
pub mod gpu;
mod histogram;
pub mod live;
pub mod metric;
mod quantiles;
pub mod record;
pub mod registry;
pub mod run;
pub mod scope;
pub mod stats;
mod summarise;
pub mod summary;
pub mod sweep;
mod tally;
pub mod text;
mod timing;
pub mod unit;
pub mod view;
mod weighted;
mod weights;

pub use accumulator::{Accumulator, Limits};
pub use aiperf_types::{Slo, Thresholds};
pub use check::{CONTEXT_OVERFLOW_PHRASES, invalid_result, says_context_overflow};
pub use confidence::{AcrossRuns, Confidence, ConfidenceError, RunMetric, RunOutcome, confidence};
pub use curve::{Curve, Window};
pub use docs::{markdown, registry_json};
pub use families::DEGRADED_LAG_MS;
pub use flags::Flags;
pub use goodput::{GoodputError, check_goodput};
pub use gpu::{FINAL_SAMPLE_GRACE, GpuSamples, GpuTotals};
pub use live::Live;
pub use metric::{ConsoleGroup, Kind, Metric};
pub use record::{BaseValue, RecordMetrics, Value};
pub use run::{Metrics, RunTraits};
pub use stats::{Stats, stats_of, stats_with_errors};
pub use summary::{Context, Exactness, MetricResult, Slice, Summary};
pub use sweep::Sweep;
pub use text::{LiveBlock, ServerLine, accepted_drafts_line, live_block};
pub use unit::Unit;
pub use view::{RecordEncoder, RecordView};
