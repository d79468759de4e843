//! Writes it down: what a run did, in files for programs and tables for people.
//!
//! Takes values and gives text; only [`artifacts`], [`files`] and [`records::reading`] touch the disk. Computes no metric:
//! numbers come in display units and leave as they came.
//!
//! # Layout
//! - [`run`]: what there is to write down
//! - [`records::jsonl`]: one line a request, written while the run is on; `records::metadata`: whose it is; `records::trace_data`: its
//!   HTTP trace
//! - [`records::reading`]: the same lines read back, as columns
//! - `records::parquet`: the same as columns; `format::parquet_pages`: column chunks of Parquet files
//! - [`records::raw_jsonl`]: the same with all that was sent and came
//! - [`records::outputs_json`]: what was generated, gathered while the run is on; `records::sorted_entries`: in the order of requests
//! - [`records::inputs_json`]: what will be sent, written before it
//! - `artifacts::user_files`: texts of the user's own, written before a run
//! - [`summary::json`], [`summary::csv`]: the metrics of a run
//! - [`summary::timeslices_json`], [`summary::timeslices_csv`]: the same, cut into slices of time
//! - [`aggregate`]: many runs: trials and sweeps
//! - [`compare`]: runs side by side
//! - [`server_metrics`]: what the servers' own metrics came to; [`server_metrics::json`], [`server_metrics::csv`]: their
//!   statistics; [`server_metrics::parquet`]: every sample; [`server_metrics::jsonl`]: every page, written
//!   while the run is on; `server_metrics::phases`: each phase
//! - [`network_latency_jsonl`]: every probe of the network, written while the run is on
//! - [`gpu`]: what GPUs reported; `gpu::csv`: their table in the summary CSV; [`gpu::jsonl`]:
//!   every sample, written while the run is on
//! - [`otlp`]: metrics as OTLP has them, for those who send them
//! - [`summary::phases`], [`artifacts::marker`]: the index of phases; the sign that all is written
//! - [`console`]: the report that people read; [`console::log_lines`]: the lines that a run says while it is on
//! - [`junit`]: what was checked, for CI systems
//! - `export`: what a kind of file must give; `artifacts::kinds`: every kind in one table; [`artifacts`], [`files`]: the
//!   directory, and files that appear whole; `artifacts::reserve`: room for those of the end
//! - `format::json`, `format::number`, `format::stamp`: how values become text

pub mod aggregate;
pub mod artifacts;
pub mod compare;
pub mod console;
mod error;
mod export;
pub mod files;
mod format;
pub mod gpu;
pub mod junit;
pub mod network_latency_jsonl;
pub mod otlp;
pub mod records;
pub mod run;
pub mod server_metrics;
pub mod summary;

pub use artifacts::{Artifacts, FirstWritten, IncompleteFile, OpenRecordFile, RunsFolder, StagedInputs, Written};
pub use compare::cases::compare_cases;
pub use compare::json::compare_json;
pub use compare::table::compare_text;
pub use console::footer::footer;
pub use console::gpu::gpu_number;
pub use console::limits::limit_line;
pub use console::live::{LiveBlock, ServerLine, live_block};
pub use console::live_table::{LIVE_COLUMNS, LiveRow, live_rows};
pub use console::log_lines::{LogLine, LogLines};
pub use console::metrics::accepted_drafts_line;
pub use console::notices::{ExitError, cancelling_panel, exit_panel, force_quit_panel};
pub use console::page::Page;
pub use console::quantities::{bytes_text, clock_text, duration_text, remaining_text};
pub use console::report;
pub use console::statistics::{StatisticsRow, statistics_table};
pub use console::sweep::{SWEEP_COLUMNS, SweepColumn, SweepRow, SweepTable, sweep_conclusion};
pub use console::text::{fit, literal, wrap_hanging};
pub use console::trials::{MultiRunPlan, multi_run_banner, multi_run_summary};
pub use error::{ExportFailure, ReportError};
pub use export::{Completion, RecordFile, RecordRun, RecordWriting, WrittenFile};
pub use files::{LinesFile, discard_temporaries, is_still_there};
pub use format::number::thousands;
pub use format::stamp::log_time;
pub use gpu::jsonl as gpu_telemetry_jsonl;
pub use junit::{JunitCase, JunitOutcome, junit_xml};
pub use records::jsonl::RecordLine;
pub use records::metadata::RunIds;
pub use records::raw_jsonl::RawLine;
pub use records::reading::{RecordColumn, RecordColumns};
pub use run::{GpuTelemetryResult, PhaseResult, RunInfo, RunResult, ServerMetricsResult};
pub use server_metrics::jsonl as server_metrics_jsonl;
pub use server_metrics::jsonl::{ScrapeFile, scrape_line};
pub use server_metrics::phases::endpoint_summaries;
