//! Golden data, and runs made from it.
#![allow(dead_code, reason = "each test binary uses a part of this")]

pub(crate) mod observed;
pub(crate) mod recorded;
pub(crate) mod streamed;

use aiperf_golden::{GoldenFile, respelled};
use aiperf_metrics::{
    ConsoleGroup, Flags, MetricResult, MetricType, Metrics, RunTraits, Stats, Summary, Thresholds, registry,
};
use aiperf_observe::TimeRange;
use aiperf_plan::redact::Redactor;
use aiperf_plan::{ArtifactPlan, FileNames};
use aiperf_report::{Artifacts, ExportFailure, GpuTelemetryResult, RecordRun, RunInfo, RunResult, Written};
use aiperf_types::{EndpointKind, RequestError, WallNs};
use chrono::NaiveDateTime;
use serde_json::{Map, Value};
use std::fs;
use std::sync::Arc;

/// The words of the command of a file's run, without quotes.
pub(crate) fn command_of(file: &GoldenFile) -> Option<Vec<String>> {
    let text = file.path.ancestors().find_map(|folder| fs::read_to_string(folder.join("command.txt")).ok())?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Some(lines.flat_map(str::split_whitespace).map(|word| word.trim_matches(['\'', '"']).to_owned()).collect())
}

/// A number in golden data; NaN and infinity have their own forms.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value.get("$float").and_then(Value::as_str) {
        Some("nan") => Some(f64::NAN),
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        _ => value.as_f64(),
    }
}

/// A result from its block; its display comes from the registry, or is given.
pub(crate) fn result(tag: &str, block: &Value) -> MetricResult {
    let get = |name: &str| block.get(name).and_then(number);
    let stats = Stats {
        avg: get("avg"),
        min: get("min"),
        max: get("max"),
        sum: get("sum"),
        p1: get("p1"),
        p5: get("p5"),
        p10: get("p10"),
        p25: get("p25"),
        p50: get("p50"),
        p75: get("p75"),
        p90: get("p90"),
        p95: get("p95"),
        p99: get("p99"),
        std: get("std"),
        count: block.get("count").and_then(Value::as_u64),
    };
    let known = registry::find(tag);
    let text = |name: &str| block.get(name).and_then(Value::as_str);
    let header = known.map(|metric| metric.header).or(text("header")).unwrap_or(tag);
    // Single values have no count, though the reference's intermediate results do.
    let single = known.is_some_and(|metric| matches!(metric.kind(), MetricType::Aggregate(_) | MetricType::Derived));
    MetricResult {
        tag: tag.to_owned().into(),
        header: header.to_owned().into(),
        unit: Box::leak(text("unit").unwrap_or("").to_owned().into_boxed_str()),
        group: known.map_or(ConsoleGroup::Default, |metric| metric.group),
        order: known.and_then(|metric| metric.order),
        flags: known.map_or(Flags::NONE, |metric| metric.flags),
        stats: if single { Stats { count: None, ..stats } } else { stats },
    }
}

/// The metrics among the members of a summary.
pub(crate) fn metrics(members: &Map<String, Value>) -> Summary {
    let blocks = members.iter().filter(|(_, block)| block.get("unit").is_some());
    summary(blocks.map(|(tag, block)| result(tag, block)).collect())
}

/// A summary of some results.
pub(crate) fn summary(results: Vec<MetricResult>) -> Summary {
    Summary { results, ..Summary::default() }
}

/// Errors as a summary lists them.
pub(crate) fn errors(list: &Value) -> Vec<(RequestError, u64)> {
    let entries = list.as_array().into_iter().flatten();
    entries
        .map(|entry| {
            (serde_json::from_value(entry["error_details"].clone()).unwrap(), entry["count"].as_u64().unwrap())
        })
        .collect()
}

/// An empty run.
pub(crate) fn empty_run() -> RunResult {
    let names = FileNames::new(None);
    RunResult {
        version: "0.0.0".into(),
        info: RunInfo::single("465e2a4541a2", None, None),
        endpoint: EndpointKind::Chat,
        models: vec!["m".into()],
        concurrency: Some(4),
        input_config: Value::Object(Map::new()),
        artifacts: ArtifactPlan::new("/runs/one", names),
        metrics: summary(Vec::new()),
        slices: Vec::new(),
        warmup: None,
        phases: Vec::new(),
        errors: Vec::new(),
        start: WallNs(0),
        end: WallNs(0),
        was_cancelled: false,
        incomplete_reason: None,
        has_lost_records: false,
        measurement: None,
        notes: Vec::new(),
        degraded: Vec::new(),
        limits: Thresholds::default(),
        judged: Vec::new(),
        show_trace_timing: false,
        dataset: None,
        server_metrics: None,
        gpu_telemetry: None,
    }
}

/// A run of chat whose records are written.
pub(crate) fn record_run() -> RecordRun {
    let traits = RunTraits::new(EndpointKind::Chat, true);
    RecordRun {
        benchmark_id: "b".into(),
        metrics: Arc::new(Metrics::for_run(traits)),
        redactor: Arc::new(Redactor::new(Vec::<String>::new())),
    }
}

/// Writes everything of a run, one part after another.
pub(crate) fn write_all(artifacts: &Artifacts, run: &RunResult, earlier: Vec<ExportFailure>) -> Written {
    let first = artifacts.write_first(run, earlier, Vec::new());
    artifacts.write_rest(run, first)
}

/// The run from which a summary was written.
pub(crate) fn run_of(document: &Value) -> RunResult {
    let info = &document["run_info"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let base = RunInfo::single("", None, None);
    RunResult {
        version: text(&document["aiperf_version"]).unwrap(),
        info: RunInfo {
            benchmark_id: text(&document["benchmark_id"]).unwrap(),
            sweep_id: text(&info["sweep_id"]),
            random_seed: info["random_seed"].as_u64(),
            trial: info["trial"].as_u64().unwrap() as u32,
            run_label: text(&info["run_label"]).unwrap_or(base.run_label),
            variation_label: text(&info["variation_label"]).unwrap_or(base.variation_label),
            variation_index: info["variation_index"].as_u64().unwrap_or(0) as u32,
            variation_values: info["variation_values"].as_object().cloned().unwrap_or_default(),
            cli_command: text(&info["cli_command"]),
        },
        endpoint: EndpointKind::parse(document["input_config"]["endpoint"]["type"].as_str().unwrap()).unwrap(),
        input_config: document["input_config"].clone(),
        metrics: metrics(document.as_object().unwrap()),
        warmup: document.get("warmup_metrics").map(|blocks| metrics(blocks.as_object().unwrap())),
        errors: errors(&document["error_summary"]),
        start: instant(document["start_time"].as_str().unwrap()),
        end: instant(document["end_time"].as_str().unwrap()),
        was_cancelled: document["was_cancelled"].as_bool().unwrap(),
        incomplete_reason: text(&document["incomplete_reason"]),
        gpu_telemetry: document.get("telemetry_data").map(without_gpus),
        ..empty_run()
    }
}

/// The telemetry of a run without GPUs, as in all of these.
fn without_gpus(telemetry: &Value) -> Arc<GpuTelemetryResult> {
    let at = |key: &str| instant(telemetry["summary"][key].as_str().unwrap());
    Arc::new(GpuTelemetryResult::without_sources(TimeRange { start: at("start_time"), end: at("end_time") }))
}

/// The instant of a time in a summary.
pub(crate) fn instant(text: &str) -> WallNs {
    let at = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").unwrap();
    WallNs(at.and_utc().timestamp_nanos_opt().unwrap() as u64)
}

/// Golden console text without the table of server-reported usage, which is in the exports and not on the console.
pub(crate) fn without_usage_table(text: &str) -> String {
    let mut inside = false;
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        inside |= line.trim().ends_with("Metrics: Usage");
        if !inside {
            kept.push_str(line);
        }
        inside &= !line.starts_with('└');
    }
    kept
}

/// Compares long texts, and shows only the first line that differs.
pub(crate) fn same_text(ours: &str, theirs: &str) {
    let (ours, theirs) = (respelled(ours), respelled(theirs));
    for (at, (our, their)) in ours.split('\n').zip(theirs.split('\n')).enumerate() {
        assert_eq!(our, their, "line {}", at + 1);
    }
    assert_eq!(ours.len(), theirs.len());
}

/// Compares JSON, including the order of keys; floats may differ by a billionth.
#[track_caller]
pub(crate) fn same_json(ours: &Value, theirs: &Value) {
    let mut found = Vec::new();
    differences("", ours, theirs, &mut found);
    assert!(found.is_empty(), "{} differences: {}", found.len(), found[..found.len().min(6)].join("; "));
}

fn differences(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) if ours.keys().eq(theirs.keys()) => {
            theirs.iter().for_each(|(key, theirs)| differences(&format!("{path}.{key}"), &ours[key], theirs, found));
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            let pairs = ours.iter().zip(theirs).enumerate();
            pairs.for_each(|(at, (ours, theirs))| differences(&format!("{path}[{at}]"), ours, theirs, found));
        }
        (Value::Number(one), Value::Number(other)) if one.is_f64() && other.is_f64() => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            if (one - other).abs() > 1e-9 * other.abs().max(1e-3) {
                found.push(format!("{path}: {one}, not {other}"));
            }
        }
        _ if ours == theirs => {}
        _ => {
            let short = |value: &Value| value.to_string().chars().take(300).collect::<String>();
            found.push(format!("{path}: {}, not {}", short(ours), short(theirs)));
        }
    }
}
