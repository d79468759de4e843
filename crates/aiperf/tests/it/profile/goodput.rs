//! Requests that meet objectives.

use crate::bench::{Bench, avg, quick, serve};
use aiperf_sim::SimConfig;
use serde_json::{Value, json};

fn value(record: &Value, tag: &str) -> f64 {
    record["metrics"][tag]["value"].as_f64().unwrap_or_else(|| panic!("{tag} in {record}"))
}

#[test]
fn every_request_of_a_fast_server_meets_generous_objectives() {
    let sim = serve(quick());
    let objectives = "request_latency:20000 output_sequence_length:8 time_to_first_token:10000";
    let args = ["--streaming", "--concurrency", "4", "--request-count", "20", "--goodput", objectives];
    let run = Bench::of(&sim.url()).with(&args).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let summary = run.summary();
    assert_eq!(summary["good_request_count"], json!({ "unit": "requests", "avg": 20.0 }));
    assert_eq!(summary["good_request_fraction"], json!({ "unit": "ratio", "avg": 1.0 }));
    assert_eq!(avg(&summary, "goodput"), avg(&summary, "request_throughput"));
    assert_eq!(summary["input_config"]["slos"]["request_latency"], 20000.0);
    for record in run.records() {
        assert_eq!(record["metrics"]["good_request_count"], json!({ "value": 1, "unit": "requests" }));
    }
    let csv = run.text("profile_export_aiperf.csv");
    for row in [
        "\r\nGood Request Count,20.00\r\n",
        "\r\nGood Request Fraction (ratio),1.00\r\n",
        "\r\nGoodput (requests/sec),",
    ] {
        assert!(csv.contains(row), "{row} in {csv}");
    }
    let console = run.text("profile_export_console.txt");
    assert!(console.contains("Goodput (requests/sec)") && !console.contains("Good Request"), "{console}");
}

#[test]
fn only_requests_below_a_threshold_are_good_and_each_record_marks_them() {
    let sim = serve(SimConfig { ttft: "normal:150,60".parse().unwrap(), ..quick() });
    let args = ["--streaming", "--concurrency", "8", "--request-count", "64", "--goodput", "time_to_first_token:150"];
    let run = Bench::of(&sim.url()).with(&args).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let records = run.records();
    let good = records.iter().filter(|record| value(record, "time_to_first_token") <= 150.0).count();
    assert!((1..64).contains(&good), "{good} of 64");
    for record in &records {
        let below = value(record, "time_to_first_token") <= 150.0;
        assert_eq!(value(record, "good_request_count"), f64::from(u8::from(below)), "{record}");
    }
    let summary = run.summary();
    assert_eq!(avg(&summary, "good_request_count"), good as f64);
    assert_eq!(avg(&summary, "good_request_fraction"), good as f64 / 64.0);
    let expected = good as f64 / avg(&summary, "benchmark_duration");
    assert!((avg(&summary, "goodput") - expected).abs() < 1e-9 * expected);
}

#[test]
fn failed_requests_are_attempted_and_not_good() {
    let faults = vec!["status:503=0.5".parse().unwrap()];
    let sim = serve(SimConfig { faults, ..quick() });
    let args = ["--concurrency", "4", "--request-count", "40", "--goodput", "request_latency:20000"];
    let run = Bench::of(&sim.url()).with(&args).run();
    let summary = run.summary();
    let succeeded = avg(&summary, "request_count");
    assert!(succeeded < 40.0, "{succeeded}");
    assert_eq!(avg(&summary, "good_request_count"), succeeded);
    assert_eq!(avg(&summary, "good_request_fraction"), succeeded / 40.0);
}

#[test]
fn objectives_of_a_file_count_and_a_flag_changes_one_of_them() {
    let sim = serve(quick());
    let bench = Bench::bare().with(&["-f", "c.yaml", "--goodput", "output_sequence_length:9"]);
    let file = format!(
        "benchmark:\n  model: m\n  tokenizer: {{name: builtin}}\n  endpoint: {{url: '{}'}}\n  dataset: {{isl: 8, osl: 8}}\n  \
         profiling: {{type: concurrency, requests: 5}}\n  slos: {{output_sequence_length: 8, request_latency: 20000}}\n",
        sim.url()
    );
    std::fs::write(bench.dir.path().join("c.yaml"), file).unwrap();
    let run = bench.run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let summary = run.summary();
    assert_eq!(summary["input_config"]["slos"], json!({ "output_sequence_length": 9.0, "request_latency": 20000.0 }));
    assert_eq!((avg(&summary, "request_count"), avg(&summary, "good_request_count")), (5.0, 0.0));
}

#[test]
fn without_objectives_there_is_no_goodput() {
    let sim = serve(quick());
    let run = Bench::of(&sim.url()).with(&["--request-count", "2"]).run();
    let summary = run.summary();
    assert!(["goodput", "good_request_count", "good_request_fraction"].iter().all(|tag| summary.get(tag).is_none()));
}
