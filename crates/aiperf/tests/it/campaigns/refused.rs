//! Bad input, before anything is sent.

use crate::bench::{Bench, quick, serve};
use crate::campaigns::left::short;

fn check(bench: Bench, words: &[&str]) {
    let run = bench.run();
    assert_eq!(run.code(), Some(2), "{}", run.stdout());
    for word in words {
        assert!(run.stderr().contains(word), "{word} in {}", run.stderr());
    }
    assert!(!run.path("").exists(), "nothing is written");
}

#[test]
fn invalid_settings_of_several_runs_are_refused() {
    let server = serve(quick());
    let url = server.url();
    check(
        short(&url).with(&["--profile-run-cooldown-seconds", "1"]),
        &["--profile-run-cooldown-seconds", "--num-profile-runs"],
    );
    check(
        short(&url).with(&["--concurrency", "1,2,3", "--request-rate", "1,2", "--sweep-type", "zip"]),
        &["concurrency", "rate"],
    );
    check(short(&url).with(&["--resume"]), &["--resume", "--num-profile-runs"]);
    let bench = short(&url).without("--ui").without("none").with(&["--ui", "dashboard", "--num-profile-runs", "2"]);
    check(bench, &["--ui", "several runs", "--ui simple"]);
    check(
        short(&url).with(&["--concurrency", "1,2", "--convergence-metric", "request_latency"]),
        &["--convergence-metric"],
    );
}

#[test]
fn a_condition_on_a_metric_that_no_run_has_is_refused() {
    let server = serve(quick());
    let trials = ["--num-profile-runs", "3", "--convergence-metric"];
    check(short(&server.url()).with(&trials).with(&["request_latancy"]), &["request_latancy", "request_latency"]);
    let stat = ["request_throughput", "--convergence-stat", "p99"];
    check(short(&server.url()).with(&trials).with(&stat), &["request_throughput (p99)"]);
    let sla = ["--concurrency", "1,2", "--search-sla", "nosuch:p99:lt:1"];
    check(short(&server.url()).with(&sla), &["--search-sla nosuch", "no such metric"]);
}

#[test]
fn a_cell_that_cannot_be_planned_is_named() {
    let server = serve(quick());
    check(
        short(&server.url()).with(&["--concurrency", "1,2", "--goodput", "nothing:5"]),
        &["nothing", "in the run phases.profiling.concurrency=1"],
    );
}
