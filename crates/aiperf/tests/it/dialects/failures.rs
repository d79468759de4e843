//! Responses that fail, and requests that are cancelled.

use crate::bench::{avg, quick};
use crate::dialects::rows::{Server, in_every_way, run};
use aiperf_sim::{Latency, SimConfig};
use std::time::Duration;

#[test]
fn a_failure_status_is_an_error_with_its_code() {
    in_every_way(|row, streaming| {
        let server = Server::start(SimConfig { faults: vec!["status:503=1".parse().unwrap()], ..quick() });
        let run = run(server.bench_row(row, streaming).with(&["--request-count", "3"]));
        assert_eq!(run.code(), Some(1), "{}", run.stderr());
        assert_eq!(avg(&run.summary(), "error_request_count"), 3.0);
        for record in run.records() {
            assert_eq!(record["error"]["code"], 503, "{record}");
        }
    });
}

#[test]
fn a_response_that_is_not_json_is_an_error_and_such_an_event_is_counted() {
    in_every_way(|row, streaming| {
        let server = Server::start(SimConfig { faults: vec!["malformed-json=1".parse().unwrap()], ..quick() });
        let run = run(server.bench_row(row, streaming).with(&["--request-count", "3"]));
        assert_eq!(run.records().len(), 3);
        let summary = run.summary();
        // Types without a fixed response format accept any text.
        let accepts_anything = ["raw", "template", "audio_transcription"].contains(&row.name);
        if streaming {
            let counted = summary["measurement"]["unreadable_events"] == 3;
            assert!(accepts_anything || counted, "{}", run.stderr());
        } else if !accepts_anything {
            assert_eq!(summary["error_request_count"]["avg"], 3.0, "{}", run.stderr());
        }
    });
}

#[test]
fn cancelled_requests_are_errors_with_that_type() {
    in_every_way(|row, streaming| {
        let server = Server::start(SimConfig { ttft: Latency::constant(Duration::from_secs(30)), ..quick() });
        let plan = ["--request-cancellation-rate", "100", "--request-cancellation-delay", "0.05"];
        let run =
            run(server.bench_row(row, streaming).with(&["--request-count", "3", "--concurrency", "3"]).with(&plan));
        assert_eq!(run.code(), Some(1), "{}", run.stderr());
        for record in run.records() {
            assert_eq!(record["error"]["code"], 499, "{record}");
            assert_eq!(record["error"]["type"], "RequestCancellationError");
            assert_eq!(record["metadata"]["was_cancelled"], true);
        }
        assert_eq!(avg(&run.summary(), "error_request_count"), 3.0);
    });
}
