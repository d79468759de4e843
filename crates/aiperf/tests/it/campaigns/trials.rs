//! The same run several times.

use crate::bench::{Bench, answering, quick, response, serve};
use crate::campaigns::left::{files, json, short, values};
use serde_json::json;

#[test]
fn a_signal_after_the_last_request_of_the_last_run_lets_all_runs_end_as_complete() {
    let server = serve(quick());
    let bench = Bench::watching(&server.url()).env("AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD", "2");
    let args = ["--request-count", "4", "--num-profile-runs", "2", "--log-level", "info"];
    let mut running = bench.with(&args).start();
    running.wait_for_words("Executing run_0002");
    running.wait_for_words("Processed 4 valid requests");
    running.signal("INT");
    let run = running.finish_soon();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let log = run.text("logs/aiperf.log");
    assert!(log.contains("All runs complete: 2/2 successful"), "{log}");
    assert_eq!(json(&run, "profile_runs/run_0002/profile_export_aiperf.json")["was_cancelled"], false);
}

#[test]
fn trials_write_runs_an_aggregate_and_a_pooled_population() {
    let server = serve(quick());
    let run = short(&server.url()).with(&["--num-profile-runs", "3", "--warmup-request-count", "2"]).run();
    assert_eq!(run.code(), Some(0), "{}{}", run.stdout(), run.stderr());
    let there = files(&run);
    for name in ["run_0001", "run_0002", "run_0003"] {
        for file in
            ["profile_export_aiperf.json", "profile_export.jsonl", "run_config.json", "logs/aiperf.log", "inputs.json"]
        {
            assert!(there.contains(&format!("profile_runs/{name}/{file}")), "{name}/{file} in {there:?}");
        }
    }
    assert!(there.contains("logs/aiperf.log"));
    let aggregate = json(&run, "aggregate/profile_export_aiperf_aggregate.json");
    assert_eq!(aggregate["metadata"]["run_labels"], json!(["run_0001", "run_0002", "run_0003"]));
    assert_eq!(aggregate["metrics"]["request_count_avg"]["mean"], 10.0);
    let counts = &aggregate["measurement"]["verdict"]["runs"];
    let counted = ["trustworthy", "doubtful", "client-bound"].map(|name| counts[name].as_u64().unwrap());
    assert_eq!(counted.iter().sum::<u64>(), 3, "{counts}");
    let means = ["run_0001", "run_0002", "run_0003"].map(|name| {
        let latencies = values(&run, &format!("profile_runs/{name}"), "request_latency");
        assert_eq!(latencies.len(), if name == "run_0001" { 12 } else { 10 }, "only the first run warms up");
        json(&run, &format!("profile_runs/{name}/profile_export_aiperf.json"))["request_latency"]["avg"]
            .as_f64()
            .unwrap()
    });
    let mean = aggregate["metrics"]["request_latency_avg"]["mean"].as_f64().unwrap();
    assert!((mean - means.iter().sum::<f64>() / 3.0).abs() < 1e-9);
    assert!(run.stdout().contains("AGGREGATE STATISTICS SUMMARY"), "{}", run.stdout());
}

#[test]
fn the_pooled_population_is_that_of_the_records() {
    let server = serve(quick());
    for level in ["records", "summary"] {
        let run = short(&server.url()).with(&["--num-profile-runs", "2", "--export-level", level]).run();
        assert_eq!(run.code(), Some(0), "{}", run.stderr());
        let collated = json(&run, "aggregate/profile_export_aiperf_collated.json");
        let combined = &collated["metrics"]["time_to_first_token"]["combined"];
        assert_eq!(combined["count"], 20);
        if level == "summary" {
            continue;
        }
        for tag in ["time_to_first_token", "request_latency", "output_sequence_length", "inter_token_latency"] {
            let all: Vec<f64> = ["run_0001", "run_0002"]
                .iter()
                .flat_map(|name| values(&run, &format!("profile_runs/{name}"), tag))
                .collect();
            let pooled = &collated["metrics"][tag]["combined"];
            assert_eq!(pooled["count"], all.len(), "{tag}");
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            assert!((pooled["mean"].as_f64().unwrap() - mean).abs() < 1e-9 * mean.abs(), "{tag}");
        }
    }
}

#[test]
fn trials_end_when_the_results_are_stable() {
    let server = serve(quick());
    let settle = ["--convergence-metric", "request_count", "--convergence-mode", "cv"];
    let run = short(&server.url()).with(&["--num-profile-runs", "6"]).with(&settle).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert_eq!(json(&run, "aggregate/profile_export_aiperf_aggregate.json")["metadata"]["num_profile_runs"], 3);
    let run =
        short(&server.url()).with(&["--num-profile-runs", "6", "--convergence-min-runs", "4"]).with(&settle).run();
    assert_eq!(json(&run, "aggregate/profile_export_aiperf_aggregate.json")["metadata"]["num_profile_runs"], 4);
}

#[test]
fn a_run_that_fails_is_kept_and_does_not_end_the_others() {
    // The requests of the second run fail.
    let url = answering(|nth, _, _| match nth {
        4..8 => response("500 Internal Server Error", "text/plain", "no"),
        _ => response(
            "200 OK",
            "application/json",
            r#"{"choices":[{"message":{"content":"a b c"}}],"usage":{"prompt_tokens":3,"completion_tokens":3}}"#,
        ),
    });
    let bench = crate::bench::Bench::of(&url).with(&["--request-count", "4", "--concurrency", "1"]);
    let run = bench.with(&["--num-profile-runs", "3"]).run();
    assert_eq!(run.code(), Some(0), "{}{}", run.stdout(), run.stderr());
    let metadata = &json(&run, "aggregate/profile_export_aiperf_aggregate.json")["metadata"];
    assert_eq!(metadata["num_successful_runs"], 2);
    assert_eq!(metadata["failed_runs"], json!([{"label": "run_0002", "error": "All 4 requests failed"}]));
}

#[test]
fn one_success_of_several_is_an_aggregate_of_one_and_a_failure() {
    let url = answering(|nth, _, _| match nth {
        0..4 => response("200 OK", "application/json", r#"{"choices":[{"message":{"content":"a"}}]}"#),
        _ => response("500 Internal Server Error", "text/plain", "no"),
    });
    let bench = crate::bench::Bench::of(&url).with(&["--request-count", "4", "--concurrency", "1"]);
    let run = bench.with(&["--num-profile-runs", "2"]).run();
    assert_eq!(run.code(), Some(1), "{}", run.stdout());
    let aggregate = json(&run, "aggregate/profile_export_aiperf_aggregate.json");
    assert_eq!(aggregate["metadata"]["single_run"], true);
}
