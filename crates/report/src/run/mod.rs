//! What there is to write down: one finished run.
//!
//! # Layout
//! - `server_metrics`, `gpu_telemetry`: what observers saw while it was on

mod gpu_telemetry;
mod server_metrics;

pub use gpu_telemetry::GpuTelemetryResult;
pub use server_metrics::ServerMetricsResult;

use aiperf_metrics::{JudgedLimit, Slice, Summary, Thresholds};
use aiperf_plan::{ArtifactPlan, Provenance, RunIdentity};
use aiperf_types::{EndpointKind, PhaseId, RequestError, WallNs};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// One finished run, complete or not.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Version of the program that ran it.
    pub version: String,
    /// Who the run is and how it was started.
    pub info: RunInfo,
    /// Which kind of endpoint was measured.
    pub endpoint: EndpointKind,
    pub models: Vec<String>,
    /// Live sessions at most in the first profiling phase; `None` is no limit.
    pub concurrency: Option<u32>,
    /// The resolved configuration, secrets redacted.
    pub input_config: Value,
    /// Where a public dataset came from.
    pub dataset: Option<Provenance>,
    /// What is written where.
    pub artifacts: ArtifactPlan,
    /// Metrics of the profiling phases.
    pub metrics: Summary,
    /// The same, cut into slices of time; none unless asked for.
    pub slices: Vec<Slice>,
    /// Metrics of the warm-up, when it had records.
    pub warmup: Option<Summary>,
    /// Every phase on its own, in order.
    pub phases: Vec<PhaseResult>,
    /// Distinct errors of the profiling phases in order of first occurrence, with how often each happened.
    pub errors: Vec<(RequestError, u64)>,
    /// Start of the first profiling phase.
    pub start: WallNs,
    /// When the last request of the profiling phases was over.
    pub end: WallNs,
    /// Interrupted by the user.
    pub was_cancelled: bool,
    /// Why the metrics cover only a part of the run; `None` when they cover all of it.
    pub incomplete_reason: Option<String>,
    /// How exact the measurement itself was.
    pub measurement: Option<Value>,
    /// What a reader of the numbers should know of the measurement, one sentence each.
    pub doubts: Vec<String>,
    /// Parts of the run that died before they could report, and why.
    pub degraded: Vec<String>,
    /// Limits that the warnings on the console name.
    pub limits: Thresholds,
    /// Limits that fail the run, held against it.
    pub judged: Vec<JudgedLimit>,
    /// Show the HTTP trace table.
    pub show_trace_timing: bool,
    /// What was seen of the servers; `None` where they were not watched, or nothing was seen.
    pub server_metrics: Option<Arc<ServerMetricsResult>>,
    /// What was seen of GPUs; `None` where they were not watched.
    pub gpu_telemetry: Option<Arc<GpuTelemetryResult>>,
}

/// What happened in one phase.
#[derive(Clone, Debug)]
pub struct PhaseResult {
    pub id: PhaseId,
    pub start: WallNs,
    /// When its last request was over.
    pub end: WallNs,
    pub successful: u64,
    pub failed: u64,
    /// Distinct errors with how often each happened.
    pub errors: Vec<(RequestError, u64)>,
    /// Interrupted by the user.
    pub was_cancelled: bool,
    pub metrics: Summary,
}

/// The phase that something was observed in, as files of observers describe it.
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

/// Who a run is and how it was started: enough to run it again.
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
    /// The run of a plan, with its command line as it may be shown.
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

    /// A run on its own: the first trial of the only variation.
    pub fn single(benchmark_id: impl Into<String>, random_seed: Option<u64>, cli_command: Option<String>) -> Self {
        Self {
            benchmark_id: benchmark_id.into(),
            sweep_id: None,
            random_seed,
            trial: 0,
            run_label: "run_0001".into(),
            variation_label: "base".into(),
            variation_index: 0,
            variation_values: Map::new(),
            cli_command,
        }
    }
}

impl RunResult {
    /// Whether there were requests, and every one of them failed.
    pub fn nothing_succeeded(&self) -> bool {
        self.metrics.records > 0 && self.metrics.failed == self.metrics.records
    }

    /// What was seen of the servers, where there is anything to write or show of it.
    pub(crate) fn observed(&self) -> Option<&ServerMetricsResult> {
        self.server_metrics.as_deref().filter(|observed| observed.has_metrics())
    }

    /// What was seen of GPUs, where there was any.
    pub(crate) fn gpus(&self) -> Option<&GpuTelemetryResult> {
        self.gpu_telemetry.as_deref().filter(|gpus| gpus.has_data())
    }

    /// Errors from the commonest to the rarest.
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
