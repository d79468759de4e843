//! The summary JSON of a run that has everything.

use crate::support;

use aiperf_report::summary::csv::summary_csv;
use aiperf_report::summary::json::summary_json;
use aiperf_report::{RunInfo, RunResult};
use aiperf_types::{RequestError, WallNs};
use serde_json::json;
use support::*;

fn run() -> RunResult {
    let latency = json!({
        "unit": "ms", "avg": 1e-6, "p50": 2.0, "min": 0.1, "max": 15.0, "std": { "$float": "nan" }, "count": 2, "sum": 30.0,
    });
    let mut metrics = summary(vec![
        result("usage_prompt_tokens", &json!({ "unit": "tokens", "avg": 9.0, "p50": 9.0 })),
        result("total_isl", &json!({ "unit": "tokens", "avg": 32.0 })),
        result("decode_duration", &json!({ "unit": "ms", "avg": 3.0, "p50": 3.0 })),
        result("request_latency", &latency),
    ]);
    metrics.spec_decode_histogram = [(0, 5), (2, 7)].into();
    let info = RunInfo {
        sweep_id: Some("8c4f9a2e-1234-4567-89ab-0123456789ab".into()),
        variation_label: "concurrency_40".into(),
        variation_index: 2,
        variation_values: json!({ "phases.profiling.concurrency": 40 }).as_object().unwrap().clone(),
        ..RunInfo::single("abc123def456", Some(44), Some("aiperf profile --model é".into()))
    };
    RunResult {
        info,
        metrics,
        warmup: Some(summary(vec![result("request_count", &json!({ "unit": "requests", "avg": 3.0 }))])),
        input_config: json!({ "endpoint": { "urls": ["http://127.0.0.1:8000"], "streaming": true }, "otel": {} }),
        errors: vec![
            (RequestError::status(429, "Too Many Requests", "slow down\n"), 2),
            (RequestError::client("ClientPayloadError", "cut off", &["ConnectionResetError"]), 1),
        ],
        start: WallNs(1_794_702_396_000_000_000),
        end: WallNs(1_794_702_396_364_521_579),
        was_cancelled: true,
        incomplete_reason: Some("Run cancelled before all records were processed.".into()),
        measurement: Some(json!({ "receive_lag_ms": { "mean": 0.003 }, "client_bound": false })),
        ..empty_run()
    }
}

#[test]
fn a_summary_with_everything_in_it() {
    insta::assert_snapshot!(String::from_utf8(summary_json(&run())).unwrap());
}

#[test]
fn the_csv_of_the_same_run() {
    insta::assert_snapshot!(summary_csv(&run().metrics).replace("\r\n", "\\r\\n\n"));
}
