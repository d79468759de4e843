//! The summary JSON: one statistics block per metric, and what is needed to understand and repeat the run.

use crate::export::Exporter;
use crate::format::json::{Pretty, before_count};
use crate::format::stamp::iso;
use crate::run::{GpuTelemetryResult, PhaseResult, RunInfo, RunResult};
use crate::summary::measurement::measurement_block;
use aiperf_metrics::registry::LEADING;
use aiperf_metrics::{JudgedLimit, Measurement, MetricResult, Summary};
use aiperf_types::{RequestError, WallNs};
use std::io::Write;

/// Version of the document's layout.
const SCHEMA_VERSION: &str = "1.4";

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "json",
    label: "JSON Export",
    file: |names| &names.summary_json,
    applies: Some(|run| run.artifacts.summary.json),
    needs_observers: false,
    write: |run, folder| {
        folder.write(&run.artifacts.names.summary_json, |out| out.write_all(&summary_json(run)));
    },
};

/// The part of a run that a document covers: all of it, or one phase.
struct Scope<'a> {
    metrics: &'a Summary,
    warmup: Option<&'a Summary>,
    errors: &'a [(RequestError, u64)],
    start: WallNs,
    end: WallNs,
    was_cancelled: bool,
    incomplete_reason: Option<&'a str>,
    measurement: Option<&'a Measurement>,
    gpus: Option<&'a GpuTelemetryResult>,
    judged: &'a [JudgedLimit],
}

/// The summary of a whole run.
pub fn summary_json(run: &RunResult) -> Vec<u8> {
    let scope = Scope {
        metrics: &run.metrics,
        warmup: run.warmup.as_ref(),
        errors: &run.errors,
        start: run.start,
        end: run.end,
        was_cancelled: run.was_cancelled,
        incomplete_reason: run.incomplete_reason.as_deref(),
        measurement: run.measurement.as_ref(),
        gpus: run.gpu_telemetry.as_deref(),
        judged: &run.judged,
    };
    document(run, &scope)
}

/// The summary of one phase of a run.
pub fn phase_summary_json(run: &RunResult, phase: &PhaseResult) -> Vec<u8> {
    let scope = Scope {
        metrics: &phase.metrics,
        warmup: None,
        errors: &phase.errors,
        start: phase.start,
        end: phase.end,
        was_cancelled: phase.was_cancelled,
        incomplete_reason: run.incomplete_reason.as_deref().filter(|_| phase.was_cancelled),
        measurement: None,
        gpus: None,
        judged: &[],
    };
    document(run, &scope)
}

fn document(run: &RunResult, scope: &Scope<'_>) -> Vec<u8> {
    let (leading, others) = in_file_order(scope.metrics);
    let mut json = Pretty::default();
    json.begin_object();
    push_text(&mut json, "schema_version", Some(SCHEMA_VERSION));
    push_text(&mut json, "aiperf_version", Some(&run.version));
    push_text(&mut json, "benchmark_id", Some(&run.info.benchmark_id));
    leading.iter().for_each(|metric| push_metric(&mut json, metric));
    if let Some(gpus) = scope.gpus {
        json.key("telemetry_data");
        json.value(&gpus.document());
    }
    json.key("input_config");
    json.value(&run.input_config);
    push_run_info(&mut json, &run.info);
    push_bool(&mut json, "was_cancelled", scope.was_cancelled);
    push_bool(&mut json, "is_complete", scope.incomplete_reason.is_none());
    push_text(&mut json, "incomplete_reason", scope.incomplete_reason);
    push_errors(&mut json, scope.errors);
    push_text(&mut json, "start_time", Some(&iso(scope.start)));
    push_text(&mut json, "end_time", Some(&iso(scope.end)));
    if let Some(warmup) = scope.warmup {
        let (leading, others) = in_file_order(warmup);
        json.key("warmup_metrics");
        json.begin_object();
        leading.iter().chain(&others).for_each(|metric| push_metric(&mut json, metric));
        json.end_object();
    }
    let histogram = &scope.metrics.spec_decode_histogram;
    if !histogram.is_empty() {
        json.key("pooled_spec_decode_acceptance_histogram");
        json.begin_object();
        for (accepted, steps) in histogram {
            json.key(&accepted.to_string());
            json.int(*steps);
        }
        json.end_object();
    }
    others.iter().for_each(|metric| push_metric(&mut json, metric));
    if !scope.judged.is_empty() {
        push_limits(&mut json, scope.judged);
    }
    if let Some(dataset) = &run.dataset {
        json.key("metadata");
        json.value(&serde_json::json!({ "dataset": dataset }));
    }
    if let Some(measurement) = scope.measurement {
        json.key("measurement");
        json.value(&measurement_block(measurement));
    }
    json.end_object();
    json.finish()
}

/// The statistics blocks of a run by tag, as in its summary, on one line.
pub(crate) fn metrics_on_one_line(metrics: &Summary) -> String {
    let (leading, others) = in_file_order(metrics);
    let mut json = Pretty::compact();
    json.begin_object();
    leading.iter().chain(&others).for_each(|metric| push_metric(&mut json, metric));
    json.end_object();
    String::from_utf8(json.finish()).unwrap_or_default()
}

/// Leading metrics by their list, the others by display order and then by tag.
pub(crate) fn in_file_order(metrics: &Summary) -> (Vec<&MetricResult>, Vec<&MetricResult>) {
    let place = |metric: &MetricResult| LEADING.iter().position(|tag| *tag == metric.tag);
    let (mut leading, mut others): (Vec<_>, Vec<_>) =
        metrics.results.iter().partition(|metric| place(metric).is_some());
    leading.sort_by_key(|metric| place(metric));
    others.sort_by_key(|metric| (metric.order.unwrap_or(u32::MAX), &metric.tag));
    (leading, others)
}

pub(crate) fn push_metric(json: &mut Pretty, metric: &MetricResult) {
    json.key(&metric.tag);
    json.begin_object();
    push_text(json, "unit", Some(metric.unit));
    let stats = &metric.stats;
    before_count().for_each(|name| push_float(json, name, stats.get(name)));
    if let Some(count) = stats.count {
        json.key("count");
        json.int(count);
    }
    push_float(json, "sum", stats.sum);
    json.end_object();
}

fn push_run_info(json: &mut Pretty, info: &RunInfo) {
    json.key("run_info");
    json.begin_object();
    push_text(json, "benchmark_id", Some(&info.benchmark_id));
    push_text(json, "sweep_id", info.sweep_id.as_deref());
    if let Some(seed) = info.random_seed {
        json.key("random_seed");
        json.int(seed);
    }
    json.key("trial");
    json.int(info.trial);
    push_text(json, "run_label", Some(&info.run_label));
    push_text(json, "variation_label", Some(&info.variation_label));
    json.key("variation_index");
    json.int(info.variation_index);
    json.key("variation_values");
    json.begin_object();
    for (path, value) in &info.variation_values {
        json.key(path);
        json.value(value);
    }
    json.end_object();
    push_text(json, "cli_command", info.cli_command.as_deref());
    json.end_object();
}

/// A limit without a measurement counts as crossed: nothing shows that it holds.
fn push_limits(json: &mut Pretty, judged: &[JudgedLimit]) {
    json.key("limits");
    json.begin_list();
    for judged in judged {
        json.begin_object();
        push_text(json, "metric", Some(&judged.limit.metric));
        push_text(json, "stat", Some(judged.limit.stat()));
        push_text(json, "op", Some(judged.limit.op.name()));
        push_float(json, "threshold", Some(judged.limit.threshold));
        push_text(json, "unit", Some(judged.unit));
        json.key("observed");
        match judged.observed {
            Some(observed) => json.f64(observed),
            None => json.value(&serde_json::Value::Null),
        }
        push_bool(json, "crossed", judged.fails());
        json.end_object();
    }
    json.end_list();
}

fn push_errors(json: &mut Pretty, errors: &[(RequestError, u64)]) {
    json.key("error_summary");
    json.begin_list();
    for (error, count) in errors {
        json.begin_object();
        json.key("error_details");
        push_error(json, error);
        json.key("count");
        json.int(*count);
        json.end_object();
    }
    json.end_list();
}

fn push_error(json: &mut Pretty, error: &RequestError) {
    json.begin_object();
    if let Some(code) = error.code {
        json.key("code");
        json.int(code);
    }
    push_text(json, "type", error.kind.as_deref());
    push_text(json, "message", Some(&error.message));
    push_text(json, "cause", error.cause.as_deref());
    if let Some(chain) = &error.cause_chain {
        json.key("cause_chain");
        json.begin_list();
        chain.iter().for_each(|name| json.str(name));
        json.end_list();
    }
    json.end_object();
}

fn push_text(json: &mut Pretty, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        json.key(key);
        json.str(text);
    }
}

fn push_bool(json: &mut Pretty, key: &str, value: bool) {
    json.key(key);
    json.bool(value);
}

fn push_float(json: &mut Pretty, key: &str, value: Option<f64>) {
    if let Some(value) = value {
        json.key(key);
        json.f64(value);
    }
}
