//! Campaigns that were interrupted.

use crate::bench::{Bench, Run, Running, quick, serve, wait_until};
use crate::campaigns::left::{files, json, keys, short};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::SystemTime;

const SWEEP: &str = "sweep_aggregate/profile_export_aiperf_sweep.json";
const CELLS: &[&str] = &["--concurrency", "1,2,3,4,5,6,7,8,9,10"];

/// Without streaming: a busy machine reads several chunks at once, and some metrics depend on single chunks.
fn sweep(url: &str) -> Bench {
    Bench::of(url).with(&["--request-count", "10"]).with(CELLS)
}

/// Started with its output discarded, because an unread pipe fills up.
fn unread(bench: Bench) -> Running {
    let mut command = bench.command();
    command.stdout(Stdio::null()).stderr(Stdio::null());
    bench.start_as(command)
}

/// Waits until a file exists below the artifact directory.
fn wait_for(running: &Running, name: &str) {
    let path = running.dir.path().join("out").join(name);
    wait_until(name, || path.exists());
}

/// When each run was completed.
fn completed(run: &Run) -> BTreeMap<String, SystemTime> {
    let markers = files(run).into_iter().filter(|name| name.ends_with(".aiperf_results_ready.json"));
    markers.map(|name| (name.clone(), run.path(&name).metadata().unwrap().modified().unwrap())).collect()
}

fn check_same(resumed: &Run, undisturbed: &Run) {
    assert_eq!(files(resumed), files(undisturbed));
    let (one, other) = (json(resumed, SWEEP), json(undisturbed, SWEEP));
    assert_eq!(keys(&one), keys(&other));
    assert_eq!(one["num_successful_runs"], 10);
    assert_eq!(one["metadata"], other["metadata"]);
    let cells = |sweep: &serde_json::Value| {
        let cells = sweep["per_combination_metrics"].as_array().unwrap().clone();
        let cell = |cell: serde_json::Value| {
            let names = keys(&cell["metrics"]).into_iter().map(str::to_owned).collect::<Vec<_>>();
            (cell["parameters"].to_string(), names, cell["metrics"]["request_count"]["avg"].to_string())
        };
        cells.into_iter().map(cell).collect::<Vec<_>>()
    };
    assert_eq!(cells(&one), cells(&other));
}

#[test]
fn a_killed_sweep_resumes() {
    let server = serve(quick());
    let undisturbed = sweep(&server.url()).run();
    assert_eq!(undisturbed.code(), Some(0), "{}", undisturbed.stderr());
    for last in
        ["concurrency_1/run_config.json", "concurrency_4/.aiperf_results_ready.json", "concurrency_9/inputs.json"]
    {
        let running = unread(sweep(&server.url()));
        wait_for(&running, last);
        running.signal("KILL");
        let killed = running.finish();
        let before = completed(&killed);
        let resumed = sweep(&server.url()).with(&["--resume"]).in_place_of(killed).run();
        assert_eq!(resumed.code(), Some(0), "{last}: {}{}", resumed.stdout(), resumed.stderr());
        let after = completed(&resumed);
        assert_eq!(after.len(), 10);
        assert!(before.iter().all(|(name, at)| after[name] == *at), "{last}: a complete run was run again");
        check_same(&resumed, &undisturbed);
    }
}

#[test]
fn a_changed_configuration_is_refused_with_what_changed() {
    let server = serve(quick());
    let first = short(&server.url()).with(&["--concurrency", "1,2"]).run();
    assert_eq!(first.code(), Some(0));
    let before = completed(&first);
    let other =
        Bench::of(&server.url()).with(&["--streaming", "--request-count", "12", "--concurrency", "1,2", "--resume"]);
    let other = other.in_place_of(first).run();
    assert_eq!(other.code(), Some(2), "{}", other.stdout());
    assert!(other.stderr().contains("requests was 10, is 12"), "{}", other.stderr());
    assert_eq!(completed(&other), before);
}

#[test]
fn an_interrupt_ends_the_current_run_and_summarises_the_finished_ones() {
    let server = serve(quick());
    let slow = ["--streaming", "--num-profile-runs", "5", "--request-rate", "20", "--request-count", "10"];
    let running = unread(Bench::of(&server.url()).with(&slow));
    wait_for(&running, "profile_runs/run_0003/profile_export.jsonl");
    running.signal("INT");
    let run = running.finish_soon();
    assert_eq!(run.code(), Some(130), "{}", run.stderr());
    let metadata = &json(&run, "aggregate/profile_export_aiperf_aggregate.json")["metadata"];
    assert_eq!(metadata["num_successful_runs"], 2);
    assert_eq!(metadata["failed_runs"][0]["label"], "run_0003");
    assert!(!run.path("profile_runs/run_0004").exists());
}

#[test]
fn resumed_trials_are_warmed_up_and_pooled() {
    let server = serve(quick());
    let trials = ["--num-profile-runs", "3", "--warmup-request-count", "2"];
    let first = short(&server.url()).with(&trials).run();
    assert_eq!(first.code(), Some(0), "{}", first.stderr());
    std::fs::remove_dir_all(first.path("profile_runs/run_0002")).unwrap();
    // A truncated file is measured again.
    let records = first.path("profile_runs/run_0003/profile_export.jsonl");
    let text = std::fs::read_to_string(&records).unwrap();
    std::fs::write(&records, text.lines().take(4).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let before = completed(&first);
    let resumed = short(&server.url()).with(&trials).with(&["--resume"]).in_place_of(first).run();
    assert_eq!(resumed.code(), Some(0), "{}{}", resumed.stdout(), resumed.stderr());
    let after = completed(&resumed);
    let run = |number: usize| format!("profile_runs/run_000{number}/.aiperf_results_ready.json");
    assert_eq!(after[&run(1)], before[&run(1)]);
    assert!(after[&run(3)] > before[&run(3)]);
    let lines =
        |number: usize| resumed.text(&format!("profile_runs/run_000{number}/profile_export.jsonl")).lines().count();
    assert_eq!([lines(1), lines(2), lines(3)], [12, 12, 10], "the first run of each command warms up");
    let collated = json(&resumed, "aggregate/profile_export_aiperf_collated.json");
    assert_eq!(collated["metrics"]["request_latency"]["combined"]["count"], 30);
}
