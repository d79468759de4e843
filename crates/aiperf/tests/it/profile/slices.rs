//! Results in slices of time.

use crate::bench::{Bench, avg, quick, serve};
use aiperf_sim::{Latency, SimConfig};
use serde_json::Value;
use std::time::Duration;

const LENGTH_NS: u64 = 40_000_000;

fn slices(run: &crate::bench::Run) -> Vec<Value> {
    let document: Value = serde_json::from_str(&run.text("profile_export_aiperf_timeslices.json")).unwrap();
    assert_eq!(document["input_config"], run.summary()["input_config"]);
    document["timeslices"].as_array().unwrap().clone()
}

fn ns(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn the_slices_of_a_run_add_up_to_it() {
    let sim = serve(quick());
    let args = ["--streaming", "--concurrency", "2", "--request-count", "40", "--slice-duration", "0.04"];
    let run = Bench::of(&sim.url()).with(&args).with(&["--goodput", "output_sequence_length:8"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let (summary, slices) = (run.summary(), slices(&run));
    assert!(slices.len() >= 4, "{}", slices.len());
    for tag in ["request_count", "good_request_count", "total_osl", "total_isl"] {
        let total: f64 = slices.iter().map(|slice| avg(slice, tag)).sum();
        assert_eq!(total, avg(&summary, tag), "{tag}");
    }

    let records = run.records();
    let starts: Vec<u64> = records.iter().map(|record| ns(&record["metadata"]["request_start_ns"])).collect();
    let ends = records.iter().map(|record| ns(&record["metadata"]["request_end_ns"]));
    let (first, last) = (starts.iter().copied().min().unwrap(), ends.max().unwrap());
    for slice in &slices {
        let (start, end) = (ns(&slice["start_ns"]), ns(&slice["end_ns"]));
        assert_eq!(start, first + ns(&slice["index"]) * LENGTH_NS);
        assert_eq!(end, last.min(start + LENGTH_NS));
        assert_eq!(slice.get("is_complete").is_none(), start + LENGTH_NS <= last);
        let inside = starts.iter().filter(|at| (start..start + LENGTH_NS).contains(at)).count() as f64;
        assert_eq!(avg(slice, "request_count"), inside);
        let rate = inside / ((end - start) as f64 / 1e9);
        assert!((avg(slice, "request_throughput") - rate).abs() < 1e-6 * rate, "{slice}");
        assert!(slice["time_to_first_token"]["p99"].is_number() && slice["effective_concurrency"]["avg"].is_number());
        assert!(slice.get("effective_latency").is_none() && slice.get("credit_to_start_latency").is_none());
    }

    let csv = run.text("profile_export_aiperf_timeslices.csv");
    let mut rows = csv.strip_suffix("\r\n").unwrap().split("\r\n").map(|row| row.split(',').collect::<Vec<_>>());
    assert_eq!(rows.next().unwrap(), ["Timeslice", "Start_NS", "End_NS", "Metric", "Unit", "Stat", "Value"]);
    let rows: Vec<Vec<&str>> = rows.collect();
    assert!(rows.iter().all(|row| row.len() == 7));
    let counts: Vec<&Vec<&str>> = rows.iter().filter(|row| row[3] == "Request Count").collect();
    assert_eq!(counts.len(), slices.len());
    for (row, slice) in counts.iter().zip(&slices) {
        let expected = [
            slice["index"].to_string(),
            slice["start_ns"].to_string(),
            slice["end_ns"].to_string(),
            "Request Count".to_owned(),
            "requests".to_owned(),
            "avg".to_owned(),
            format!("{:.2}", avg(slice, "request_count")),
        ];
        assert_eq!(**row, expected);
    }
    assert!(run.stdout().contains("Timeslice CSV Export: ") && run.stdout().contains("Timeslice JSON Export: "));
}

#[test]
fn warm_up_is_in_no_slice_and_files_follow_the_prefix() {
    let sim = serve(SimConfig { ttft: Latency::constant(Duration::from_millis(20)), ..quick() });
    let args = ["--warmup-request-count", "4", "--request-count", "6", "--slice-duration", "100"];
    let run = Bench::of(&sim.url()).with(&args).with(&["--profile-export-prefix", "mine"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let document: Value = serde_json::from_str(&run.text("mine_timeslices.json")).unwrap();
    let [slice] = document["timeslices"].as_array().unwrap().as_slice() else { panic!("{document}") };
    assert_eq!(avg(slice, "request_count"), 6.0);
    assert_eq!(document["input_config"]["artifacts"]["slice_duration"], 100.0);
    let lines = run.text("mine.jsonl");
    let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let first = records.filter(|record| record["metadata"]["benchmark_phase"] == "profiling");
    let first = first.map(|record| ns(&record["metadata"]["request_start_ns"])).min();
    assert_eq!(Some(ns(&slice["start_ns"])), first);
    assert!(run.path("mine_timeslices.csv").exists());
}

#[test]
fn a_run_without_the_option_has_no_slices() {
    let sim = serve(quick());
    let run = Bench::of(&sim.url()).with(&["--request-count", "2"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert!(!run.path("profile_export_aiperf_timeslices.json").exists());
    assert!(!run.path("profile_export_aiperf_timeslices.csv").exists());
}
