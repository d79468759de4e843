//! Writes the results of a run: files for programs and tables for people.
//!
//! The input is values and the output is text. Only [`files`], [`records`], [`summary::phases`] and [`artifacts`] touch
//! the disk. No metric is computed here: numbers arrive in display units and leave unchanged.
//!
//! # Layout
//! Each uses only those before it.
//! - `format`: conversion to JSON, CSV, numbers, points in time and column chunks of Parquet files
//! - `staged`: files, links and folders under temporary names
//! - [`files`]: files that appear whole, and files that grow line by line
//! - `error`: why something could not be written
//! - [`run`]: one finished run, the input of all files
//! - `export`: the interface of a kind of file
//! - [`server_metrics`]: the files of server metrics
//! - [`network_latency_jsonl`]: every probe of the network, written while the run is on
//! - [`gpu`]: the files of GPU metrics
//! - [`summary`]: the metrics of a run, of its time slices and of its phases
//! - [`records`]: each request: what was sent, received and measured
//! - [`otlp`]: metrics as OTLP messages, for the code that sends them
//! - [`aggregate`]: the files of many runs: trials and sweeps
//! - [`console`]: the report for people, and the log lines during a run
//! - [`junit`]: the results of checks, for CI systems
//! - [`compare`]: the comparison of runs
//! - [`artifacts`]: the directory of a run, with every kind of file in one table (`artifacts/kinds.rs`)
//!
//! # Invariants
//! - Every file of a run is one row of one table (`artifacts::kinds`). Removal of stale files, the footer and the ready
//!   marker follow from it.
//! - Files are written in two steps: exporters without `needs_observers` as soon as the records are done, the others
//!   after the flush period. The ready marker is last.
//! - `artifacts::reserve` keeps 2 MiB of the disk for the files of the end. Line files are opened for appending. Bytes
//!   that another process cut off are reported when the file is complete.
//! - The files of several runs are written from values (`aggregate`), as those of one run are.

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
mod staged;
pub mod summary;

pub use artifacts::{Artifacts, FirstWritten, IncompleteFile, OpenRecordFile, RunsFolder, StagedInputs, Written};
pub use compare::cases::{compare_cases, compare_properties};
pub use compare::json::compare_json;
pub use compare::table::compare_text;
pub use console::footer::footer;
pub use console::gpu::gpu_number;
pub use console::limits::{limit_caution, limit_line};
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
pub use files::{LinesFile, is_still_there};
pub use format::number::thousands;
pub use format::stamp::log_time;
pub use gpu::jsonl as gpu_telemetry_jsonl;
pub use junit::{JunitCase, JunitOutcome, junit_xml};
pub use records::jsonl::RecordLine;
pub use records::metadata::RunIds;
pub use records::raw_jsonl::RawLine;
pub use records::reading::{RecordColumn, RecordColumns};
pub use run::{GpuTelemetryResult, Note, PhaseResult, RunInfo, RunResult, ServerMetricsResult};
pub use server_metrics::jsonl as server_metrics_jsonl;
pub use server_metrics::jsonl::{ScrapeFile, scrape_line};
pub use server_metrics::phases::endpoint_summaries;
pub use staged::{Staged, discard_temporaries};
pub use summary::measurement::verdict_block;
