//! The files of a run.

use crate::bench::{Bench, avg, quick, serve};
use aiperf_sim::SimConfig;
use serde_json::Value;
use std::collections::HashMap;

#[test]
fn a_streaming_run_leaves_every_file_and_the_numbers_agree() {
    let sim = serve(quick());
    let run = Bench::of(&sim.url()).with(&["--streaming", "--concurrency", "4", "--request-count", "20"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let summary = run.summary();
    assert_eq!(summary["schema_version"], "1.4");
    assert_eq!(avg(&summary, "request_count"), 20.0);
    assert_eq!((avg(&summary, "input_sequence_length"), avg(&summary, "output_sequence_length")), (16.0, 8.0));
    assert_eq!(summary["inter_chunk_latency"]["count"], 20 * 7);
    assert_eq!((&summary["was_cancelled"], &summary["is_complete"]), (&Value::Bool(false), &Value::Bool(true)));
    assert!(summary["measurement"]["receive_lag_us"]["p99"].is_number());
    let confidence = &summary["measurement"]["confidence"];
    let (ttft, reported) = (&confidence["time_to_first_token"], avg(&summary, "time_to_first_token"));
    let end = |name: &str| ttft["avg"][name].as_f64().unwrap();
    assert!(confidence["level"] == 0.95 && end("lo") <= reported && reported <= end("hi"), "{confidence}");
    assert!(ttft["p99"]["hi"].is_null() && ttft["p99"]["enough"] == false, "{confidence}");
    let phase = &summary["measurement"]["phases"][0];
    assert!(phase["phase_name"] == "profiling" && phase["confidence"] == *confidence, "{phase}");

    let records = run.records();
    assert_eq!(records.len(), 20);
    let mean: f64 =
        records.iter().map(|r| r["metrics"]["time_to_first_token"]["value"].as_f64().unwrap()).sum::<f64>() / 20.0;
    assert!((mean - avg(&summary, "time_to_first_token")).abs() < 1e-9);
    let numbers: std::collections::BTreeSet<u64> =
        records.iter().map(|record| record["metadata"]["session_num"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..20).collect());

    let csv = run.text("profile_export_aiperf.csv");
    let (distributions, single) = csv.split_once("\r\n\r\n").unwrap();
    assert!(distributions.starts_with("Metric,avg,min,max,sum,p1") && single.starts_with("Metric,Value"));
    let console = run.text("profile_export_console.txt");
    assert!(console.contains("NVIDIA AIPerf | LLM Metrics") && console.contains("Time to First Token (ms)"));
    assert!(run.stdout().contains("Time to First Token (ms)") && run.stdout().contains("JSON Export: "));
    let inputs: Value = serde_json::from_str(&run.text("inputs.json")).unwrap();
    assert_eq!(inputs["data"].as_array().unwrap().len(), 20);
    assert_eq!(run.text(".aiperf_results_ready.json"), r#"{"ready":true,"was_cancelled":false,"partial":false}"#);
    assert!(run.text("logs/aiperf.log").contains(" - NOTICE - "));
}

#[test]
fn every_api_is_measured_streamed_and_not() {
    let sim = serve(quick());
    for kind in ["chat", "completions"] {
        for streaming in [true, false] {
            let mut bench =
                Bench::of(&sim.url()).with(&["--endpoint-type", kind, "--concurrency", "3", "--request-count", "9"]);
            if streaming {
                bench = bench.with(&["--streaming"]);
            }
            let run = bench.run();
            assert_eq!(run.code(), Some(0), "{kind} {streaming}: {}", run.stderr());
            let summary = run.summary();
            assert_eq!(avg(&summary, "request_count"), 9.0);
            assert_eq!(avg(&summary, "output_sequence_length"), 8.0, "{kind} {streaming}");
            assert_eq!(avg(&summary, "usage_completion_tokens"), 8.0);
            assert_eq!(summary.get("time_to_first_token").is_some(), streaming);
        }
    }
}

#[test]
fn no_stamp_is_earlier_than_the_servers_write() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let sim = serve(SimConfig { truth_log: Some(log.path().to_owned()), ..quick() });
    for stamps in ["kernel", "user"] {
        let args = ["--streaming", "--concurrency", "8", "--request-count", "40", "--timestamps", stamps];
        let run = Bench::of(&sim.url()).with(&args).run();
        assert_eq!(run.code(), Some(0), "{}", run.stderr());
        let records = run.records();
        let truth = truth_when_complete(log.path(), &records);
        for record in &records {
            let meta = &record["metadata"];
            let written = &truth[meta["x_request_id"].as_str().unwrap()];
            let first = written["chunks"].as_array().unwrap().iter().find(|chunk| chunk[2] == 1).unwrap();
            let start = meta["request_start_ns"].as_f64().unwrap();
            let arrived = start + record["metrics"]["time_to_first_token"]["value"].as_f64().unwrap() * 1e6;
            // A double holds wall-clock nanoseconds to a quarter of a microsecond.
            assert!(arrived + 2_000.0 >= first[0].as_f64().unwrap(), "{stamps}: {record} {written}");
            assert!(start <= written["received_read_ns"].as_f64().unwrap() + 2_000.0);
        }
    }
    drop(sim);
}

/// The server's log, once it has every request of the run.
fn truth_when_complete(path: &std::path::Path, records: &[Value]) -> HashMap<String, Value> {
    for _ in 0..6000 {
        let text = std::fs::read_to_string(path).unwrap();
        let lines: HashMap<String, Value> = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .map(|line| (line["x_request_id"].as_str().unwrap_or_default().to_owned(), line))
            .collect();
        if records.iter().all(|record| lines.contains_key(record["metadata"]["x_request_id"].as_str().unwrap())) {
            return lines;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the truth log is not complete");
}

#[test]
fn warm_up_is_separate() {
    let sim = serve(quick());
    let args = ["--streaming", "--concurrency", "2", "--request-count", "6", "--warmup-request-count", "4"];
    let run = Bench::of(&sim.url()).with(&args).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let summary = run.summary();
    assert_eq!(avg(&summary, "request_count"), 6.0);
    assert_eq!(summary["warmup_metrics"]["request_count"]["avg"], 4.0);
    let phases: Vec<&str> = Vec::from_iter(["warmup", "profiling"]);
    for phase in &phases {
        let count = run.records().iter().filter(|record| record["metadata"]["benchmark_phase"] == *phase).count();
        assert_eq!(count, if *phase == "warmup" { 4 } else { 6 });
    }
    let manifest: Value = serde_json::from_str(&run.text("phase_manifest.json")).unwrap();
    assert_eq!(manifest["phases"].as_array().unwrap().len(), 2);
    assert!(run.path("phases/profiling/profile_export_aiperf.json").exists());
}

#[test]
fn the_same_seed_sends_the_same() {
    let sim = serve(quick());
    let inputs = |seed: &str| {
        let args = ["--request-count", "5", "--random-seed", seed, "--isl-stddev", "4", "--osl-stddev", "2"];
        Bench::of(&sim.url()).with(&args).run().text("inputs.json")
    };
    assert_eq!(inputs("7"), inputs("7"));
    assert_ne!(inputs("7"), inputs("8"));
}

#[test]
fn several_workers_share_the_load() {
    let sim = serve(quick());
    let args = ["--streaming", "--concurrency", "6", "--request-count", "60", "--workers-max", "2"];
    let run = Bench::of(&sim.url()).with(&args).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert_eq!(avg(&run.summary(), "request_count"), 60.0);
    assert_eq!(run.summary()["measurement"]["workers"], 2);
    let workers: std::collections::BTreeSet<String> =
        run.records().iter().map(|record| record["metadata"]["worker_id"].to_string()).collect();
    assert_eq!(workers.len(), 2);
}

#[test]
fn the_servers_own_counts_are_used_on_request() {
    let sim = serve(quick());
    let args = ["--streaming", "--request-count", "4", "--use-server-token-count"];
    let run = Bench::of(&sim.url()).with(&args).run();
    let summary = run.summary();
    assert_eq!(avg(&summary, "input_sequence_length"), avg(&summary, "usage_prompt_tokens"));
    assert!(summary.get("usage_discrepancy_count").is_none());
}

#[test]
fn a_prefix_and_a_level_decide_which_files_are_written() {
    let sim = serve(quick());
    let args = ["--request-count", "3", "--profile-export-prefix", "mine.json", "--export-level", "summary"];
    let run = Bench::of(&sim.url()).with(&args).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert!(run.path("mine.json").exists() && run.path("mine.csv").exists() && run.path("mine_console.txt").exists());
    assert!(!run.path("mine.jsonl").exists() && !run.path("profile_export_aiperf.json").exists());
}

#[test]
fn headers_keys_and_extra_inputs_reach_the_server_and_secrets_stay_out_of_the_files() {
    let sim = serve(quick());
    let args =
        ["--request-count", "2", "--api-key", "sk-secret", "-H", "X-Team:blue", "--extra-inputs", "temperature:0.5"];
    let run = Bench::of(&sim.url()).with(&args).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let body: Value = serde_json::from_str(&run.text("inputs.json")).unwrap();
    assert_eq!(body["data"][0]["payloads"][0]["temperature"], 0.5);
    for file in ["profile_export_aiperf.json", "profile_export.jsonl", "logs/aiperf.log", "profile_export_console.txt"]
    {
        assert!(!run.text(file).contains("sk-secret"), "{file}");
    }
    assert!(!run.stdout().contains("sk-secret"));
}

#[test]
fn usage_on_every_chunk_gives_the_tokens_of_the_first_one() {
    let sim = serve(SimConfig { tokens_per_chunk: std::num::NonZeroU32::new(2).unwrap(), ..quick() });
    let args = ["--streaming", "--request-count", "4", "--use-server-token-count", "--per-chunk-usage"];
    let run = Bench::of(&sim.url()).with(&args).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    for record in run.records() {
        let value = |tag: &str| record["metrics"][tag]["value"].as_f64().unwrap();
        let expected = (value("request_latency") - value("time_to_first_token")) / (8.0 - 2.0);
        assert!((value("inter_token_latency") - expected).abs() < 1e-6, "{record}");
    }
}

#[test]
fn the_number_of_prompts_is_that_of_the_help() {
    let sim = serve(quick());
    let prompts = |args: &[&str]| {
        let run = Bench::of(&sim.url()).with(&["--streaming", "--concurrency", "2"]).with(args).run();
        let inputs: Value = serde_json::from_str(&run.text("inputs.json")).unwrap();
        inputs["data"].as_array().unwrap().len()
    };
    assert_eq!(prompts(&["--request-count", "7"]), 7);
    assert_eq!(prompts(&["--request-count", "7", "--num-dataset-entries", "3"]), 3);
    assert_eq!(prompts(&["--benchmark-duration", "0.1"]), 100);
}

#[test]
fn every_member_of_the_measurement_is_explained() {
    let sim = serve(quick());
    let run = Bench::of(&sim.url()).with(&["--streaming", "--request-count", "2"]).run();
    let page = include_str!("../../../../../docs/truth.md");
    let summary = run.summary();
    let members = summary["measurement"].as_object().unwrap().keys();
    let missing: Vec<&String> = members.filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/truth.md does not mention {missing:?}");
}
