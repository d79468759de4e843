//! Answers that fail, and requests that are given up.

use crate::bench::{avg, quick};
use crate::dialects::rows::{Server, in_every_way, run};
use aiperf_sim::{Latency, SimConfig};
use std::time::Duration;

#[test]
fn a_status_of_failure_is_an_error_with_its_code() {
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
fn an_answer_that_is_no_json_is_an_error_and_an_event_that_is_none_is_counted() {
    in_every_way(|row, streaming| {
        let server = Server::start(SimConfig { faults: vec!["malformed-json=1".parse().unwrap()], ..quick() });
        let run = run(server.bench_row(row, streaming).with(&["--request-count", "3"]));
        assert_eq!(run.records().len(), 3);
        let summary = run.summary();
        // What has no shape of its own says whatever it says.
        let says_anything = ["raw", "template", "audio_transcription"].contains(&row.name);
        if streaming {
            let counted = summary["measurement"]["unreadable_events"] == 3;
            assert!(says_anything || counted, "{}", run.stderr());
        } else if !says_anything {
            assert_eq!(summary["error_request_count"]["avg"], 3.0, "{}", run.stderr());
        }
    });
}

#[test]
fn requests_that_are_given_up_are_errors_that_say_so() {
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
