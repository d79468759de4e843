//! Addresses of servers, and a server that does not read.

use crate::bench::{Bench, quick};
use crate::wire::kinds::{HTTP1, KINDS, Server, error_types, run, value};
use crate::wire::responses::check_phases;
use aiperf_sim::SimConfig;
use nix::sys::socket::{setsockopt, sockopt};
use serde_json::Value;
use std::net::{Ipv6Addr, TcpListener};

#[test]
fn two_servers_get_requests_in_turn() {
    let servers = [Server::start(HTTP1, quick()), Server::start(HTTP1, quick())];
    let second = servers[1].url();
    let run = run(servers[0].bench().with(&["--streaming", "--request-count", "10", "--url", &second]));
    assert_eq!((run.code(), run.records().len()), (Some(0), 10), "{}", run.stderr());
    let [first, second] = servers.map(|server| server.stop());
    assert_eq!((first.len(), second.len()), (5, 5));
    let mut all: Vec<_> = first.iter().map(|request| (request, 0)).chain(second.iter().map(|one| (one, 1))).collect();
    all.sort_by_key(|(request, _)| request["received_read_ns"].as_u64());
    assert!(all.windows(2).all(|pair| pair[0].1 != pair[1].1));
}

#[test]
fn an_ipv6_address_is_reached() {
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        println!("skipped: this machine has no IPv6");
        return;
    }
    let server = Server::start(HTTP1, SimConfig { host: Ipv6Addr::LOCALHOST.into(), ..quick() });
    assert!(server.url().starts_with("http://[::1]:"));
    let run = run(server.bench().with(&["--streaming", "--request-count", "4", "--export-http-trace"]));
    assert_eq!((run.code(), run.records().len()), (Some(0), 4), "{}", run.stderr());
    for record in run.records() {
        let trace = &record["trace_data"];
        assert_eq!((&trace["remote_ip"], &trace["local_ip"]), (&"::1".into(), &"::1".into()));
        assert_eq!(trace["request_headers"]["Host"], server.url().replace("http://", ""));
    }
}

#[test]
fn a_name_is_resolved_once_and_the_lookup_is_a_phase() {
    for kind in KINDS.into_iter().filter(|kind| !kind.unix) {
        let server = Server::start(kind, quick());
        let url = server.url().replace("127.0.0.1", "localhost");
        let args = ["--streaming", "--request-count", "6", "--export-http-trace"];
        let run = run(server.bench_of(&url).with(&args));
        assert_eq!((run.code(), run.records().len()), (Some(0), 6), "{}: {}", kind.name, run.stderr());
        let mut records = run.records();
        records.iter().for_each(check_phases);
        records.sort_by_key(|record| record["metadata"]["request_start_ns"].as_u64());
        let looked_up = |record: &Value| value(record, "http_req_dns_lookup") > 0.0;
        assert_eq!(records.iter().map(looked_up).collect::<Vec<_>>(), [true, false, false, false, false, false]);
        assert!(records[0]["trace_data"]["dns_cache_miss_ns"].is_u64(), "{}", kind.name);
    }
}

/// A server that accepts connections and reads nothing, with a small receive buffer.
fn deaf() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    setsockopt(&listener, sockopt::RcvBuf, &4096).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

/// A request of about a megabyte.
fn large_request(url: &str) -> Bench {
    let bench = Bench::bare().with(&["--model", "m", "--url", url, "--tokenizer", "builtin", "--isl", "200000"]);
    let bench = bench.with(&["--ui", "none", "--no-server-metrics", "--no-gpu-telemetry", "--request-count", "1"]);
    bench.env("AIPERF_HTTP_SO_SNDBUF", "4096")
}

/// Options that cancel requests as soon as they are sent.
const CANCELLED: [&str; 4] = ["--request-cancellation-rate", "100", "--request-cancellation-delay", "0"];

#[test]
fn a_request_that_is_never_sent_completely_ends_at_its_timeout() {
    let (_listener, url) = deaf();
    for (plan, error, code) in
        [(&[][..], "TimeoutError", Value::Null), (&CANCELLED[..], "RequestSendTimeout", 0.into())]
    {
        let run = run(large_request(&url).with(&["--request-timeout-seconds", "0.5"]).with(plan));
        assert_eq!(run.code(), Some(1), "{}", run.stderr());
        assert_eq!(error_types(&run), [error]);
        assert_eq!(run.records()[0]["error"]["code"], code);
    }
}

#[test]
#[ignore = "takes the ten seconds that are the least this time can be"]
fn a_request_without_a_timeout_has_one_for_sending() {
    let (_listener, url) = deaf();
    let limit = ["--request-timeout-seconds", "0"];
    let run = run(large_request(&url)
        .with(&CANCELLED)
        .with(&limit)
        .env("AIPERF_HTTP_REQUEST_CANCELLATION_SEND_TIMEOUT", "10"));
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    assert_eq!(error_types(&run), ["RequestSendTimeout"]);
}
