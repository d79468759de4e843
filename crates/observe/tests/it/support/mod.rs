//! Golden data: where it is, how cases become pages, and results as the exports show them.

#![allow(dead_code, reason = "each test target uses a part of it")]

use aiperf_observe::{
    Bucket, EndpointInfo, Family, HistogramSample, Metric, MetricKind, Samples, ScalarSample, Scrape, ScrapeTimes,
    SeriesStats, SliceStats, Timeslice,
};
use aiperf_types::stats::PERCENTILES;
use aiperf_types::{Nanos, WallNs};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Cases that record what section 15 asks to do better.
pub(crate) fn quirk(case: &Value) -> Option<String> {
    (case["quirk"] == json!(true)).then(|| "a weakness of the reference (section 15)".to_owned())
}

pub(crate) fn text(value: &Value) -> Arc<str> {
    Arc::from(value.as_str().unwrap_or_default())
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

pub(crate) fn instant(value: &Value) -> WallNs {
    WallNs(value.as_u64().unwrap_or_else(|| panic!("{value} is no instant")))
}

pub(crate) fn slice_length(case: &Value) -> Option<Nanos> {
    case["slice_duration_s"].as_f64().map(|seconds| Nanos((seconds * 1e9) as u64))
}

/// A page with one family without labels.
pub(crate) fn page(at: WallNs, kind: MetricKind, samples: Samples) -> Scrape {
    let times = ScrapeTimes { at, ..ScrapeTimes::default() };
    let family = Family { name: Arc::from("m"), kind, description: Arc::from(""), samples };
    let endpoint_url = Arc::from("http://a/metrics");
    Scrape { endpoint_url, times, phase: None, is_duplicate: false, families: vec![family] }
}

pub(crate) fn scalar_page(at: WallNs, kind: MetricKind, value: f64) -> Scrape {
    page(at, kind, Samples::Scalars(vec![ScalarSample { labels: Vec::new(), value }]))
}

pub(crate) fn histogram_page(
    at: WallNs,
    buckets: Vec<(Arc<str>, f64)>,
    sum: Option<f64>,
    count: Option<f64>,
) -> Scrape {
    let sample = HistogramSample { labels: Vec::new(), buckets, sum, count };
    page(at, MetricKind::Histogram, Samples::Histograms(vec![sample]))
}

pub(crate) fn kind(name: &Value) -> MetricKind {
    let kinds = [MetricKind::Gauge, MetricKind::Counter, MetricKind::Histogram, MetricKind::Unknown];
    *kinds.iter().find(|kind| Some(kind.name()) == name.as_str()).unwrap_or_else(|| panic!("{name} is no kind"))
}

/// What differs between two values, by path; numbers may differ by a billionth.
pub(crate) fn differences(ours: &Value, theirs: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", ours, theirs, &mut found);
    found
}

#[track_caller]
pub(crate) fn assert_same(ours: &Value, theirs: &Value) {
    let found = differences(ours, theirs);
    assert!(found.is_empty(), "{}", found.iter().take(8).cloned().collect::<Vec<_>>().join("; "));
}

fn compare(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let (our_keys, their_keys): (Vec<_>, Vec<_>) = (ours.keys().collect(), theirs.keys().collect());
            if our_keys != their_keys {
                found.push(format!("{path}: keys {our_keys:?}, not {their_keys:?}"));
            }
            for (key, theirs) in theirs {
                if let Some(ours) = ours.get(key) {
                    compare(&format!("{path}.{key}"), ours, theirs, found);
                }
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            if ours.len() != theirs.len() {
                found.push(format!("{path}: {} items, not {}", ours.len(), theirs.len()));
            }
            for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                compare(&format!("{path}[{at}]"), ours, theirs, found);
            }
        }
        (Value::Number(ours), Value::Number(theirs)) => {
            let (one, other) = (ours.as_f64().unwrap_or(f64::NAN), theirs.as_f64().unwrap_or(f64::NAN));
            let is_same = ours.is_f64() == theirs.is_f64() && is_close(one, other);
            if !is_same {
                found.push(format!("{path}: {ours}, not {theirs}"));
            }
        }
        _ if ours == theirs => {}
        _ => found.push(format!("{path}: {ours}, not {theirs}")),
    }
}

pub(crate) fn is_close(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= 1e-12_f64.max(1e-9 * other.abs())
}

/// Metrics as the JSON export has them.
pub(crate) fn metrics_json(metrics: &[Metric]) -> Value {
    let mut all = Map::new();
    for metric in metrics {
        let mut shown = Map::new();
        shown.insert("type".to_owned(), json!(metric.kind.name()));
        shown.insert("description".to_owned(), json!(&*metric.description));
        if let Some(unit) = metric.unit {
            shown.insert("unit".to_owned(), json!(unit));
        }
        let series = metric.series.iter().map(|series| {
            let mut shown = Map::new();
            shown.insert("endpoint_url".to_owned(), json!(&*series.endpoint_url));
            if !series.labels.is_empty() {
                let labels = series.labels.iter().map(|(name, value)| (name.to_string(), json!(&**value))).collect();
                shown.insert("labels".to_owned(), Value::Object(labels));
            }
            let (buckets, slices) = (series.buckets.as_deref(), series.timeslices.as_deref());
            shown.extend(series_json(&series.stats, buckets, &series.bounds, slices));
            Value::Object(shown)
        });
        shown.insert("series".to_owned(), series.collect());
        all.insert(metric.name.to_string(), Value::Object(shown));
    }
    Value::Object(all)
}

/// Statistics, buckets and slices of a series; resets are beyond what golden data has.
pub(crate) fn series_json(
    stats: &SeriesStats,
    buckets: Option<&[Bucket]>,
    bounds: &[Arc<str>],
    timeslices: Option<&[Timeslice]>,
) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("stats".to_owned(), stats_json(stats));
    if let Some(buckets) = buckets {
        shown.insert("buckets".to_owned(), buckets_json(buckets.iter().map(|bucket| (&bucket.le, bucket.count))));
    }
    if let Some(slices) = timeslices {
        shown.insert("timeslices".to_owned(), slices.iter().map(|slice| slice_json(slice, bounds)).collect());
    }
    shown
}

fn buckets_json<'a>(buckets: impl Iterator<Item = (&'a Arc<str>, i64)>) -> Value {
    Value::Object(buckets.map(|(le, count)| (le.to_string(), json!(count))).collect())
}

pub(crate) fn estimates_json(estimates: [f64; 9]) -> Map<String, Value> {
    let name = |percentile: u8| format!("p{percentile}_estimate");
    PERCENTILES.iter().zip(estimates).map(|(percentile, value)| (name(*percentile), json!(value))).collect()
}

fn stats_json(stats: &SeriesStats) -> Value {
    let mut shown = Map::new();
    let mut put = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            shown.insert(name.to_owned(), json!(value));
        }
    };
    match stats {
        SeriesStats::Gauge(stats) => {
            let named = [("avg", stats.avg), ("min", stats.min), ("max", stats.max), ("std", stats.std)];
            named.into_iter().for_each(|(name, value)| put(name, Some(value)));
            let percentiles = PERCENTILES.iter().zip(stats.percentiles);
            percentiles.for_each(|(percentile, value)| put(&format!("p{percentile}"), Some(value)));
        }
        SeriesStats::Counter(stats) => {
            put("total", Some(stats.total));
            put("rate", Some(stats.rate));
            let names = ["rate_avg", "rate_min", "rate_max", "rate_std"];
            names.iter().zip(stats.rates.iter().flatten()).for_each(|(name, value)| put(name, Some(*value)));
        }
        SeriesStats::Histogram(stats) => {
            let named = [
                ("sum", stats.sum),
                ("avg", stats.avg),
                ("count_rate", stats.count_rate),
                ("sum_rate", stats.sum_rate),
            ];
            named.into_iter().for_each(|(name, value)| put(name, value));
            shown.extend(stats.percentile_estimates.map(estimates_json).into_iter().flatten());
            shown.shift_insert(0, "count".to_owned(), json!(stats.count));
        }
    }
    Value::Object(shown)
}

fn slice_json(slice: &Timeslice, bounds: &[Arc<str>]) -> Value {
    let mut shown = Map::new();
    shown.insert("start_ns".to_owned(), json!(slice.start.0));
    shown.insert("end_ns".to_owned(), json!(slice.end.0));
    if !slice.is_complete {
        shown.insert("is_complete".to_owned(), json!(false));
    }
    let stats = match &slice.stats {
        SliceStats::Gauge { avg, min, max } => json!({"avg": avg, "min": min, "max": max}),
        SliceStats::Counter { total, rate } => json!({"total": total, "rate": rate}),
        SliceStats::Histogram { count, sum, avg, .. } => json!({"count": count, "sum": sum, "avg": avg}),
    };
    shown.extend(stats.as_object().cloned().into_iter().flatten());
    if let SliceStats::Histogram { buckets: Some(buckets), .. } = &slice.stats {
        assert_eq!(buckets.len(), bounds.len());
        shown.insert("buckets".to_owned(), buckets_json(bounds.iter().zip(buckets.iter().copied())));
    }
    Value::Object(shown)
}

pub(crate) fn endpoints_json(endpoints: &[EndpointInfo]) -> Value {
    let shown = |info: &EndpointInfo| {
        let mut shown = json!({
            "total_fetches": info.total_fetches,
            "first_fetch_ns": info.first_fetch.0,
            "last_fetch_ns": info.last_fetch.0,
            "avg_fetch_latency_ms": info.avg_fetch_latency_ms,
            "unique_updates": info.unique_updates,
            "first_update_ns": info.first_update.0,
            "last_update_ns": info.last_update.0,
            "duration_seconds": info.duration_seconds,
            "avg_update_interval_ms": info.avg_update_interval_ms,
        });
        if let Some(median) = info.median_update_interval_ms {
            shown["median_update_interval_ms"] = json!(median);
        }
        (info.url.to_string(), shown)
    };
    Value::Object(endpoints.iter().map(shown).collect())
}

/// What section 15 leaves out of what the reference writes: empty lists of slices (15.11) and of buckets (15.16).
pub(crate) fn without_empties(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let is_empty = |key: &str, value: &Value| match key {
                "timeslices" => value.as_array().is_some_and(Vec::is_empty),
                "buckets" => value.as_object().is_some_and(Map::is_empty),
                _ => false,
            };
            let kept = members.iter().filter(|(key, value)| !is_empty(key, value));
            Value::Object(kept.map(|(key, value)| (key.clone(), without_empties(value))).collect())
        }
        Value::Array(items) => items.iter().map(without_empties).collect(),
        _ => value.clone(),
    }
}
