//! Signals and time limits: what was measured is written.

use crate::bench::{Bench, avg, quick, serve};
use aiperf_sim::{Latency, SimConfig};
use std::time::Duration;

fn slow() -> SimConfig {
    SimConfig { itl: Latency::constant(Duration::from_millis(20)), ..quick() }
}

#[test]
fn the_first_signal_writes_everything_and_says_which_it_was() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let sim = serve(slow());
        let args = ["--streaming", "--concurrency", "4", "--request-count", "100000", "--num-dataset-entries", "10"];
        let running = Bench::of(&sim.url()).with(&args).start();
        running.wait_for_records(8);
        running.signal(signal);
        let run = running.finish();
        assert_eq!(run.code(), Some(code), "{}", run.stderr());
        let summary = run.summary();
        assert_eq!((&summary["was_cancelled"], &summary["is_complete"]), (&true.into(), &false.into()));
        let records = run.records();
        let (cancelled, done): (Vec<_>, Vec<_>) = records.iter().partition(|r| r["metadata"]["was_cancelled"] == true);
        assert_eq!(avg(&summary, "request_count"), done.len() as f64);
        assert!((1..=4).contains(&cancelled.len()), "requests in flight leave a line");
        assert!(run.text("profile_export_console.txt").contains("INCOMPLETE RESULTS"));
        assert!(run.stderr().contains("BENCHMARK CANCELLED"));
    }
}

#[test]
fn a_time_limit_ends_sending_and_grace_lets_requests_finish() {
    let sim = serve(quick());
    let args = ["--streaming", "--concurrency", "2", "--benchmark-duration", "0.3", "--benchmark-grace-period", "5"];
    let run = Bench::of(&sim.url()).with(&args).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let summary = run.summary();
    assert!(avg(&summary, "request_count") >= 2.0);
    assert_eq!(summary["was_cancelled"], false);
    assert!(summary.get("error_request_count").is_none());
}

#[test]
fn requests_still_in_flight_after_the_grace_period_leave_no_record() {
    let sim = serve(SimConfig { ttft: Latency::constant(Duration::from_secs(30)), ..quick() });
    let args = ["--streaming", "--concurrency", "2", "--benchmark-duration", "0.1", "--benchmark-grace-period", "0.1"];
    let run = Bench::of(&sim.url()).with(&args).run();
    assert_eq!(run.summary()["was_cancelled"], false);
    assert!(run.records().is_empty());
}
