//! Bad input, before anything is sent.

use crate::bench::{Bench, quick, serve};
use crate::left::short;

fn check(bench: Bench, words: &[&str]) {
    let run = bench.run();
    assert_eq!(run.code(), Some(2), "{}", run.stdout());
    for word in words {
        assert!(run.stderr().contains(word), "{word} in {}", run.stderr());
    }
    assert!(!run.path("").exists(), "nothing is written");
}

#[test]
fn what_several_runs_cannot_be() {
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
fn a_cell_that_cannot_be_planned_is_named() {
    let server = serve(quick());
    check(
        short(&server.url()).with(&["--concurrency", "1,2", "--goodput", "nothing:5"]),
        &["nothing", "in the run phases.profiling.concurrency=1"],
    );
}
