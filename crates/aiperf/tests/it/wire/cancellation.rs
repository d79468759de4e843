//! Requests that are cancelled, by plan or by a signal.

use crate::bench::{Run, avg, quick};
use crate::wire::kinds::{Server, over_every_kind, run, value};
use aiperf_sim::{Latency, SimConfig};
use serde_json::Value;
use std::time::Duration;

/// A server whose first token comes so late.
fn first_token_after(ms: u64) -> SimConfig {
    SimConfig { ttft: Latency::constant(Duration::from_millis(ms)), ..quick() }
}

fn is_cancelled(record: &Value) -> bool {
    record["metadata"]["was_cancelled"] == true
}

#[test]
fn requests_that_are_all_cancelled_by_plan_are_errors_and_exit_1() {
    over_every_kind(|kind| {
        let server = Server::start(kind, first_token_after(30_000));
        let args = ["--streaming", "--request-count", "6", "--concurrency", "3"];
        let plan = ["--request-cancellation-rate", "100", "--request-cancellation-delay", "0.05"];
        let run = run(server.bench().with(&args).with(&plan));
        assert_eq!(run.code(), Some(1), "{}", run.stderr());
        let summary = run.summary();
        assert_eq!(avg(&summary, "error_request_count"), 6.0);
        assert!(summary.get("request_count").is_none());
        assert_eq!((&summary["was_cancelled"], &summary["is_complete"]), (&false.into(), &true.into()));
        let errors = summary["error_summary"].as_array().unwrap();
        assert_eq!((errors.len(), &errors[0]["count"]), (1, &6.into()), "{errors:?}");
        let records = run.records();
        assert_eq!(records.len(), 6);
        for record in &records {
            let error = &record["error"];
            assert!(is_cancelled(record), "{record}");
            assert_eq!((&error["type"], &error["code"]), (&"RequestCancellationError".into(), &499.into()));
            assert_eq!(error["message"], "Request cancelled 0.050s after being sent");
            let at = |name: &str| record["metadata"][name].as_u64().unwrap();
            assert!(at("request_end_ns") - at("request_start_ns") >= 50_000_000, "{record}");
        }
        let truth = server.stop();
        assert_eq!(truth.len(), 6, "each was sent");
        assert!(truth.iter().all(|request| request["finished"] == false));
    });
}

#[test]
fn other_requests_than_the_cancelled_ones_are_valid() {
    over_every_kind(|kind| {
        let server = Server::start(kind, first_token_after(150));
        let args = ["--streaming", "--request-count", "20", "--concurrency", "5", "--random-seed", "7"];
        let plan = ["--request-cancellation-rate", "40", "--request-cancellation-delay", "0.01"];
        let run = run(server.bench().with(&args).with(&plan));
        assert_eq!(run.code(), Some(0), "{}", run.stderr());
        let (cancelled, others): (Vec<Value>, Vec<Value>) = run.records().into_iter().partition(is_cancelled);
        let summary = run.summary();
        assert_eq!(cancelled.len() + others.len(), 20);
        assert!((2..=14).contains(&cancelled.len()), "{} of 20 at 40 percent", cancelled.len());
        assert_eq!(avg(&summary, "error_request_count"), cancelled.len() as f64);
        assert_eq!(avg(&summary, "request_count"), others.len() as f64);
        assert!(cancelled.iter().all(|record| record["error"]["code"] == 499));
        for record in &others {
            assert!(record["error"].is_null(), "{record}");
            assert_eq!(value(record, "output_sequence_length"), 8.0);
        }
    });
}

#[test]
fn requests_cut_off_by_a_signal_leave_a_line_and_are_in_no_metric() {
    over_every_kind(|kind| {
        let server = Server::start(kind, SimConfig { itl: Latency::constant(Duration::from_millis(20)), ..quick() });
        let args = ["--streaming", "--request-count", "100000", "--concurrency", "4", "--num-dataset-entries", "10"];
        let stopped = || {
            let running = server.bench().with(&args).start();
            running.wait_for_records(8);
            running.signal("INT");
            let run = running.finish_soon();
            assert_eq!(run.code(), Some(130), "{}", run.stderr());
            run
        };
        let in_flight = |run: &Run| run.summary()["measurement"]["cut_off_requests"].as_u64().unwrap();
        // On a busy machine, the responses in flight may end before the client sees the signal.
        let mut runs = std::iter::repeat_with(stopped).take(10);
        let run = runs.find(|run| in_flight(run) > 0).expect("requests in flight");
        let (cut_off, others): (Vec<Value>, Vec<Value>) = run.records().into_iter().partition(is_cancelled);
        let summary = run.summary();
        assert_eq!(summary["was_cancelled"], true);
        assert!((1..=4).contains(&cut_off.len()) && in_flight(&run) == cut_off.len() as u64, "{}", cut_off.len());
        assert!(cut_off.iter().all(|record| record["error"]["message"] == "Request cancelled by external signal"));
        assert_eq!(avg(&summary, "request_count"), others.len() as f64);
        assert!(summary.get("error_request_count").is_none());
        assert!(others.iter().all(|record| value(record, "output_sequence_length") == 8.0));
    });
}
