//! Server metrics, made from golden data.

use super::{empty_run, number};
use aiperf_golden::kinds::servers::WATCHED_RUN;
use aiperf_golden::{GoldenFile, has};
use aiperf_observe::{
    Bucket, CounterStats, Endpoint, EndpointInfo, GaugeStats, HistogramStats, Metric, MetricKind, Observed,
    ObservedEndpoint, Scrape, ScrapeTimes, Series, SeriesStats, ServerMetrics, SliceStats, Store, TimeRange, Timeslice,
    Window, Windowing, exposition, summarise,
};
use aiperf_plan::ServerMetricsFormats;
use aiperf_report::{RunInfo, RunResult, ServerMetricsResult};
use aiperf_types::{Nanos, PhaseId, PhaseKind, WallNs};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const ALL_FORMATS: ServerMetricsFormats =
    ServerMetricsFormats { json: true, csv: true, jsonl: true, parquet: true };

/// Runs whose servers were watched: what they sent, and what the files contain.
pub(crate) fn watched_runs() -> Vec<GoldenFile> {
    WATCHED_RUN.whole_files().into_iter().filter(|file| has(&file.json, "expected.json")).collect()
}

/// The run of a golden file, as if its statistics had been computed here.
pub(crate) fn run_of_document(golden: &Value) -> RunResult {
    let document = &golden["expected"]["json"];
    with_metrics(golden, metrics_of(document), Store::new())
}

/// The run of a golden file with these metrics.
pub(crate) fn with_metrics(golden: &Value, metrics: ServerMetrics, store: Store) -> RunResult {
    // Time series of the reference end with the last page that had something new.
    let TimeRange { start, end } = metrics.profiling;
    let range = TimeRange { start, end: store.last_update().map_or(end, |update| update.max(end)) };
    let observed = ServerMetricsResult {
        metrics,
        store,
        window: Window::over_time(range, Windowing::AsReference),
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

/// The metrics from which a JSON file was written.
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
        slices_left_out: false,
        errors: Vec::new(),
    }
}

/// The name of an endpoint in tables.
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
        bounds: slices
            .into_iter()
            .flatten()
            .find_map(|slice| slice["buckets"].as_object())
            .map(bounds)
            .unwrap_or_default(),
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

fn bounds(members: &Map<String, Value>) -> Vec<Arc<str>> {
    members.keys().map(|le| le.as_str().into()).collect()
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
            buckets: value["buckets"]
                .as_object()
                .map(|buckets| buckets.values().map(|count| count.as_i64().unwrap()).collect()),
        },
    };
    let range = range(value);
    let is_complete = value["is_complete"].as_bool().unwrap_or(true);
    Timeslice { start: range.start, end: range.end, is_complete, stats }
}

/// The pages of a golden file, in the order of arrival.
pub(crate) fn scrapes(golden: &Value) -> Vec<Scrape> {
    let mut last: HashMap<&str, u64> = HashMap::new();
    let scrape = |scrape: &'static Value| {
        let url = scrape["endpoint_url"].as_str().unwrap();
        let text = scrape["text_index"].as_u64().unwrap();
        let is_duplicate = last.insert(url, text) == Some(text);
        let page = exposition::read(golden["texts"][text as usize].as_str().unwrap()).ok()?;
        let first_byte = scrape["first_byte_ns"].as_u64().map(WallNs);
        let sent = instant(&scrape["request_sent_ns"]);
        let times = ScrapeTimes {
            sent,
            first_byte,
            latency: Nanos(scrape["latency_ns"].as_u64().unwrap()),
            at: first_byte.unwrap_or(sent),
        };
        let phase = phase(scrape);
        let scrape = Scrape { endpoint_url: url.into(), times, phase, is_duplicate, families: page.families };
        (!scrape.families.is_empty()).then_some(scrape)
    };
    golden["scrapes"].as_array().unwrap().clone().leak().iter().filter_map(scrape).collect()
}

fn phase(scrape: &Value) -> Option<Arc<PhaseId>> {
    let name = scrape["phase"].as_str()?;
    let kind = if name == "warmup" { PhaseKind::Warmup } else { PhaseKind::Profiling };
    let index = |key: &str| scrape[key].as_u64().map(|index| index as u16);
    let id =
        PhaseId { index: index("phase_index")?, profiling_index: index("profiling_index"), name: name.into(), kind };
    Some(Arc::new(id))
}

/// The run of a golden file, with the result of its pages here.
pub(crate) fn watch(golden: &Value) -> RunResult {
    let mut store = Store::new();
    scrapes(golden).into_iter().for_each(|scrape| drop(store.add(scrape)));
    let window = &golden["window"];
    let at = |key: &str| window[key].as_u64().map(WallNs);
    let endpoint = |endpoint: &Endpoint| ObservedEndpoint {
        url: endpoint.url().clone(),
        display_name: display_name(endpoint.url()).into(),
        errors: 0,
    };
    let observed = Observed {
        configured: texts(&golden["endpoints_configured"]),
        successful: texts(&golden["endpoints_successful"]),
        endpoints: store.endpoints().iter().map(endpoint).collect(),
        profiling: range(window),
        warmup: at("warmup_start_ns").zip(at("warmup_end_ns")).map(|(start, end)| TimeRange { start, end }),
        phases: Vec::new(),
        slice: golden["slice_duration_s"].as_f64().map(|seconds| Nanos((seconds * 1e9) as u64)),
        errors: Vec::new(),
        windowing: Windowing::AsReference,
    };
    let metrics = summarise(&store, &observed);
    with_metrics(golden, metrics, store)
}
