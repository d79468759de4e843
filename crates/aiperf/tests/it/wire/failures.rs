//! Failed responses and closed connections among others: recorded errors, and the other requests succeed.

use crate::bench::{avg, quick};
use crate::wire::kinds::{Kind, Server, error_types, over_every_kind, run, value};
use aiperf_sim::{Latency, SimConfig};
use std::time::Duration;

/// A fault that occurs now and then, and the error types it may give, separated by `|`.
struct Row {
    fault: &'static str,
    concurrency: &'static str,
    http1: &'static str,
    /// A Unix socket cannot be reset.
    unix: &'static str,
    http2: &'static str,
}

const ROWS: [Row; 5] = [
    Row {
        fault: "status:503=0.3",
        concurrency: "2",
        http1: "Service Unavailable",
        unix: "Service Unavailable",
        // HTTP/2 has no reason phrases.
        http2: "",
    },
    Row {
        fault: "reset=0.3",
        concurrency: "2",
        http1: "ClientOSError|ServerDisconnectedError",
        unix: "ClientOSError|ServerDisconnectedError",
        http2: "ClientResponseError",
    },
    Row {
        fault: "reset-midway=0.3",
        concurrency: "2",
        http1: "ClientOSError",
        unix: "ClientOSError|ClientPayloadError",
        http2: "ClientPayloadError",
    },
    Row {
        fault: "cut=0.3",
        concurrency: "2",
        http1: "ClientPayloadError",
        unix: "ClientPayloadError",
        // It also ends the other requests on its connection, some of them before their response.
        http2: "ClientPayloadError|ClientOSError|ServerDisconnectedError",
    },
    Row { fault: "goaway=0.3", concurrency: "1", http1: "none", unix: "none", http2: "none" },
];

impl Row {
    fn errors(&self, kind: &Kind) -> &'static str {
        match kind {
            Kind { http2: true, .. } => self.http2,
            Kind { unix: true, .. } => self.unix,
            _ => self.http1,
        }
    }
}

fn check(kind: &'static Kind, row: &Row, streaming: &[&str]) {
    let server = Server::start(kind, SimConfig { faults: vec![row.fault.parse().unwrap()], ..quick() });
    let args = ["--request-count", "24", "--concurrency", row.concurrency, "--workers-max", "1"];
    let run = run(server.bench().with(&args).with(streaming));
    assert_eq!(run.code(), Some(0), "{}: {}", row.fault, run.stderr());
    let (summary, records, errors) = (run.summary(), run.records(), error_types(&run));
    assert_eq!(avg(&summary, "completed_request_count"), 24.0);
    assert_eq!((records.len(), avg(&summary, "request_count") as usize), (24, 24 - errors.len()));
    let wanted = row.errors(kind);
    assert_eq!(errors.is_empty(), wanted == "none", "{}: {errors:?}", row.fault);
    assert!(errors.iter().all(|error| wanted.split('|').any(|one| one == error)), "{}: {errors:?}", row.fault);
    let valid = records.iter().filter(|record| record["error"].is_null());
    assert!(valid.clone().all(|record| value(record, "output_sequence_length") == 8.0));
    if row.fault.starts_with("status") {
        let failed = records.iter().filter(|record| !record["error"].is_null());
        assert!(failed.clone().all(|record| record["error"]["code"] == 503));
    }
}

#[test]
fn failed_streams_are_reported_by_type_and_others_go_on() {
    over_every_kind(|kind| ROWS.iter().for_each(|row| check(kind, row, &["--streaming"])));
}

#[test]
fn failed_whole_responses_are_reported_by_type_and_others_go_on() {
    over_every_kind(|kind| ROWS.iter().for_each(|row| check(kind, row, &[])));
}

#[test]
fn closed_connections_fail_few_requests() {
    over_every_kind(|kind| {
        let server = Server::start(kind, SimConfig { faults: vec!["goaway=0.3".parse().unwrap()], ..quick() });
        let args = ["--streaming", "--request-count", "40", "--concurrency", "4", "--workers-max", "1"];
        let run = run(server.bench().with(&args));
        assert_eq!((run.code(), run.records().len()), (Some(0), 40), "{}", run.stderr());
        // An HTTP/2 request may meet two such connections in a row, both closed before the response. That is one too
        // many.
        let (errors, answered) = (error_types(&run), avg(&run.summary(), "request_count"));
        let known = ["ServerDisconnectedError", "ClientOSError", "ClientPayloadError"];
        assert!(errors.iter().all(|error| kind.http2 && known.contains(&error.as_str())), "{errors:?}");
        assert!(answered >= 20.0, "{answered} of 40: {errors:?}");
        let seen = server.stop().iter().filter(|request| request["finished"] == true).count();
        assert!(seen as f64 >= answered, "{seen} finished, {answered} answered");
        assert!(kind.http2 || seen == 40, "{seen} finished");
    });
}

#[test]
fn a_request_that_a_server_processed_is_not_sent_again() {
    over_every_kind(|kind| {
        let (ttft, faults) = (Latency::constant(Duration::from_millis(1500)), vec!["cut=0.5".parse().unwrap()]);
        let server = Server::start(kind, SimConfig { ttft, faults, ..quick() });
        let run = run(server.bench().with(&["--request-count", "8", "--concurrency", "8", "--workers-max", "1"]));
        assert_eq!(run.records().len(), 8, "{}", run.stderr());
        assert!(!error_types(&run).is_empty());
        let truth = server.stop();
        let mut ids: Vec<&str> = truth.iter().map(|request| request["x_request_id"].as_str().unwrap()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!((ids.len(), truth.len()), (8, 8));
    });
}
