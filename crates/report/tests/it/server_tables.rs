//! Tables of the metrics that servers report.

use crate::support;

use aiperf_report::{Page, RunResult, report};
use serde_json::{Value, json};
use support::observed::*;

/// A document of statistics, as far as tables use it.
fn document(metrics: Value) -> Value {
    let info = json!({
        "total_fetches": 2, "first_fetch_ns": 1, "last_fetch_ns": 2, "avg_fetch_latency_ms": 1.0, "unique_updates": 2,
        "first_update_ns": 1, "last_update_ns": 2, "duration_seconds": 1.0, "avg_update_interval_ms": 1.0,
    });
    let urls = ["http://node-1:8000/metrics", "http://node-2:8000/metrics"];
    json!({
        "aiperf_version": "0.0.0",
        "benchmark_id": "465e2a4541a2",
        "expected": { "json": {
            "summary": {
                "endpoints_configured": urls,
                "endpoints_successful": urls,
                "endpoint_info": { urls[0]: info, urls[1]: info },
                "phase_time_ranges": {},
            },
            "metrics": metrics,
        } },
    })
}

fn gauge(node: u32, labels: Value, value: f64) -> Value {
    let stats: serde_json::Map<String, Value> =
        ["avg", "min", "max", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"]
            .iter()
            .map(|name| ((*name).to_owned(), json!(value)))
            .chain([("std".to_owned(), json!(0.0))])
            .collect();
    json!({ "endpoint_url": format!("http://node-{node}:8000/metrics"), "labels": labels, "stats": stats })
}

fn metric(kind: &str, unit: Option<&str>, series: Value) -> Value {
    let mut metric = json!({ "type": kind, "description": "", "series": series });
    if let Some(unit) = unit {
        metric["unit"] = unit.into();
    }
    metric
}

fn shown(run: &RunResult, columns: usize) -> String {
    report(run, Page::screen(columns))
}

/// Tables of recorded runs, one below another.
fn recorded_tables(columns: usize) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/data/server-metrics");
    let run = |name: &str| {
        let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
        run_of_document(&serde_json::from_str(&text).unwrap())
    };
    let names = ["e2e_vllm", "e2e_vllm_two_endpoints", "e2e_sglang", "e2e_trtllm", "e2e_dynamo", "e2e_triton"];
    names.iter().map(|name| shown(&run(name), columns)).collect()
}

#[test]
fn each_known_server_has_a_table() {
    for columns in [80, 100] {
        let tables = recorded_tables(columns);
        assert!(tables.lines().all(|line| line.chars().count() <= columns), "{tables}");
        insta::assert_snapshot!(format!("recorded_tables_{columns}"), tables);
    }
}

fn vllm() -> Value {
    let model = "meta-llama/Llama-3.1-405B-Instruct-FP8";
    let labels = |engine: &str| json!({ "engine": engine, "model_name": model });
    let histogram = |node: u32| {
        json!({
            "endpoint_url": format!("http://node-{node}:8000/metrics"),
            "labels": labels("0"),
            "stats": { "count": 0 },
            "buckets": {},
        })
    };
    let source = |source: &str, total: f64| {
        json!({
            "endpoint_url": "http://node-1:8000/metrics",
            "labels": { "engine": "0", "model_name": model, "source": source },
            "stats": { "total": total, "rate": total / 10.0 },
        })
    };
    json!({
        "vllm:kv_cache_usage_perc": metric("gauge", Some("ratio"), json!([gauge(1, labels("0"), 0.9137), gauge(2, labels("0"), 0.5)])),
        "vllm:num_requests_running": metric("gauge", Some("requests"), json!([gauge(1, labels("0"), 255.5), gauge(1, labels("1"), 12.0)])),
        "vllm:num_requests_waiting_by_reason": metric("gauge", Some("requests"), json!([
            gauge(1, json!({ "reason": "capacity" }), 3.0), gauge(1, json!({ "reason": "deferred" }), 0.0),
        ])),
        "vllm:prompt_tokens_by_source": metric("counter", Some("tokens"), json!([
            source("external_kv_transfer", 0.0), source("local_cache_hit", 1234567.0), source("local_compute", 89.0),
        ])),
        "vllm:generation_tokens": metric("counter", Some("tokens"), json!([source("x", 123456.0)])),
        "vllm:time_to_first_token_seconds": metric("histogram", Some("seconds"), json!([histogram(1)])),
    })
}

#[test]
fn labels_are_shown_where_series_differ_in_them() {
    let run = run_of_document(&document(vllm()));
    for columns in [40, 60, 80, 100] {
        insta::assert_snapshot!(format!("labels_{columns}"), shown(&run, columns));
    }
}

#[test]
fn endpoints_with_the_same_name_are_shown_by_their_urls() {
    let series = [1, 2].map(|node| gauge(node, json!({}), 1.0));
    let mut document = document(json!({ "vllm:num_requests_running": metric("gauge", None, json!(series)) }));
    let text = document.to_string().replace("http://node-2:8000", "https://node-1:8000");
    document = serde_json::from_str(&text).unwrap();
    let shown = report(&run_of_document(&document), Page::file());
    assert!(shown.contains("endpoint=http://node") && shown.contains("endpoint=https://nod"), "{shown}");
}

#[test]
fn a_server_with_nothing_to_watch_has_no_table() {
    let metrics = json!({
        "vllm:something_else": metric("gauge", None, json!([gauge(1, json!({}), 1.0)])),
        "node_load1": metric("gauge", None, json!([gauge(1, json!({}), 1.0)])),
    });
    assert_eq!(shown(&run_of_document(&document(metrics)), 80), "");
}

#[test]
fn of_many_series_some_are_shown_and_the_rest_is_counted() {
    let series: Vec<Value> = (0..40).map(|engine| gauge(1, json!({ "engine": engine.to_string() }), 1.0)).collect();
    let run = run_of_document(&document(json!({ "vllm:num_requests_running": metric("gauge", None, json!(series)) })));
    for text in [shown(&run, 80), report(&run, Page::file())] {
        assert!(text.contains("and 28 more series"), "{text}");
    }
}

#[test]
fn what_servers_write_cannot_move_the_cursor() {
    let series = ["\u{1b}[2J", "b"].map(|value| gauge(1, json!({ "engine": value }), 1.0));
    let run = run_of_document(&document(json!({ "vllm:num_requests_running": metric("gauge", None, json!(series)) })));
    assert!(!shown(&run, 80).contains('\u{1b}'));
}

fn drafts(series: &[(Value, f64, f64)]) -> Value {
    let of = |pick: fn(&(Value, f64, f64)) -> f64| -> Vec<Value> {
        series.iter().map(|one| gauge(1, one.0.clone(), pick(one))).collect()
    };
    json!({
        "sglang:spec_accept_length": metric("gauge", None, json!(of(|one| one.2))),
        "sglang:spec_accept_rate": metric("gauge", None, json!(of(|one| one.1))),
    })
}

#[test]
fn accepted_drafts_of_measured_models_have_a_table() {
    let labels = |model: &str, rank: &str| json!({ "model_name": model, "tp_rank": rank });
    let one =
        drafts(&[(labels("M", "0"), 0.756, 2.844), (labels("m", "1"), 0.1, 1.0), (labels("other", "0"), 0.1, 1.0)]);
    insta::assert_snapshot!(shown(&run_of_document(&document(one)), 100));
    let two = drafts(&[(labels("m", "0"), 0.5, 2.0), (json!({ "model_name": "m", "dp_rank": "1" }), 0.25, 1.5)]);
    insta::assert_snapshot!(shown(&run_of_document(&document(two)), 100));
    let none = drafts(&[(labels("m", "0"), 0.5, 0.0)]);
    assert_eq!(shown(&run_of_document(&document(none)), 100), "");
}
