//! One run per value.

use crate::bench::{Bench, Gate, Run, free_port, quick, serve, wait_until};
use crate::campaigns::left::{files, json, short};
use serde_json::{Value, json};
use std::io::{Read, Write};

const SWEEP: &str = "sweep_aggregate/profile_export_aiperf_sweep.json";

fn ran(bench: Bench) -> Run {
    let run = bench.run();
    assert_eq!(run.code(), Some(0), "{}{}", run.stdout(), run.stderr());
    run
}

#[test]
fn a_list_gives_one_run_per_value() {
    let server = serve(quick());
    let run = ran(short(&server.url()).with(&["--concurrency", "1,2,4"]));
    let sweep = json(&run, SWEEP);
    assert_eq!(sweep["metadata"]["sweep_parameters"], json!([{"name": "concurrency", "values": [1, 2, 4]}]));
    let cells = sweep["per_combination_metrics"].as_array().unwrap();
    let given: Vec<&Value> = cells.iter().map(|cell| &cell["parameters"]["concurrency"]).collect();
    assert_eq!(given, [1, 2, 4]);
    assert!(sweep["best_configurations"]["best_throughput"]["parameters"]["concurrency"].is_number());
    assert!(!sweep["pareto_optimal"].as_array().unwrap().is_empty());
    let there = files(&run);
    for cell in ["concurrency_1", "concurrency_2", "concurrency_4"] {
        assert!(there.contains(&format!("{cell}/profile_export_aiperf.json")), "{there:?}");
        assert!(there.contains(&format!("{cell}/run_config.json")));
        assert!(there.contains(&format!("{cell}/logs/aiperf.log")));
        assert!(there.contains(&format!("aggregate/{cell}/profile_export_aiperf_aggregate.json")), "{there:?}");
        let info = &json(&run, &format!("{cell}/profile_export_aiperf.json"))["run_info"];
        assert_eq!((&info["variation_label"], &info["run_label"]), (&json!(cell), &json!("run_0001")), "{info}");
    }
    let config = json(&run, "concurrency_2/run_config.json");
    assert_eq!(config["variation"]["label"], "phases.profiling.concurrency=2");
    assert_eq!(config["random_seed"], 43);
    assert_eq!(config["resolved"], json!({"gpu_telemetry_mode": "summary", "artifact_dir_created": false}));
    let log = run.text("logs/aiperf.log");
    assert!(log.contains("[v2 t0] Executing phases.profiling.concurrency=4"), "{log}");
    assert!(!run.text("concurrency_1/logs/aiperf.log").contains("[v1 t0]"));
}

#[test]
fn a_configuration_whose_run_is_not_trustworthy_is_marked_also_if_it_was_complete_already() {
    let server = serve(quick());
    // Reads without arrival stamps are a reason on any machine.
    let swept = |bench: Bench| bench.with(&["--concurrency", "1,2", "--timestamps", "user"]);
    let first = ran(swept(short(&server.url())));
    let check = |run: &Run| {
        let sweep = json(run, SWEEP);
        for cell in sweep["per_combination_metrics"].as_array().unwrap() {
            let verdict = &cell["measurement"]["verdict"];
            assert_ne!(verdict["is"], "trustworthy", "{verdict}");
            assert!(!verdict["reasons"][0]["fix"].as_str().unwrap().is_empty(), "{verdict}");
        }
        assert_ne!(sweep["best_configurations"]["best_throughput"]["measurement_verdict"], "trustworthy");
        let stdout = run.stdout();
        let table = stdout.split_once("NVIDIA AIPerf | Sweep").unwrap().1;
        assert!(table.contains("1! │") && table.contains("\n! 2 of 2 not trustworthy; "), "{table}");
        sweep
    };
    let before = check(&first);
    let resumed = ran(swept(short(&server.url()).in_place_of(first)).with(&["--resume"]));
    assert!(resumed.text("logs/aiperf.log").contains("2 of at most 2 runs are complete already"));
    assert_eq!(check(&resumed)["measurement"], before["measurement"]);
}

#[test]
fn orders_have_their_own_directories() {
    let server = serve(quick());
    let several = ["--concurrency", "1,2", "--num-profile-runs", "2", "--request-count", "4"];
    let repeated = ran(Bench::of(&server.url()).with(&several));
    let there = files(&repeated);
    for name in [
        "profile_runs/trial_0002/concurrency_1/profile_export_aiperf.json",
        "aggregate/concurrency_2/profile_export_aiperf_aggregate.json",
        "aggregate/concurrency_2/profile_export_aiperf_collated.json",
        "aggregate/sweep_aggregate/profile_export_aiperf_sweep.csv",
    ] {
        assert!(there.contains(name), "{name} in {there:?}");
    }
    let info = &json(&repeated, "profile_runs/trial_0002/concurrency_1/profile_export_aiperf.json")["run_info"];
    assert_eq!(info["run_label"], "trial_0002");
    let independent = ran(Bench::of(&server.url()).with(&several).with(&["--parameter-sweep-mode", "independent"]));
    let there = files(&independent);
    for name in [
        "concurrency_1/profile_runs/trial_0002/profile_export_aiperf.json",
        "concurrency_2/aggregate/profile_export_aiperf_aggregate.json",
        SWEEP,
    ] {
        assert!(there.contains(name), "{name} in {there:?}");
    }
    assert_eq!(json(&independent, SWEEP)["metadata"]["sweep_mode"], "independent");
}

#[test]
fn values_in_lockstep_and_named_scenarios() {
    let server = serve(quick());
    let zip =
        ran(short(&server.url()).with(&["--concurrency", "1,2", "--request-rate", "200,400", "--sweep-type", "zip"]));
    assert_eq!(json(&zip, SWEEP)["per_combination_metrics"].as_array().unwrap().len(), 2);
    let named = ["--variant", "small: concurrency=1", "--variant", "large: concurrency=3"];
    let named = ran(short(&server.url()).with(&named));
    let there = files(&named);
    for name in ["small", "large"] {
        assert!(there.contains(&format!("{name}/profile_export_aiperf.json")), "{there:?}");
    }
}

#[test]
fn drawn_points_are_recorded() {
    let server = serve(quick());
    let bench = short(&server.url());
    let file = bench.dir.path().join("sweep.yaml");
    std::fs::write(
        &file,
        "benchmark: {model: m, dataset: {isl: 16}, profiling: {type: concurrency, requests: 10}}\nsweep:\n  type: sobol\n  samples: 4\n  dimensions:\n    - {path: concurrency, lo: 1, hi: 8, kind: int}\n",
    )
    .unwrap();
    let run = ran(bench.with(&["--config", file.to_str().unwrap()]));
    let design = json(&run, "sweep_aggregate/sampling_design.json");
    assert_eq!(design["type"], "sobol");
    assert_eq!(design["samples_mapped"].as_array().unwrap().len(), 4);
}

#[test]
fn a_recipe_writes_its_answer() {
    let server = serve(quick());
    let recipe = ["--search-recipe", "concurrency-ramp", "--concurrency-max", "8", "--concurrency-steps", "3"];
    let run = ran(short(&server.url()).with(&recipe));
    let knee = json(&run, "sweep_aggregate/degradation_knee.json");
    assert_eq!(knee["swept_metric"], "request_latency");
    assert_eq!(knee["all_points"].as_array().unwrap().len(), 3);
}

#[test]
fn cells_are_checked_against_the_users_limits() {
    let server = serve(quick());
    let run = ran(short(&server.url()).with(&["--concurrency", "1,2", "--search-sla", "request_latency:p99:lt:0.001"]));
    let sweep = json(&run, SWEEP);
    assert_eq!(sweep["metadata"]["sla_constraints"]["feasible_count"], 0);
    assert_eq!(sweep["pareto_optimal"], json!([]));
}

#[test]
fn a_cell_that_fails_does_not_lose_the_others() {
    let server = serve(quick());
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let bench = short(&server.url());
    let file = bench.dir.path().join("sweep.yaml");
    let text = format!(
        "benchmark: {{model: m, dataset: {{isl: 16}}, profiling: {{type: concurrency, requests: 10}}}}\nsweep:\n  type: scenarios\n  runs:\n    - {{name: there}}\n    - {{name: gone, benchmark: {{endpoint: {{urls: \
         [\"http://{closed}\"]}}}}}}\n    - {{name: again}}\n"
    );
    std::fs::write(&file, text).unwrap();
    let run = ran(bench.with(&["--config", file.to_str().unwrap()]));
    let sweep = json(&run, SWEEP);
    assert_eq!(sweep["num_successful_runs"], 2, "{sweep}");
    assert_eq!(sweep["failed_runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_pipe_gets_the_table_of_all_cells_once() {
    let server = serve(quick());
    let sweep = ["--concurrency", "1,2,4"];
    let stdout = ran(short(&server.url()).with(&sweep)).stdout();
    assert_eq!(stdout.matches("NVIDIA AIPerf | Sweep").count(), 1, "{stdout}");
    let (runs, table) = stdout.split_once("NVIDIA AIPerf | Sweep").unwrap();
    assert!(runs.contains("Executing phases.profiling.concurrency=4"), "{runs}");
    assert!(["1", "2", "4"].iter().all(|value| table.contains(&format!("{value} │"))), "{table}");
    let stdout = ran(short(&server.url()).with(&sweep).with(&["--no-sweep-table"])).stdout();
    assert!(!stdout.contains("NVIDIA AIPerf | Sweep"), "{stdout}");
}

#[test]
fn a_recipe_of_fixed_points_prints_its_answer() {
    let server = serve(quick());
    let recipe = ["--search-recipe", "max-concurrency-under-sla", "--search-style", "grid", "--concurrency-max", "3"];
    let asked =
        |limit: &str| short(&server.url()).with(&recipe).with(&["--concurrency-steps", "2", "--e2e-sla-ms", limit]);
    let run = ran(asked("100000"));
    // On a busy machine, the verdict of the run follows its value.
    let stdout = run.stdout();
    let answer = stdout.lines().find(|line| line.contains("Answer: max_passing_concurrency: 3")).unwrap_or_default();
    assert!(answer.ends_with(", the highest that was run: the limit is beyond it"), "{stdout}");
    assert_eq!(json(&run, "sweep_aggregate/sla_breach.json")["max_passing_concurrency"], 3);
    let stdout = ran(asked("0.001")).stdout();
    let answer = stdout.lines().find(|line| line.contains("Answer: max_passing_concurrency: none passes: 1"));
    assert!(answer.is_some_and(|answer| answer.contains(" fails, request_latency p99 is ")), "{stdout}");
}

#[test]
fn a_terminal_shows_the_cells_that_are_done() {
    let server = serve(quick());
    let sweep = ["--concurrency", "1,2"];
    let (code, shown) = short(&server.url()).with(&sweep).on_a_terminal(100);
    assert_eq!(code, Some(0), "{shown}");
    // Only the header of the table contains it.
    assert!(shown.contains("trials"), "{shown}");
    let (code, shown) = short(&server.url()).with(&sweep).with(&["--no-sweep-table"]).on_a_terminal(100);
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("trials"), "{shown}");
}

#[test]
fn one_api_serves_the_current_run() {
    let server = Gate::after(0);
    let port = free_port().to_string();
    let bench = Bench::of(&server.url).with(&["--concurrency", "1,2", "--request-count", "20"]);
    let bench = bench.with(&["--api-port", &port]).env("AIPERF_API_SERVER_POST_COMPLETE_GRACE", "20");
    let mut running = bench.start();
    let asked = |path: &str| {
        let mut stream = std::net::TcpStream::connect(format!("127.0.0.1:{port}")).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        serde_json::from_str::<Value>(text.split_once("\r\n\r\n")?.1).ok()
    };
    let mut seen = Vec::new();
    wait_until("no second variation", || {
        let run = asked("/api/run").unwrap_or_default();
        let label = run["variation_label"].as_str().unwrap_or_default().to_owned();
        if !label.is_empty() && !seen.contains(&label) {
            seen.push(label);
            server.open();
        }
        seen.len() == 2
    });
    assert_eq!(seen, ["concurrency_1", "concurrency_2"]);
    running.wait_for_words("Pareto optimal");
    let listed = || asked("/api/results/list").unwrap_or_default().to_string();
    wait_until("no files of the first run", || listed().contains("concurrency_1/profile_export_aiperf.json"));
    running.signal("INT");
    // The runs were complete: the signal ended only the wait.
    assert_eq!(running.finish_soon().code(), Some(0));
}

#[test]
fn a_run_that_ends_because_of_failures_does_not_end_the_others() {
    let server = serve(quick());
    let failing = serve(aiperf_sim::SimConfig { faults: vec!["status:500=1".parse().unwrap()], ..quick() });
    let bench = Bench::bare().with(&["--tokenizer", "builtin", "--failed-request-threshold", "0.5"]);
    let bench = bench.with(&["--ui", "none", "--no-server-metrics", "--no-gpu-telemetry"]);
    let file = bench.dir.path().join("sweep.yaml");
    let benchmark = format!(
        "benchmark: {{model: m, endpoint: {{urls: ['{}']}}, dataset: {{isl: 16}}, profiling: {{type: concurrency, requests: 10}}}}",
        server.url()
    );
    let runs =
        format!("[{{name: a}}, {{name: b, benchmark: {{endpoint: {{urls: ['{}']}}}}}}, {{name: c}}]", failing.url());
    std::fs::write(&file, format!("{benchmark}\nsweep: {{type: scenarios, runs: {runs}}}\n")).unwrap();
    let run = ran(bench.with(&["--config", file.to_str().unwrap()]));
    let sweep = json(&run, SWEEP);
    assert_eq!(sweep["num_successful_runs"], 2, "{sweep}");
    assert!(run.path("c/profile_export_aiperf.json").exists());
}

#[test]
fn equal_drawn_points_are_separate_cells() {
    let server = serve(quick());
    let bench = short(&server.url());
    let file = bench.dir.path().join("sweep.yaml");
    let benchmark = "benchmark: {model: m, dataset: {isl: 16}, profiling: {type: concurrency, requests: 10}}";
    let sweep =
        "{type: sobol, samples: 4, label_format: kv, dimensions: [{path: concurrency, lo: 1, hi: 2, kind: int}]}";
    std::fs::write(&file, format!("{benchmark}\nsweep: {sweep}\n")).unwrap();
    let run = ran(bench.with(&["--config", file.to_str().unwrap()]));
    assert_eq!(json(&run, SWEEP)["per_combination_metrics"].as_array().unwrap().len(), 4);
}

#[test]
fn swept_secrets_are_never_written() {
    let server = serve(quick());
    let keys = ["--variant", "a: api-key=SEKRET-one", "--variant", "b: api-key=SEKRET-two"];
    let by_flags = ran(short(&server.url()).with(&keys));
    let bench = short(&server.url());
    let file = bench.dir.path().join("sweep.yaml");
    let benchmark = "benchmark: {model: m, dataset: {isl: 16}, profiling: {type: concurrency, requests: 4}}";
    let sweep = "{parameters: {endpoint.api_key: [SEKRET-three, SEKRET-four]}}";
    std::fs::write(&file, format!("{benchmark}\nsweep: {sweep}\n")).unwrap();
    let by_file = ran(bench.with(&["--config", file.to_str().unwrap()]));
    for run in [by_flags, by_file] {
        assert!(!run.stdout().contains("SEKRET") && !run.stderr().contains("SEKRET"), "{}", run.stdout());
        for name in files(&run) {
            assert!(!name.contains("SEKRET"), "{name}");
            let text = std::fs::read(run.path(&name)).unwrap();
            assert!(!String::from_utf8_lossy(&text).contains("SEKRET"), "{name}");
        }
    }
}

#[test]
fn every_run_is_below_the_directory_of_the_campaign() {
    let server = serve(quick());
    for (variant, word) in [
        ("a: artifact-dir=/tmp/elsewhere", "artifact directory"),
        ("a: num-profile-runs=3", "applies to all runs"),
        ("logs: concurrency=3", "folder logs"),
    ] {
        let run = short(&server.url()).with(&["--variant", variant, "--variant", "b: concurrency=2"]).run();
        assert_eq!(run.code(), Some(2), "{variant}");
        assert!(run.stderr().contains(word), "{variant}: {}", run.stderr());
    }
}
