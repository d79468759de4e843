//! Server metrics as JSON: statistics of every series over the profiling phases, and over the warm-up.
//!
//! With slices of time, a long run has millions of statistics: one series at a time is in memory as text.

use super::statistics::{Number, statistics};
use super::unique_names::UniqueNames;
use crate::export::Exporter;
use crate::format::json::Pretty;
use crate::format::stamp::iso;
use crate::run::RunResult;
use aiperf_observe::{EndpointInfo, Metric, Series, ServerMetrics, SliceStats, TimeRange, Timeslice};
use std::io::{self, Write};
use std::sync::Arc;

/// Version of the document's layout.
const SCHEMA_VERSION: &str = "1.1";

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "server_metrics_json",
    label: "Server Metrics JSON Export",
    file: |names| &names.server_metrics_json,
    applies: Some(|run| {
        let has_any = |metrics: &ServerMetrics| !metrics.metrics.is_empty() || !metrics.warmup_metrics.is_empty();
        run.observed().is_some_and(|observed| observed.formats.json && has_any(&observed.metrics))
    }),
    needs_observers: true,
    write: |run, folder| {
        if let Some(observed) = run.observed() {
            let name = &run.artifacts.names.server_metrics_json;
            folder.write(name, |out| write_server_metrics_json(out, run, &observed.metrics));
        }
    },
};

/// Writes the whole document.
pub fn write_server_metrics_json(out: &mut impl Write, run: &RunResult, observed: &ServerMetrics) -> io::Result<()> {
    let mut json = Pretty::default();
    json.begin_object();
    for (key, text) in
        [("schema_version", SCHEMA_VERSION), ("aiperf_version", &run.version), ("benchmark_id", &run.info.benchmark_id)]
    {
        json.key(key);
        json.str(text);
    }
    json.key("summary");
    push_summary(&mut json, observed);
    json.key("metrics_phase");
    json.str("profiling");
    json.key("metrics");
    write_metrics(out, &mut json, &observed.metrics)?;
    if !observed.warmup_metrics.is_empty() {
        json.key("warmup_metrics");
        write_metrics(out, &mut json, &observed.warmup_metrics)?;
    }
    json.key("input_config");
    json.value(&run.input_config);
    json.end_object();
    out.write_all(&json.finish())
}

fn push_summary(json: &mut Pretty, observed: &ServerMetrics) {
    json.begin_object();
    push_urls(json, "endpoints_configured", &observed.configured);
    push_urls(json, "endpoints_successful", &observed.successful);
    for (key, at) in [("start_time", observed.profiling.start), ("end_time", observed.profiling.end)] {
        json.key(key);
        json.str(&iso(at));
    }
    if !observed.endpoints.is_empty() {
        json.key("endpoint_info");
        json.begin_object();
        for endpoint in &observed.endpoints {
            json.key(&endpoint.url);
            push_info(json, endpoint);
        }
        json.end_object();
    }
    json.key("phase_time_ranges");
    json.begin_object();
    push_range(json, "profiling", Some(observed.profiling));
    push_range(json, "warmup", observed.warmup);
    json.end_object();
    json.end_object();
}

pub(crate) fn push_urls(json: &mut Pretty, key: &str, urls: &[Arc<str>]) {
    json.key(key);
    json.begin_list();
    urls.iter().for_each(|url| json.str(url));
    json.end_list();
}

fn push_range(json: &mut Pretty, key: &str, range: Option<TimeRange>) {
    if let Some(range) = range.filter(|range| !range.is_empty()) {
        json.key(key);
        json.begin_object();
        push_bounds(json, range.start.0, range.end.0);
        json.end_object();
    }
}

fn push_bounds(json: &mut Pretty, start: u64, end: u64) {
    for (key, at) in [("start_ns", start), ("end_ns", end)] {
        json.key(key);
        json.int(at);
    }
}

/// How an endpoint was fetched.
pub(crate) fn push_info(json: &mut Pretty, info: &EndpointInfo) {
    let int = |json: &mut Pretty, key: &str, value: u64| {
        json.key(key);
        json.int(value);
    };
    let float = |json: &mut Pretty, key: &str, value: f64| {
        json.key(key);
        json.f64(value);
    };
    json.begin_object();
    int(json, "total_fetches", info.total_fetches);
    int(json, "first_fetch_ns", info.first_fetch.0);
    int(json, "last_fetch_ns", info.last_fetch.0);
    float(json, "avg_fetch_latency_ms", info.avg_fetch_latency_ms);
    int(json, "unique_updates", info.unique_updates);
    int(json, "first_update_ns", info.first_update.0);
    int(json, "last_update_ns", info.last_update.0);
    float(json, "duration_seconds", info.duration_seconds);
    float(json, "avg_update_interval_ms", info.avg_update_interval_ms);
    if let Some(median) = info.median_update_interval_ms {
        float(json, "median_update_interval_ms", median);
    }
    if info.errors > 0 {
        int(json, "errors", info.errors);
    }
    json.end_object();
}

fn write_metrics(out: &mut impl Write, json: &mut Pretty, metrics: &[Metric]) -> io::Result<()> {
    let mut names = UniqueNames::default();
    json.begin_object();
    for metric in metrics {
        json.key(&names.name(&metric.name, metric.kind));
        json.begin_object();
        json.key("type");
        json.str(metric.kind.name());
        json.key("description");
        json.str(&metric.description);
        if let Some(unit) = metric.unit {
            json.key("unit");
            json.str(unit);
        }
        json.key("series");
        json.begin_list();
        for series in &metric.series {
            json.begin_object();
            json.key("endpoint_url");
            json.str(&series.endpoint_url);
            push_series(json, series);
            json.end_object();
            out.write_all(&json.take())?;
        }
        json.end_list();
        json.end_object();
    }
    json.end_object();
    Ok(())
}

/// The members of a series other than its origin.
pub(crate) fn push_series(json: &mut Pretty, series: &Series) {
    if !series.labels.is_empty() {
        json.key("labels");
        json.begin_object();
        for (name, value) in &series.labels {
            json.key(name);
            json.str(value);
        }
        json.end_object();
    }
    json.key("stats");
    json.begin_object();
    for (name, value) in statistics(&series.stats) {
        json.key(name);
        match value {
            Number::Int(value) => json.int(value),
            Number::Float(value) => json.f64(value),
        }
    }
    json.end_object();
    if series.resets > 0 {
        json.key("resets");
        json.int(series.resets);
    }
    if let Some(buckets) = &series.buckets {
        push_buckets(json, buckets.iter().map(|bucket| (&bucket.le, bucket.count)));
    }
    if let Some(slices) = &series.timeslices {
        json.key("timeslices");
        json.begin_list();
        slices.iter().for_each(|slice| push_slice(json, slice, &series.bounds));
        json.end_list();
    }
}

fn push_buckets<'a>(json: &mut Pretty, buckets: impl Iterator<Item = (&'a Arc<str>, i64)>) {
    json.key("buckets");
    json.begin_object();
    for (le, count) in buckets {
        json.key(le);
        json.int(count);
    }
    json.end_object();
}

fn push_slice(json: &mut Pretty, slice: &Timeslice, bounds: &[Arc<str>]) {
    json.begin_object();
    push_bounds(json, slice.start.0, slice.end.0);
    if !slice.is_complete {
        json.key("is_complete");
        json.bool(false);
    }
    let floats = |json: &mut Pretty, values: &[(&str, f64)]| {
        for (key, value) in values {
            json.key(key);
            json.f64(*value);
        }
    };
    match &slice.stats {
        SliceStats::Gauge { avg, min, max } => floats(json, &[("avg", *avg), ("min", *min), ("max", *max)]),
        SliceStats::Counter { total, rate } => floats(json, &[("total", *total), ("rate", *rate)]),
        SliceStats::Histogram { count, sum, avg, buckets } => {
            json.key("count");
            json.int(*count);
            floats(json, &[("sum", *sum), ("avg", *avg)]);
            if let Some(buckets) = buckets {
                push_buckets(json, bounds.iter().zip(buckets.iter().copied()));
            }
        }
    }
    json.end_object();
}
