//! What a run reports of its own error: verdict, bounds, priority.

use crate::bench::{Bench, Run, quick, serve};
use aiperf_sim::{Latency, SimConfig};
use serde_json::Value;
use std::time::Duration;

fn run(config: SimConfig, args: &[&str]) -> Run {
    let sim = serve(config);
    let run =
        Bench::of(&sim.url()).with(&["--streaming", "--concurrency", "2", "--request-count", "10"]).with(args).run();
    assert!(matches!(run.code(), Some(0 | 3)), "{}", run.stderr());
    run
}

fn codes(verdict: &Value) -> Vec<&str> {
    verdict["reasons"].as_array().unwrap().iter().map(|reason| reason["code"].as_str().unwrap()).collect()
}

#[test]
fn every_run_and_each_of_its_phases_has_a_verdict_with_reasons_and_ways_out() {
    let run = run(quick(), &["--warmup-request-count", "2", "--timestamps", "user"]);
    let summary = run.summary();
    let measurement = &summary["measurement"];
    let (verdict, metric) = (&measurement["verdict"], summary["verdict"]["avg"].as_f64().unwrap());
    // Without stamps no run is better than doubtful.
    let names = ["trustworthy", "doubtful", "client-bound"];
    assert!(metric >= 1.0 && names[metric as usize] == verdict["is"], "{verdict}");
    assert!(codes(verdict).contains(&"unstamped"), "{verdict}");
    for reason in verdict["reasons"].as_array().unwrap() {
        assert!(reason["value"].as_f64() > reason["limit"].as_f64(), "{reason}");
        assert!(["text", "fix"].iter().all(|member| !reason[member].as_str().unwrap().is_empty()), "{reason}");
    }
    let phases = measurement["phases"].as_array().unwrap();
    assert_eq!(phases.len(), 2);
    for phase in phases {
        assert!(codes(&phase["verdict"]).contains(&"unstamped"), "{phase}");
        assert!(phase["error_bound"]["request_latency"]["avg"]["bound"].is_number(), "{phase}");
    }
    let first = run.stdout().lines().position(|line| line.starts_with("Verdict: ")).expect("a verdict");
    let command = run.stdout().lines().position(|line| line.starts_with("CLI Command: ")).unwrap();
    assert!(first < command, "it is the first line of the last block");
    assert!(run.stdout().contains("try: use --timestamps auto"), "{}", run.stdout());
}

#[test]
fn reads_without_a_stamp_bound_the_statistics() {
    let summary = run(quick(), &["--timestamps", "user"]).summary();
    let bounds = &summary["measurement"]["error_bound"];
    assert_eq!(bounds["unit"], "ms");
    for tag in ["time_to_first_token", "request_latency"] {
        for statistic in ["avg", "p50", "p90", "p99"] {
            let (bound, value) = (&bounds[tag][statistic], summary[tag][statistic].as_f64().unwrap());
            let [early, late, larger] = ["early", "late", "bound"].map(|member| bound[member].as_f64().unwrap());
            assert!(early > 0.0 && early <= value + 0.1, "{tag} {statistic} {bound}");
            assert!(late < 0.1 && larger == early.max(late), "only the clock makes it later: {bound}");
        }
    }
    let causes = &bounds["causes"];
    assert!(causes["unstamped"].as_f64() > Some(0.0) && causes["clock"].as_f64() < Some(0.1), "{causes}");
}

#[test]
fn a_last_token_that_arrives_with_the_end_is_known_within_much_less_than_the_time_between_tokens() {
    let itl = Duration::from_millis(100);
    let config = SimConfig { itl: Latency::constant(itl), ..quick() };
    let summary = run(config, &[]).summary();
    let bound = summary["measurement"]["error_bound"]["request_latency"]["avg"]["bound"].as_f64().unwrap();
    assert!(bound > 0.001, "the server writes both at once: {bound}");
    assert!(bound < itl.as_secs_f64() * 1e3 / 4.0, "{bound}");
}

#[test]
fn records_without_a_stamp_report_their_uncertainty() {
    let run = run(quick(), &["--timestamps", "user"]);
    for record in run.records() {
        let measurement = &record["measurement"];
        assert_eq!((&measurement["receive_lag_ms"], &measurement["unstamped"]), (&Value::Null, &Value::Bool(true)));
        for (width, metric) in [("first_width_ms", "time_to_first_token"), ("last_width_ms", "request_latency")] {
            let [width, value] = [&measurement[width], &record["metrics"][metric]["value"]].map(|one| one.as_f64());
            assert!(width > Some(0.0) && width <= value, "{record}");
        }
    }
}

#[test]
fn a_verdict_can_fail_a_run() {
    let crossed = run(quick(), &["--fail-if", "verdict>=0"]);
    assert_eq!(crossed.code(), Some(3), "{}", crossed.stderr());
    let held = run(quick(), &["--fail-if", "verdict>2"]);
    assert_eq!(held.code(), Some(0), "{}", held.stderr());
}

#[test]
fn workers_of_normal_priority_lose_none() {
    let measurement = run(quick(), &["--worker-priority", "normal"]).summary()["measurement"].clone();
    let of = |member: &str| measurement[member].as_u64();
    assert_eq!((of("realtime_workers"), of("demoted_workers")), (Some(0), Some(0)), "{measurement}");
    assert!(measurement["first_demoted_after_seconds"].is_null(), "{measurement}");
}
