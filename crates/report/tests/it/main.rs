//! Every file and table that a run writes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod aggregate;
mod artifacts;
mod console;
mod golden_gpus;
mod golden_live;
mod golden_raw;
mod golden_records;
mod golden_runs;
mod golden_server_metrics;
mod golden_tables;
mod golden_traces;
mod kinds;
mod otlp;
mod raw;
mod records;
mod records_parquet;
mod server_metrics_parquet;
mod server_tables;
mod summary;
mod support;
mod timeslices;
mod user_files;
