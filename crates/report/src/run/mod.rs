//! The input of all files: one finished run.
//!
//! # Layout
//! - `server_metrics`, `gpu_telemetry`: the results of observers

mod gpu_telemetry;
mod server_metrics;

pub use gpu_telemetry::GpuTelemetryResult;
pub use server_metrics::ServerMetricsResult;

use aiperf_metrics::{JudgedLimit, Measurement, Slice, Summary, Thresholds, Verdict};
use aiperf_plan::{ArtifactPlan, Provenance, RunIdentity, RunPlace};
use aiperf_types::{EndpointKind, PhaseId, RequestError, WallNs};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// One finished run, complete or not.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Version of the program that ran it.
    pub version: String,
    /// The identity of the run and how it was started.
    pub info: RunInfo,
    /// The endpoint type that was measured.
    pub endpoint: EndpointKind,
    pub models: Vec<String>,
    /// The most live sessions in the first profiling phase; `None` is no limit.
    pub concurrency: Option<u32>,
    /// The resolved configuration, secrets redacted.
    pub input_config: Value,
    /// The source of a public dataset.
    pub dataset: Option<Provenance>,
    /// Which files are written, and where.
    pub artifacts: ArtifactPlan,
    /// Metrics of the profiling phases.
    pub metrics: Summary,
    /// The same by slices of time; empty unless requested.
    pub slices: Vec<Slice>,
    /// Metrics of the warm-up, if it had records.
    pub warmup: Option<Summary>,
    /// Every phase separately, in order.
    pub phases: Vec<PhaseResult>,
    /// Distinct errors of the profiling phases in order of first occurrence, with their counts.
    pub errors: Vec<(RequestError, u64)>,
    /// Start of the first profiling phase.
    pub start: WallNs,
    /// When the last request of the profiling phases ended.
    pub end: WallNs,
    /// Interrupted by the user.
    pub was_cancelled: bool,
    /// Why the metrics cover only a part of the run; `None` if they cover all of it.
    pub incomplete_reason: Option<String>,
    /// Whether records are missing because of a fault in this program: they are in no file and no metric.
    pub has_lost_records: bool,
    /// How exact the measurement was.
    pub measurement: Option<Measurement>,
    /// What else a reader should know of how the run went, one sentence each.
    pub notes: Vec<Note>,
    /// Parts of the run that died before they could report, and why.
    pub degraded: Vec<String>,
    /// Limits that the warnings on the console name.
    pub limits: Thresholds,
    /// Limits that fail the run, with their verdicts.
    pub judged: Vec<JudgedLimit>,
    /// Show the HTTP trace table.
    pub show_trace_timing: bool,
    /// The results of the servers; `None` if they were not observed, or reported nothing.
    pub server_metrics: Option<Arc<ServerMetricsResult>>,
    /// The results of GPUs; `None` if they were not observed.
    pub gpu_telemetry: Option<Arc<GpuTelemetryResult>>,
}

impl RunResult {
    /// Whether its numbers are those of the server. `None` if the run did not measure itself, or measured nothing.
    pub fn verdict(&self) -> Option<&Verdict> {
        let measurement = self.measurement.as_ref().filter(|_| !self.nothing_succeeded());
        measurement.map(|measurement| &measurement.judgement.verdict)
    }

    /// Warnings that a number may be wrong, one sentence each.
    pub fn doubts(&self) -> &[String] {
        self.measurement.as_ref().map_or(&[], |measurement| &measurement.doubts)
    }
}

/// A sentence after the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub text: String,
    pub is_warning: bool,
}

/// The results of one phase.
#[derive(Clone, Debug)]
pub struct PhaseResult {
    pub id: PhaseId,
    pub start: WallNs,
    /// When its last request ended.
    pub end: WallNs,
    pub successful: u64,
    pub failed: u64,
    /// Distinct errors with their counts.
    pub errors: Vec<(RequestError, u64)>,
    /// Interrupted by the user.
    pub was_cancelled: bool,
    pub metrics: Summary,
}

/// The phase of an observation, for the files of observers.
pub(crate) fn observed_phase(phase: &PhaseResult) -> Value {
    json!({
        "phase_index": phase.id.index,
        "profiling_index": phase.id.profiling_index,
        "phase_name": phase.id.name,
        "phase_kind": phase.id.kind.name(),
        "start_ns": phase.start.0,
        "end_ns": phase.end.0,
        "was_cancelled": phase.was_cancelled,
    })
}

/// The identity of a run and how it was started: enough to run it again.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInfo {
    /// Identity of the run.
    pub benchmark_id: String,
    /// Identity of the sweep or multi-run it belongs to.
    pub sweep_id: Option<String>,
    /// Seed of its draws, when one was set.
    pub random_seed: Option<u64>,
    /// Trial, from 0.
    pub trial: u32,
    /// Label of the run.
    pub run_label: String,
    /// Label of the variation.
    pub variation_label: String,
    /// Position of the variation.
    pub variation_index: u32,
    /// Settings of the variation by path.
    pub variation_values: Map<String, Value>,
    /// The command line, redacted.
    pub cli_command: Option<String>,
}

impl RunInfo {
    /// The run of a plan, with its redacted command line.
    pub fn of(run: &RunIdentity, cli_command: String) -> Self {
        let place = run.place.clone();
        Self {
            benchmark_id: run.benchmark_id.clone(),
            sweep_id: place.sweep_id,
            random_seed: run.random_seed,
            trial: place.trial,
            run_label: place.label,
            variation_label: place.variation_label,
            variation_index: place.variation_index,
            variation_values: place.variation_values,
            cli_command: Some(cli_command),
        }
    }

    /// A single run: the first trial of the only variation.
    pub fn single(benchmark_id: impl Into<String>, random_seed: Option<u64>, cli_command: Option<String>) -> Self {
        Self {
            benchmark_id: benchmark_id.into(),
            sweep_id: None,
            random_seed,
            trial: 0,
            run_label: RunPlace::FIRST_RUN.into(),
            variation_label: "base".into(),
            variation_index: 0,
            variation_values: Map::new(),
            cli_command,
        }
    }
}

impl RunResult {
    /// Whether there were requests, and all of them failed.
    pub fn nothing_succeeded(&self) -> bool {
        self.metrics.records > 0 && self.metrics.failed == self.metrics.records
    }

    /// The results of the servers, if there is anything to write or show.
    pub(crate) fn observed(&self) -> Option<&ServerMetricsResult> {
        self.server_metrics.as_deref().filter(|observed| observed.has_metrics())
    }

    /// The results of GPUs, if there were any.
    pub(crate) fn gpus(&self) -> Option<&GpuTelemetryResult> {
        self.gpu_telemetry.as_deref().filter(|gpus| gpus.has_data())
    }

    /// Errors, most frequent first.
    pub(crate) fn commonest_errors(&self) -> Vec<&(RequestError, u64)> {
        let mut errors: Vec<_> = self.errors.iter().collect();
        errors.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        errors
    }

    /// Whether the metrics cover the whole run.
    pub fn is_complete(&self) -> bool {
        self.incomplete_reason.is_none()
    }
}
