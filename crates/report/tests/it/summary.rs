//! The summary JSON of a run that has everything.

use crate::support;

use aiperf_metrics::{
    Bound, Conduct, Evidence, Exactness, Interval, Judgement, Measurement, MetricBounds, MetricIntervals,
    PhaseMeasurement, PhaseSent, PhaseUntil, Quality, Reached, Sending, Sent, Summary, share,
};
use aiperf_report::summary::csv::summary_csv;
use aiperf_report::summary::json::summary_json;
use aiperf_report::{RunInfo, RunResult};
use aiperf_types::{Nanos, PhaseId, PhaseKind, PhaseProgress, Precision, RequestError, WallNs};
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
        measurement: Some(measurement()),
        ..empty_run()
    }
}

/// A run of 100 requests at 25 a second, one of whose workers waited for a core.
fn measurement() -> Measurement {
    let mut quality = Quality { events: 800, merged_events: 8, merged_late: 6, ..Quality::default() };
    (quality.merged_width_sum, quality.merged_width_max) = (80_000_000, 30_000_000);
    (1..=800).for_each(|lag| quality.receive_lag.add(lag * 1000));
    let conduct = Conduct {
        workers: 2,
        record_threads: 1,
        worker_run_queue_wait: vec![Nanos(1_000_000), Nanos(200_000_000)],
        clock_error: Nanos(120),
        clock_read_ns: 25.0,
        steal_share: Some(0.001),
        throttled: Some(0),
        ..Conduct::default()
    };
    let sent = Sent { offered: 100, sent: 100, answered: 97, within: 100, asked: Some(100.0), ..Sent::default() };
    let sent = Sent { seconds: 4.0, sending_seconds: 4.0, answering_seconds: 4.85, ..sent };
    let counts = PhaseProgress { sent: 100, completed: 100, errors: 3, ..PhaseProgress::default() };
    let (start, sent_end) = (WallNs(1_794_702_396_000_000_000), WallNs(1_794_702_400_000_000_000));
    let phase = PhaseSent { index: 1, name: "profiling".into(), start, sent_end, counts, sent };
    let sending = Sending { phases: vec![phase] };
    let bound = Bound { value: 51.0, early: 0.8, late: 0.0, ours: 0.6, merged: 0.8, unstamped: 0.0 };
    let interval = Interval { low: 51.2, high: f64::INFINITY, count: 60, effective: 41.0, is_enough: false };
    let summary = Summary {
        bounds: vec![MetricBounds { tag: "time_to_first_token", bounds: vec![("p99", bound)] }],
        intervals: vec![MetricIntervals { tag: "time_to_first_token", intervals: vec![("p99", interval)] }],
        ..Summary::default()
    };
    let evidence = Evidence {
        bounds: &summary.bounds,
        clock_ms: conduct.clock_error.as_millis_f64(),
        held: share(conduct.held.as_secs_f64(), sent.sending_seconds),
        core_wait: share(2e8, 4.85e9),
        steal: 0.001,
        coalesced: quality.coalesced_share(),
        unstamped: quality.unstamped_share(),
        is_empty: true,
        ..Evidence::default()
    };
    let judgement = Judgement::on(&summary, &evidence);
    let id = PhaseId { index: 1, profiling_index: Some(0), name: "profiling".into(), kind: PhaseKind::Profiling };
    let precision = Precision { metric: "time_to_first_token".into(), stat: "p99".into(), half_width: 0.05 };
    let reached = Reached { half_widths: vec![Some(0.0456)], met_at: Some(100), ended: true, gave_up_at: None };
    let until = vec![PhaseUntil { id: id.clone(), precisions: vec![precision], reached, was_stopped: false }];
    let phases = vec![PhaseMeasurement { id, quality: quality.clone(), judgement: judgement.clone() }];
    let doubts = vec!["a worker waited for a core".into()];
    Measurement { quality, conduct, sending, exactness: Exactness::default(), judgement, phases, until, doubts }
}

#[test]
fn a_summary_with_everything_in_it() {
    insta::assert_snapshot!(String::from_utf8(summary_json(&run())).unwrap());
}

#[test]
fn the_csv_of_the_same_run() {
    insta::assert_snapshot!(summary_csv(&run().metrics).replace("\r\n", "\\r\\n\n"));
}
