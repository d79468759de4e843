//! A client that is stopped in the middle of a run.

use crate::bench::{Bench, quick, serve};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Requests are due this far apart, and the client is stopped for so long.
const INTERVAL_MS: f64 = 10.0;
const STALL: Duration = Duration::from_secs(2);

#[test]
fn a_stopped_client_is_in_the_intended_latencies_and_not_in_the_usual_ones() {
    let sim = serve(quick());
    let rate = ["--streaming", "--request-rate", "100", "--arrival-pattern", "constant", "--request-count", "400"];
    let running = Bench::of(&sim.url()).with(&rate).start();
    running.wait_for_records(20);
    running.signal("STOP");
    let stopped = Instant::now();
    std::thread::sleep(STALL);
    let stall_ms = stopped.elapsed().as_secs_f64() * 1e3;
    running.signal("CONT");
    let run = running.finish_soon();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let summary = run.summary();
    for (intended, usual) in
        [("intended_request_latency", "request_latency"), ("intended_time_to_first_token", "time_to_first_token")]
    {
        let stat = |tag: &str, name: &str| summary[tag][name].as_f64().unwrap();
        assert_eq!(stat(intended, "count"), 400.0);
        assert!(stat(intended, "max") > 0.95 * stall_ms, "{}", summary[intended]);
        assert!(2.0 * stat(usual, "p50") < stat(intended, "max"), "{}", summary[usual]);
        // Those due in the first half of the stall are late by the other half at least.
        let value = |record: &Value, tag: &str| record["metrics"][tag]["value"].as_f64().unwrap();
        let lateness = |record: &Value| value(record, intended) - value(record, usual);
        let late = run.records().iter().filter(|record| lateness(record) > 0.5 * stall_ms).count();
        assert!(late as f64 >= 0.45 * stall_ms / INTERVAL_MS, "{late} of 400 are late by half of {stall_ms} ms");
    }
}
