//! Golden data of whole runs: pages in, statistics of the exports out.

use crate::support;

use aiperf_golden::kinds::servers::WATCHED_RUN;
use aiperf_golden::{Tally, name};
use aiperf_observe::{
    DeltaColumns, Observed, Scrape, ScrapeTimes, ServerMetrics, Store, TimeRange, Window, Windowing, deltas,
    exposition, snapshot, summarise,
};
use aiperf_types::{Nanos, PhaseId, PhaseKind, WallNs};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use support::{assert_same, endpoints_json, instant, metrics_json, quirk, slice_length, text, without_empties};

fn each_run(check: impl Fn(&Value)) {
    let mut tally = Tally::of(WATCHED_RUN);
    for file in WATCHED_RUN.whole_files() {
        match quirk(&file.json).or_else(|| refused(&file.json)) {
            Some(reason) => tally.skip(reason),
            None => tally.run(name(&file.json), || check(&file.json)),
        }
    }
    tally.finish();
}

/// The reference gives up an endpoint for a line; here a bad line costs that line.
fn refused(case: &Value) -> Option<String> {
    let refused = case["expected"]["disabled_on_parse_error"].as_array().is_some_and(|refused| !refused.is_empty());
    refused.then(|| "decision on malformed exposition lines".to_owned())
}

fn phase(scrape: &Value) -> Option<Arc<PhaseId>> {
    let kinds = [PhaseKind::Warmup, PhaseKind::Profiling];
    let kind = *kinds.iter().find(|kind| Some(kind.name()) == scrape["phase"].as_str())?;
    let index = |value: &Value| value.as_u64().map(|index| index as u16);
    Some(Arc::new(PhaseId {
        index: index(&scrape["phase_index"]).unwrap_or_default(),
        profiling_index: index(&scrape["profiling_index"]),
        name: text(&scrape["phase"]),
        kind,
    }))
}

/// The pages of a case, in order of arrival.
fn store(case: &Value) -> Store {
    let mut store = Store::new();
    let mut last: HashMap<&str, &str> = HashMap::new();
    for scrape in case["scrapes"].as_array().unwrap() {
        let body = case["texts"][scrape["text_index"].as_u64().unwrap() as usize].as_str().unwrap();
        let url = scrape["endpoint_url"].as_str().unwrap();
        let is_duplicate = last.insert(url, body) == Some(body);
        let families = exposition::read(body).unwrap().families;
        if families.is_empty() {
            continue;
        }
        let sent = instant(&scrape["request_sent_ns"]);
        let first_byte = scrape["first_byte_ns"].as_u64().map(WallNs);
        let latency = Nanos(scrape["latency_ns"].as_u64().unwrap());
        let times = ScrapeTimes { sent, first_byte, latency, at: first_byte.unwrap_or(sent) };
        let endpoint_url = Arc::from(url);
        store.add(Scrape { endpoint_url, times, phase: phase(scrape), is_duplicate, families });
    }
    store
}

fn range(window: &Value, start: &str, end: &str) -> Option<TimeRange> {
    Some(TimeRange { start: WallNs(window[start].as_u64()?), end: WallNs(window[end].as_u64()?) })
}

fn observed(case: &Value, windowing: Windowing) -> Observed {
    let texts = |list: &Value| list.as_array().into_iter().flatten().map(text).collect();
    Observed {
        configured: texts(&case["endpoints_configured"]),
        successful: texts(&case["endpoints_successful"]),
        profiling: range(&case["window"], "start_ns", "end_ns").unwrap_or_default(),
        warmup: range(&case["window"], "warmup_start_ns", "warmup_end_ns"),
        slice: slice_length(case),
        windowing,
        ..Observed::default()
    }
}

fn summary(case: &Value) -> ServerMetrics {
    summarise(&store(case), &observed(case, Windowing::AsReference))
}

/// The reference keeps one label set alone of families that a page does not declare (15.4): of those, ours are cut to
/// the series that it has. Where it infers no unit, ours is taken out (15.14).
fn as_kept(ours: Value, theirs: &Value) -> Value {
    let Value::Object(mut ours) = ours else { return ours };
    for (name, metric) in &mut ours {
        if metric["type"] == "unknown" && metric["description"] == "" {
            let kept: Vec<Value> = theirs[name]["series"].as_array().cloned().unwrap_or_default();
            let is_kept = |series: &Value| kept.iter().any(|other| other["labels"] == series["labels"]);
            metric["series"].as_array_mut().unwrap().retain(is_kept);
        }
        if theirs[name]["unit"].is_null() {
            metric.as_object_mut().unwrap().remove("unit");
        }
    }
    Value::Object(ours)
}

#[test]
fn golden_metrics_of_runs() {
    each_run(|case| {
        let summary = summary(case);
        for (ours, theirs) in [(&summary.metrics, "metrics"), (&summary.warmup_metrics, "warmup_metrics")] {
            let theirs = &case["expected"]["json"][theirs];
            let theirs = if theirs.is_null() { Value::Object(Map::new()) } else { without_empties(theirs) };
            assert_same(&as_kept(metrics_json(ours), &theirs), &theirs);
        }
    });
}

#[test]
fn golden_endpoints_and_times_of_runs() {
    each_run(|case| {
        let summary = summary(case);
        let theirs = &case["expected"]["json"]["summary"];
        assert_same(&endpoints_json(&summary.endpoints), &theirs["endpoint_info"]);
        let shown = |range: TimeRange| json!({"start_ns": range.start.0, "end_ns": range.end.0});
        let ranges = [("profiling", Some(summary.profiling)), ("warmup", summary.warmup)];
        let ranges = ranges.into_iter().filter_map(|(name, range)| {
            let range = range.filter(|range| !range.is_empty())?;
            Some((name.to_owned(), shown(range)))
        });
        assert_same(&Value::Object(ranges.collect()), &theirs["phase_time_ranges"]);
    });
}

#[test]
fn golden_live_snapshots_of_runs() {
    each_run(|case| {
        let ours = snapshot(&store(case), instant(&case["window"]["start_ns"]));
        let ours = ours.values.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        assert_same(&Value::Object(ours), &case["expected"]["realtime_snapshot"]);
    });
}

/// Series by endpoint, name and labels, each with its rows in order.
type Rows = BTreeMap<(String, String, String), Vec<Value>>;

/// The rows of a table as the reference has them, with whatever labels it has columns for.
fn rows_of_table(table: &Value) -> Rows {
    let columns: Vec<&str> =
        table["columns"].as_array().unwrap().iter().map(|column| column[0].as_str().unwrap()).collect();
    let mut rows = Rows::new();
    for row in table["rows"].as_array().unwrap() {
        let cell = |name: &str| columns.iter().position(|column| *column == name).map_or(&Value::Null, |at| &row[at]);
        let fixed = ["endpoint_url", "metric_name", "metric_type", "unit", "description"];
        let labels = columns.iter().filter(|name| !fixed.contains(name) && !ROW_COLUMNS.contains(name));
        let labels: Vec<String> = labels.filter_map(|name| Some(format!("{name}={}", cell(name).as_str()?))).collect();
        let text = |name: &str| cell(name).as_str().unwrap().to_owned();
        let key = (text("endpoint_url"), text("metric_name"), labels.join(","));
        rows.entry(key).or_default().push(ROW_COLUMNS.iter().map(|name| cell(name).clone()).collect());
    }
    rows
}

const ROW_COLUMNS: [&str; 6] = ["timestamp_ns", "value", "sum", "count", "bucket_le", "bucket_count"];

fn rows_of_store(store: &Store, window: &Window) -> Rows {
    let mut rows = Rows::new();
    for series in store.series() {
        let reserved = ["endpoint_url", "metric_name", "metric_type", "unit", "description"];
        let labels =
            series.labels().iter().filter(|(name, _)| !reserved.contains(&&**name) && !ROW_COLUMNS.contains(&&**name));
        let labels: Vec<String> = labels.map(|(name, value)| format!("{name}={value}")).collect();
        let key = (series.endpoint().url().to_string(), series.name().to_string(), labels.join(","));
        let deltas = deltas(series, window);
        let mut given = Vec::new();
        for (at, time) in deltas.timestamps.iter().enumerate() {
            match &deltas.columns {
                DeltaColumns::Values(values) => given.push(json!([time, values[at], null, null, null, null])),
                DeltaColumns::Histogram { sums, counts, bounds, buckets } => {
                    let row = &buckets[at * bounds.len()..(at + 1) * bounds.len()];
                    let row = bounds.iter().zip(row);
                    given
                        .extend(row.map(|(bound, count)| json!([time, null, sums[at], counts[at], &*bound.le, count])));
                }
            }
        }
        if !given.is_empty() {
            rows.entry(key).or_default().extend(given);
        }
    }
    rows
}

#[test]
fn golden_rows_of_samples() {
    each_run(|case| {
        let store = store(case);
        let window = observed(case, Windowing::AsReference).profiling_window(&store);
        let mut ours = rows_of_store(&store, &window);
        let theirs = rows_of_table(&case["expected"]["parquet"]);
        // Label sets of undeclared families that the reference loses (15.4).
        ours.retain(|key, _| theirs.contains_key(key) || theirs.keys().all(|other| other.1 != key.1));
        assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
        for (key, theirs) in theirs {
            assert_same(&Value::Array(ours[&key].clone()), &Value::Array(theirs));
        }
    });
}
