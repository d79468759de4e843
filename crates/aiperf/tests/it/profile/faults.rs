//! Servers that fail, lie or are down: recorded errors, never a crash.

use crate::bench::{Bench, avg, quick, serve};
use aiperf_sim::SimConfig;
use serde_json::Value;

fn with_faults(faults: &[&str]) -> SimConfig {
    SimConfig { faults: faults.iter().map(|fault| fault.parse().unwrap()).collect(), ..quick() }
}

fn error_types(summary: &Value) -> Vec<String> {
    let rows = summary["error_summary"].as_array().unwrap();
    rows.iter().map(|row| row["error_details"]["type"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_server_that_always_fails_gives_a_full_summary_and_exit_1() {
    let sim = serve(with_faults(&["status:503=1"]));
    let run = Bench::of(&sim.url()).with(&["--streaming", "--request-count", "5"]).run();
    assert_eq!(run.code(), Some(1));
    let summary = run.summary();
    assert_eq!(avg(&summary, "error_request_count"), 5.0);
    assert_eq!(summary["error_summary"][0]["error_details"]["code"], 503);
    assert_eq!(summary["error_summary"][0]["count"], 5);
    assert!(run.text("profile_export_console.txt").contains("Error Summary"));
    assert!(run.records().iter().all(|record| record["error"]["code"] == 503));
}

#[test]
fn a_server_that_is_down_is_named() {
    let run = Bench::of("http://127.0.0.1:9").with(&["--streaming", "--request-count", "3"]).run();
    assert_eq!(run.code(), Some(1));
    let summary = run.summary();
    assert_eq!(error_types(&summary), ["ClientConnectorError"]);
    let message = summary["error_summary"][0]["error_details"]["message"].as_str().unwrap();
    assert_eq!(message, "ClientConnectorError('connect to 127.0.0.1:9 failed: connection refused')");
}

#[test]
fn a_server_that_refuses_is_retried_at_a_limited_rate_with_a_log_line() {
    let args = ["--streaming", "--concurrency", "6", "--request-count", "40", "--workers-max", "2"];
    let run = Bench::of("http://127.0.0.1:9").with(&args).run();
    assert_eq!(run.code(), Some(1));
    let line = "connections to 127.0.0.1:9 are refused; trying at most 100 times a second";
    assert_eq!(run.text("logs/aiperf.log").matches(line).count(), 1);
    let summary = run.summary();
    assert!(summary["measurement"]["connect_wait_us"]["count"].as_u64().unwrap() >= 30, "{summary}");
    let mut ends: Vec<u64> =
        run.records().iter().map(|record| record["metadata"]["request_end_ns"].as_u64().unwrap()).collect();
    ends.sort_unstable();
    // The first tries come faster, and up to two requests may have been sent before the first refusal.
    assert!(ends[39] - ends[10] >= 280_000_000, "{ends:?}");
}

#[test]
fn a_server_that_never_accepts_a_connection_ends_the_run_long_before_its_time() {
    let args = ["--streaming", "--concurrency", "4", "--benchmark-duration", "600", "--unreachable-timeout", "0.3"];
    let run = Bench::of("http://127.0.0.1:9").with(&args).run();
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    let summary = run.summary();
    assert_eq!((&summary["was_cancelled"], &summary["is_complete"]), (&true.into(), &false.into()));
    let reason = summary["incomplete_reason"].as_str().unwrap();
    assert!(
        reason.starts_with("No server accepted a connection within 0.3 s of the first failed connection (127.0.0.1:9)"),
        "{reason}"
    );
    assert!(run.text("logs/aiperf.log").contains(reason), "{reason}");
    assert!(!run.records().is_empty(), "the failures until then are written");
}

#[test]
fn one_server_of_several_that_accepts_connections_keeps_the_run_going() {
    let sim = serve(quick());
    let urls = format!("http://127.0.0.1:9,{}", sim.url());
    let args = ["--streaming", "--request-rate", "40", "--arrival-pattern", "constant", "--request-count", "20"];
    let run = Bench::of(&urls).with(&args).with(&["--unreachable-timeout", "0.05"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert_eq!((run.records().len(), &run.summary()["is_complete"]), (20, &true.into()));
}

#[test]
fn the_first_errors_of_each_kind_are_logged_immediately() {
    let sim = serve(with_faults(&["status:503=1"]));
    let run = Bench::of(&sim.url()).with(&["--streaming", "--request-count", "50"]).run();
    let stdout = run.stdout();
    assert_eq!(stdout.matches("failed: 503 Service Unavailable: ").count(), 2, "{stdout}");
    assert!(run.text("logs/aiperf.log").contains("Request 0 of profiling failed: 503 Service Unavailable"));
}

#[test]
fn too_many_failures_end_a_run_with_a_threshold() {
    let sim = serve(with_faults(&["status:503=0.5"]));
    let args = ["--streaming", "--request-count", "5000", "--num-dataset-entries", "2", "--concurrency", "3"];
    let run = Bench::of(&sim.url()).with(&args).with(&["--failed-request-threshold", "0.2"]).run();
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    let summary = run.summary();
    assert_eq!((&summary["was_cancelled"], &summary["is_complete"]), (&true.into(), &false.into()));
    let reason = summary["incomplete_reason"].as_str().unwrap();
    assert!(reason.contains("more than --failed-request-threshold 0.2 allows"), "{reason}");
    assert!(run.records().len() < 5000);
    assert!(avg(&summary, "request_count") > 0.0, "measured data is kept");
}

#[test]
fn verbose_runs_log_decisions_and_trace_logs_each_request() {
    let sim = serve(quick());
    let run = |level: &[&str]| Bench::of(&sim.url()).with(&["--streaming", "--request-count", "3"]).with(level).run();
    let (info, debug, trace) = (run(&[]).stdout(), run(&["-v"]).stdout(), run(&["-vv"]).stdout());
    for decided in ["Workers: ", "Tokenizer of ", "Dataset: ", "profiling: concurrency 1, for "] {
        assert!(!info.contains(decided) && debug.contains(decided), "{decided}: {debug}");
    }
    assert_eq!(debug.matches("first byte of the body +").count(), 0);
    assert_eq!(trace.matches("first byte of the body +").count(), 3, "{trace}");
}

#[test]
fn some_failures_among_successes_are_results() {
    let sim =
        serve(with_faults(&["status:429=0.3", "cut=0.2", "error-event=0.1", "error-data=0.1", "reset-midway=0.1"]));
    let run = Bench::of(&sim.url()).with(&["--streaming", "--concurrency", "4", "--request-count", "100"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let summary = run.summary();
    assert_eq!(avg(&summary, "completed_request_count"), 100.0);
    let kinds = error_types(&summary);
    for kind in ["Too Many Requests", "ClientPayloadError", "SSEResponseError", "ClientOSError"] {
        assert!(kinds.iter().any(|known| known == kind), "{kind} in {kinds:?}");
    }
    let failed = run.records().iter().filter(|record| !record["error"].is_null()).count();
    assert_eq!(avg(&summary, "error_request_count"), failed as f64);
    assert!(summary["adj_request_latency"]["count"].is_number());
}

#[test]
fn garbage_in_a_stream_is_an_error_if_nothing_else_comes() {
    let sim = serve(with_faults(&["malformed-json=1"]));
    let run = Bench::of(&sim.url()).with(&["--streaming", "--request-count", "4"]).run();
    let summary = run.summary();
    let good = summary["request_count"]["avg"].as_f64().unwrap_or(0.0);
    let bad = summary["error_request_count"]["avg"].as_f64().unwrap_or(0.0);
    assert_eq!(good + bad, 4.0);
}

#[test]
fn a_server_that_stalls_is_cut_off_by_the_timeout() {
    let sim = serve(with_faults(&["stall=1"]));
    let args = ["--streaming", "--request-count", "2", "--concurrency", "2", "--request-timeout-seconds", "0.3"];
    let run = Bench::of(&sim.url()).with(&args).run();
    assert_eq!(run.code(), Some(1));
    assert_eq!(error_types(&run.summary()), ["TimeoutError"]);
}

#[test]
fn every_request_is_accounted_for_when_some_connections_are_refused() {
    let sim = serve(with_faults(&["refuse=0.2"]));
    let run = Bench::of(&sim.url()).with(&["--streaming", "--concurrency", "2", "--request-count", "20"]).run();
    let summary = run.summary();
    assert_eq!(avg(&summary, "completed_request_count"), 20.0);
}
