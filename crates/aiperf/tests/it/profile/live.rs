//! Statistics that are logged during a run.

use crate::bench::{Bench, Run, quick, serve};
use aiperf_sim::{Latency, SimConfig};
use serde_json::Value;
use std::time::Duration;

/// Half a second of requests.
fn run(args: &[&str], env: Option<(&str, &str)>) -> Run {
    let sim = serve(SimConfig { ttft: Latency::constant(Duration::from_millis(20)), ..quick() });
    let bench = Bench::of(&sim.url()).with(&["--streaming", "--request-count", "25"]).with(args);
    let run = env.into_iter().fold(bench, |bench, (name, value)| bench.env(name, value)).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    run
}

/// The `done=` of every logged block.
fn done(run: &Run) -> Vec<u64> {
    let done = |line: &str| line.split_once("done=")?.1.split_whitespace().next()?.parse().ok();
    run.stdout().lines().filter_map(done).collect()
}

#[test]
fn statistics_so_far_are_logged_at_the_interval() {
    for run in [run(&["--stats-interval", "0.1"], None), run(&[], Some(("AIPERF_UI_REALTIME_METRICS_INTERVAL", "0.1")))]
    {
        let done = done(&run);
        assert!(!done.is_empty() && done.is_sorted() && done.iter().all(|done| (1..=25).contains(done)), "{done:?}");
        let log = run.stdout();
        let block: Vec<&str> = log.lines().skip_while(|line| !line.contains("[realtime 00:")).take(4).collect();
        assert!(block[0].contains(" profiling]"), "{block:?}");
        for (line, part) in block[1..].iter().zip(["rps=", "ttft    p50=", "itl     p50="]) {
            assert!(line.contains(part), "{line}");
        }
        assert_eq!(run.text("logs/aiperf.log").matches("[realtime ").count(), done.len());
    }
}

#[test]
fn statistics_are_not_logged_by_default() {
    assert_eq!(done(&run(&[], None)), [0; 0]);
    assert_eq!(done(&run(&["--stats-interval", "0"], Some(("AIPERF_UI_REALTIME_METRICS_ENABLED", "true")))), [0; 0]);
}

/// Milliseconds since midnight in the log line that announces a phase.
fn announced(log: &str, phase: &str) -> u64 {
    let lines: Vec<&str> =
        log.lines().filter(|line| line.contains(&format!("Phase {phase} (")) && line.contains(" started | ")).collect();
    let [line] = lines[..] else { panic!("{phase} is announced {} times in\n{log}", lines.len()) };
    let time = line.split_whitespace().nth(1).unwrap();
    let parts: Vec<u64> = time.split([':', '.']).map(|part| part.parse().unwrap()).collect();
    ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1000 + parts[3]
}

#[test]
fn each_phase_is_announced_at_the_moment_it_starts() {
    let run = run(&["--warmup-request-count", "5"], None);
    let log = run.text("logs/aiperf.log");
    let manifest: Value = serde_json::from_str(&run.text("phase_manifest.json")).unwrap();
    let phases = manifest["phases"].as_array().unwrap();
    assert_eq!(phases.len(), 2);
    for phase in phases {
        let start = phase["start_ns"].as_u64().unwrap() / 1_000_000 % 86_400_000;
        assert_eq!(announced(&log, phase["phase_name"].as_str().unwrap()), start);
    }
}
