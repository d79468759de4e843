//! Runs that end when a statistic is known exactly enough.

use crate::bench::{Bench, Run, quick, serve};
use aiperf_sim::SimConfig;
use serde_json::{Value, json};

/// At most so many requests with prompts of varying length: their statistics depend on the seed alone, not on the machine.
fn until(url: &str, most: u64, until: &[&str]) -> Bench {
    let most = most.to_string();
    let bench = Bench::of(url).with(&["--streaming", "--concurrency", "8", "--request-count", &most]);
    let bench = bench.with(&["--isl-stddev", "4", "--num-dataset-entries", "2000", "--random-seed", "1"]);
    until.iter().fold(bench, |bench, until| bench.with(&["--until", until]))
}

fn entry(run: &Run) -> Value {
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let entries = run.summary()["measurement"]["until"].clone();
    assert_eq!(entries.as_array().map(Vec::len), Some(1), "{entries}");
    entries[0].clone()
}

#[test]
fn a_phase_ends_when_its_statistic_is_known_so_exactly() {
    let sim = serve(quick());
    let run =
        until(&sim.url(), 20_000, &["input_sequence_length.avg:10%"]).with(&["--warmup-request-count", "5"]).run();
    let ended = entry(&run);
    let how = (&ended["ended_by"], &ended["met"], &ended["phase_name"]);
    assert_eq!(how, (&json!("until"), &json!(true), &json!("profiling")));
    let target = &ended["targets"][0];
    assert_eq!((&target["metric"], &target["stat"]), (&json!("input_sequence_length"), &json!("avg")));
    let reached = target["reached"].as_f64().unwrap();
    assert!(target["width"] == 0.1 && target["met"] == true && reached > 0.0 && reached <= 0.1, "{target}");
    let summary = run.summary();
    let (at, requests) = (ended["requests"].as_u64().unwrap(), run.records().len() as u64 - 5);
    assert!((220..20_000).contains(&at) && (at..20_000).contains(&requests), "{at} of {requests}");
    assert_eq!(summary["request_count"]["avg"], requests as f64, "all requests in flight count");
    assert_eq!(summary["was_cancelled"], false);
    for shown in [run.stdout(), run.text("profile_export_console.txt")] {
        assert!(
            shown.contains("--until: met after ") && shown.contains("input_sequence_length avg within "),
            "{shown}"
        );
    }
}

#[test]
fn a_statistic_that_is_never_known_so_exactly_leaves_the_end_to_the_maximum() {
    let sim = serve(quick());
    let run = until(&sim.url(), 300, &["input_sequence_length.avg:0.01%", "input_sequence_length.p50:99%"]).run();
    let ended = entry(&run);
    let how = (&ended["ended_by"], &ended["met"], &ended["requests"]);
    assert_eq!(how, (&json!("maximum"), &json!(false), &Value::Null));
    assert!(ended["targets"][0]["reached"].as_f64().unwrap() > 0.0001, "{ended}");
    assert_eq!((&ended["targets"][0]["met"], &ended["targets"][1]["met"]), (&json!(false), &json!(true)));
    assert_eq!(run.records().len(), 300);
    let text = "--until: the maximum came first: input_sequence_length avg within ";
    assert!(run.stdout().contains(text), "{}", run.stdout());
}

#[test]
fn latencies_may_end_a_phase() {
    let sim = serve(SimConfig { ttft: "lognormal:2,1.5".parse().unwrap(), ..quick() });
    let run = until(&sim.url(), 3000, &["time_to_first_token.avg:50%", "inter_token_latency.p50:50%"]).run();
    let ended = entry(&run);
    // A busy machine makes latencies that are no sample of anything.
    let (requests, has_met) = (run.records().len(), ended["met"] == true);
    assert!(has_met || requests == 3000, "{ended} after {requests}");
    assert_eq!(ended["targets"].as_array().map(Vec::len), Some(2));
}

#[test]
fn statistics_of_a_file_and_of_flags_are_met_together() {
    let sim = serve(quick());
    let file = format!(
        "benchmark:\n  model: m\n  tokenizer: {{name: builtin}}\n  endpoint: {{url: '{}', streaming: true}}\n  \
         dataset: {{isl: {{mean: 20, stddev: 5}}, osl: 2, entries: 2000}}\n  \
         profiling: {{type: concurrency, concurrency: 8, requests: 20000}}\nrandom_seed: 1\n\
         until:\n- {{metric: input_sequence_length, stat: avg, percent: 50}}\n",
        sim.url()
    );
    let bench = Bench::bare().with(&["-f", "c.yaml", "--until", "input_sequence_length.p50:40%", "--ui", "none"]);
    std::fs::write(bench.dir.path().join("c.yaml"), file).unwrap();
    let ended = entry(&bench.run());
    let stats: Vec<&Value> = ended["targets"].as_array().unwrap().iter().map(|target| &target["stat"]).collect();
    assert_eq!((stats, &ended["ended_by"]), (vec![&json!("avg"), &json!("p50")], &json!("until")));
}

#[test]
fn a_run_without_statistics_to_wait_for_has_no_such_block() {
    let sim = serve(quick());
    let run = until(&sim.url(), 5, &[]).run();
    assert_eq!((run.code(), &run.summary()["measurement"]["until"]), (Some(0), &Value::Null));
    assert!(!run.stdout().contains("--until"), "{}", run.stdout());
}

#[test]
fn a_statistic_without_an_interval_is_refused_before_anything_is_sent() {
    let sim = serve(quick());
    let refused: &[(&str, &[&str])] = &[
        ("ttft.p99:5%", &["ttft.p99:5%: no such metric", "time_to_first_token for ttft"]),
        ("request_throughput.avg:5%", &["has one value a run"]),
        (
            "inter_chunk_latency.avg:5%",
            &["has several values a request", "inter_token_latency for inter_chunk_latency"],
        ),
        ("adj_request_latency.p99:5%", &["when the run is over", "request_latency for adj_request_latency"]),
        ("request_latency.p99:0.05", &["without a percent sign", "request_latency.p99:5%"]),
    ];
    for (text, words) in refused {
        let run = until(&sim.url(), 5000, &[text]).run();
        assert_eq!(run.code(), Some(2), "{text}: {}", run.stderr());
        for word in *words {
            assert!(run.stderr().contains(word), "{text}: {word} in {}", run.stderr());
        }
        assert_eq!(std::fs::read_dir(run.dir.path()).unwrap().count(), 0, "{text} left something");
    }
    let run = until(&sim.url(), 5000, &["time_to_first_token.p99:5%"]).without("--streaming").run();
    assert!(run.code() == Some(2) && run.stderr().contains("--streaming for time_to_first_token"), "{}", run.stderr());
}
