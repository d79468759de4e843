//! What was seen of servers, made from golden data.

use super::{empty_run, number};
use aiperf_golden::{Area, File, has};
use aiperf_observe::{
    Bucket, CounterStats, EndpointInfo, GaugeStats, HistogramStats, Metric, MetricKind, Series, SeriesStats,
    ServerMetrics, SliceStats, TimeRange, Timeslice,
};
use aiperf_plan::ServerMetricsFormats;
use aiperf_report::{RunInfo, RunResult, ServerMetricsResult};
use aiperf_types::WallNs;
use serde_json::{Map, Value};
use std::sync::Arc;

pub(crate) const ALL_FORMATS: ServerMetricsFormats =
    ServerMetricsFormats { json: true, csv: true, jsonl: true, parquet: true };

/// Runs whose servers were watched: what they were told, and what the files say.
pub(crate) fn watched_runs() -> Vec<File> {
    let is_one = |file: &File| has(&file.content, "scrapes") && has(&file.content, "expected.json");
    Area::of(env!("CARGO_MANIFEST_DIR"), "server-metrics").files().into_iter().filter(is_one).collect()
}

/// The run of a golden file, as if its statistics had been computed here.
pub(crate) fn run_of_document(golden: &Value) -> RunResult {
    let document = &golden["expected"]["json"];
    with_metrics(golden, metrics_of(document))
}

/// The run of a golden file with these metrics.
pub(crate) fn with_metrics(golden: &Value, metrics: ServerMetrics) -> RunResult {
    let observed = ServerMetricsResult {
        metrics,
        formats: ALL_FORMATS,
        hostname: "here".into(),
        exported: WallNs(1_765_793_070_000_000_000),
    };
    RunResult {
        version: golden["aiperf_version"].as_str().unwrap().into(),
        info: RunInfo::single(golden["benchmark_id"].as_str().unwrap(), None, None),
        server_metrics: Some(Arc::new(observed)),
        ..empty_run()
    }
}

/// The metrics that a JSON file was written of.
pub(crate) fn metrics_of(document: &Value) -> ServerMetrics {
    let summary = &document["summary"];
    let urls = |key: &str| texts(&summary[key]);
    let range = |key: &str| has(&summary["phase_time_ranges"], key).then(|| range(&summary["phase_time_ranges"][key]));
    let infos = summary["endpoint_info"].as_object();
    ServerMetrics {
        configured: urls("endpoints_configured"),
        successful: urls("endpoints_successful"),
        endpoints: infos.into_iter().flatten().map(|(url, info)| endpoint(url, info)).collect(),
        profiling: range("profiling").unwrap_or_default(),
        warmup: range("warmup"),
        metrics: all_metrics(&document["metrics"]),
        warmup_metrics: all_metrics(&document["warmup_metrics"]),
        phases: Vec::new(),
        errors: Vec::new(),
    }
}

/// What tables call an endpoint.
pub(crate) fn display_name(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.strip_suffix("/metrics").unwrap_or(rest).to_owned()
}

fn texts(list: &Value) -> Vec<Arc<str>> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().into()).collect()
}

fn instant(value: &Value) -> WallNs {
    WallNs(value.as_u64().unwrap())
}

fn range(value: &Value) -> TimeRange {
    TimeRange { start: instant(&value["start_ns"]), end: instant(&value["end_ns"]) }
}

fn endpoint(url: &str, info: &Value) -> EndpointInfo {
    EndpointInfo {
        url: url.into(),
        display_name: display_name(url).into(),
        total_fetches: info["total_fetches"].as_u64().unwrap(),
        first_fetch: instant(&info["first_fetch_ns"]),
        last_fetch: instant(&info["last_fetch_ns"]),
        avg_fetch_latency_ms: info["avg_fetch_latency_ms"].as_f64().unwrap(),
        unique_updates: info["unique_updates"].as_u64().unwrap(),
        first_update: instant(&info["first_update_ns"]),
        last_update: instant(&info["last_update_ns"]),
        duration_seconds: info["duration_seconds"].as_f64().unwrap(),
        avg_update_interval_ms: info["avg_update_interval_ms"].as_f64().unwrap(),
        median_update_interval_ms: info["median_update_interval_ms"].as_f64(),
        errors: 0,
    }
}

fn all_metrics(members: &Value) -> Vec<Metric> {
    let metric = |(name, metric): (&String, &Value)| {
        let text = |key: &str| metric[key].as_str();
        let kinds = [MetricKind::Gauge, MetricKind::Counter, MetricKind::Histogram, MetricKind::Unknown];
        let kind = kinds.into_iter().find(|kind| Some(kind.name()) == text("type")).unwrap();
        Metric {
            name: name.as_str().into(),
            kind,
            description: text("description").unwrap().into(),
            unit: text("unit").map(|unit| &*unit.to_owned().leak()),
            series: metric["series"].as_array().unwrap().iter().map(|one| series(kind, one)).collect(),
        }
    };
    members.as_object().into_iter().flatten().map(metric).collect()
}

fn series(kind: MetricKind, value: &Value) -> Series {
    let labels = value["labels"].as_object().into_iter().flatten();
    let slices = value["timeslices"].as_array();
    Series {
        endpoint_url: value["endpoint_url"].as_str().unwrap().into(),
        labels: labels.map(|(name, value)| (name.as_str().into(), value.as_str().unwrap().into())).collect(),
        stats: stats(kind, &value["stats"]),
        resets: value["resets"].as_u64().unwrap_or(0),
        buckets: value["buckets"].as_object().map(buckets),
        timeslices: slices.map(|slices| slices.iter().map(|one| slice(kind, one)).collect()),
    }
}

fn stats(kind: MetricKind, stats: &Value) -> SeriesStats {
    let maybe = |key: &str| stats.get(key).and_then(number);
    let get = |key: &str| maybe(key).unwrap();
    let percentiles = ["p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"];
    match kind {
        MetricKind::Gauge | MetricKind::Unknown => SeriesStats::Gauge(GaugeStats {
            avg: get("avg"),
            min: get("min"),
            max: get("max"),
            std: get("std"),
            percentiles: percentiles.map(get),
        }),
        MetricKind::Counter => SeriesStats::Counter(CounterStats {
            total: get("total"),
            rate: get("rate"),
            rates: maybe("rate_avg").map(|_| ["rate_avg", "rate_min", "rate_max", "rate_std"].map(get)),
        }),
        MetricKind::Histogram => SeriesStats::Histogram(HistogramStats {
            count: stats["count"].as_i64().unwrap(),
            sum: maybe("sum"),
            avg: maybe("avg"),
            count_rate: maybe("count_rate"),
            sum_rate: maybe("sum_rate"),
            percentile_estimates: maybe("p1_estimate")
                .map(|_| percentiles.map(|name| get(&format!("{name}_estimate")))),
        }),
    }
}

fn buckets(members: &Map<String, Value>) -> Vec<Bucket> {
    members.iter().map(|(le, count)| Bucket { le: le.as_str().into(), count: count.as_i64().unwrap() }).collect()
}

fn slice(kind: MetricKind, value: &Value) -> Timeslice {
    let get = |key: &str| number(&value[key]).unwrap();
    let stats = match kind {
        MetricKind::Gauge | MetricKind::Unknown => {
            SliceStats::Gauge { avg: get("avg"), min: get("min"), max: get("max") }
        }
        MetricKind::Counter => SliceStats::Counter { total: get("total"), rate: get("rate") },
        MetricKind::Histogram => SliceStats::Histogram {
            count: value["count"].as_i64().unwrap(),
            sum: get("sum"),
            avg: get("avg"),
            buckets: value["buckets"].as_object().map(buckets),
        },
    };
    let range = range(value);
    let is_complete = value["is_complete"].as_bool().unwrap_or(true);
    Timeslice { start: range.start, end: range.end, is_complete, stats }
}
