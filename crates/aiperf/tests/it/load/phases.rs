//! Several phases.

use crate::bench::Bench;
use crate::load::server::{Server, paced, run};
use serde_json::Value;

fn bench_of(server: &Server, phases: &str) -> Bench {
    let url = server.url();
    let file = format!(
        "benchmark:\n  models: [m]\n  endpoint: {{urls: [\"{url}\"], type: chat, streaming: true}}\n  tokenizer: {{name: builtin}}\n  \
         datasets:\n    - {{name: d, type: synthetic, entries: 10, prompts: {{isl: 8, osl: 8}}}}\n  phases:\n{phases}"
    );
    let path = server.write("run.yaml", &file);
    Bench::bare().with(&["--config", &path, "--ui", "none", "--no-server-metrics", "--no-gpu-telemetry"])
}

fn manifest(text: &str) -> Vec<Value> {
    let manifest: Value = serde_json::from_str(text).unwrap();
    manifest["phases"].as_array().unwrap().clone()
}

#[test]
fn any_list_of_phases_runs_in_order_and_each_has_its_results() {
    let server = Server::start(paced(2, 1));
    let phases = "    - {name: warm, kind: warmup, type: concurrency, concurrency: 2, requests: 4}\n    - {name: low, kind: profiling, \
                  type: constant, rate: 200, requests: 10}\n    - {name: again, kind: warmup, type: concurrency, concurrency: 1, \
                  requests: 3}\n    - {name: high, kind: profiling, type: poisson, rate: 400, requests: 20}\n";
    let run = run(bench_of(&server, phases));
    let listed = manifest(&run.text("phase_manifest.json"));
    let names: Vec<&str> = listed.iter().map(|phase| phase["phase_name"].as_str().unwrap()).collect();
    assert_eq!(names, ["warm", "low", "again", "high"]);
    assert!(listed.windows(2).all(|pair| pair[1]["start_ns"].as_u64() >= pair[0]["end_ns"].as_u64()), "{listed:?}");
    let summary = run.summary();
    assert_eq!(summary["request_count"]["avg"], 30.0);
    assert_eq!(summary["warmup_metrics"]["request_count"]["avg"], 7.0, "both warm-ups");
    for (name, requests) in [("low", 10.0), ("high", 20.0)] {
        let phase: Value =
            serde_json::from_str(&run.text(&format!("phases/{name}/profile_export_aiperf.json"))).unwrap();
        assert_eq!(phase["request_count"]["avg"], requests);
    }
    assert_eq!(server.arrivals().len(), 37);
}

#[test]
fn a_seamless_phase_begins_while_the_one_before_it_drains() {
    let server = Server::start(paced(300, 1));
    let phases = "    - {name: first, kind: profiling, type: concurrency, concurrency: 2, requests: 2}\n    - {name: second, kind: \
                  profiling, type: constant, rate: 100, requests: 5, seamless: true}\n";
    let run = run(bench_of(&server, phases));
    let listed = manifest(&run.text("phase_manifest.json"));
    assert!(listed[1]["start_ns"].as_u64() < listed[0]["end_ns"].as_u64(), "{listed:?}");
    let of = |name: &str| run.records().iter().filter(|record| record["metadata"]["phase_name"] == name).count();
    assert_eq!((of("first"), of("second")), (2, 5));
    drop(server);
}

#[test]
fn a_warmup_has_its_own_arrival_rule() {
    let server = Server::start(paced(2, 1));
    let warmup =
        ["--warmup-request-count", "12", "--warmup-request-rate", "300", "--warmup-arrival-pattern", "constant"];
    let run = run(server.bench().with(&warmup).with(&["--concurrency", "2", "--request-count", "6"]));
    let of = |kind: &str| run.records().iter().filter(|record| record["metadata"]["benchmark_phase"] == kind).count();
    assert_eq!((of("warmup"), of("profiling")), (12, 6));
    assert_eq!(run.summary()["input_config"]["phases"][0]["type"], "constant");
    drop(server);
}

#[test]
fn a_long_warmup_logs_that_it_goes_on() {
    let server = Server::start(paced(2, 1));
    let warmup = ["--warmup-duration", "1.5", "--request-count", "2"];
    let run = run(server.bench().with(&warmup).env("AIPERF_SERVICE_WARMUP_PROGRESS_LOG_INTERVAL", "0.1"));
    let log = run.text("logs/aiperf.log").to_lowercase();
    assert!(log.lines().filter(|line| line.contains("warmup") && line.contains("sent")).count() >= 2, "{log}");
    drop(server);
}
