//! Responses over each kind of connection, and the length of their phases.

use crate::bench::{avg, quick};
use crate::wire::kinds::{HTTP1, Kind, Server, over_every_kind, run, value};
use serde_json::Value;

/// The phases of a request, in order.
const PHASES: [&str; 6] = ["blocked", "dns_lookup", "connecting", "sending", "waiting", "receiving"];

/// The server's time to the first token, minus the error of its timer.
const TTFT_MS: f64 = 1.9;

#[test]
fn streams_are_measured_over_every_kind_of_connection() {
    over_every_kind(|kind| {
        let server = Server::start(kind, quick());
        let run = run(server.bench().with(&["--streaming", "--request-count", "20", "--concurrency", "4"]));
        assert_eq!(run.code(), Some(0), "{}", run.stderr());
        let summary = run.summary();
        assert_eq!(avg(&summary, "request_count"), 20.0);
        assert!(summary.get("error_request_count").is_none());
        assert_eq!((avg(&summary, "output_sequence_length"), avg(&summary, "input_sequence_length")), (8.0, 16.0));
        // On a busy machine one stream may arrive all at once, but not every one.
        assert!(avg(&summary, "time_to_first_token") < avg(&summary, "request_latency"));
        assert!(avg(&summary, "http_req_chunks_received") > 1.0);
        let records = run.records();
        assert_eq!(records.len(), 20);
        for record in &records {
            let (first, whole) = (value(record, "time_to_first_token"), value(record, "request_latency"));
            assert!(TTFT_MS < first && first <= whole, "{first} of {whole} ms");
            check_http_metrics(kind, record);
        }
        check_truth(kind, &server.stop());
    });
}

#[test]
fn whole_responses_are_measured_over_every_kind_of_connection() {
    over_every_kind(|kind| {
        let server = Server::start(kind, quick());
        let run = run(server.bench().with(&["--request-count", "20", "--concurrency", "4"]));
        assert_eq!(run.code(), Some(0), "{}", run.stderr());
        let summary = run.summary();
        assert_eq!((avg(&summary, "request_count"), avg(&summary, "output_sequence_length")), (20.0, 8.0));
        assert!(summary.get("time_to_first_token").is_none());
        for record in run.records() {
            // A write may return late.
            assert!(value(&record, "http_req_sending") + value(&record, "http_req_waiting") > TTFT_MS, "{record}");
            check_http_metrics(kind, &record);
        }
        check_truth(kind, &server.stop());
    });
}

fn check_http_metrics(kind: &Kind, record: &Value) {
    let of = |tag: &str| value(record, &format!("http_req_{tag}"));
    assert!(of("data_sent") > 0.2 && of("data_received") > 0.2 && of("chunks_sent") >= 1.0, "{record}");
    let is_new = of("connection_reused") == 0.0;
    assert_eq!(is_new, of("connecting") > 0.0, "{record}");
    assert_eq!(kind.tls && is_new, of("tls_handshaking") > 0.0, "{record}");
    assert!(of("tls_handshaking") <= of("connecting"), "{record}");
}

fn check_truth(kind: &Kind, truth: &[Value]) {
    assert_eq!(truth.len(), 20);
    let protocol = if kind.http2 { "h2" } else { "http/1.1" };
    for request in truth {
        assert_eq!((&request["protocol"], &request["tls"]), (&protocol.into(), &kind.tls.into()), "{request}");
        assert_eq!(request["finished"], true);
    }
}

#[test]
fn the_phases_of_every_trace_add_up_to_its_request() {
    over_every_kind(|kind| {
        for streaming in [&["--streaming"][..], &[]] {
            let server = Server::start(kind, quick());
            let bench = server.bench().with(&["--request-count", "12", "--concurrency", "3", "--export-http-trace"]);
            let run = run(bench.with(streaming));
            assert_eq!(run.code(), Some(0), "{}", run.stderr());
            let records = run.records();
            assert_eq!(records.len(), 12);
            for record in &records {
                check_phases(record);
                check_spans(record);
                check_chunks(record);
                check_bytes(kind, record);
            }
        }
    });
}

fn nanos(trace: &Value, name: &str) -> i64 {
    trace[name].as_i64().unwrap_or_else(|| panic!("{name} in {trace}"))
}

fn phase(record: &Value, name: &str) -> i64 {
    (value(record, &format!("http_req_{name}")) * 1e6).round() as i64
}

/// Compares the phases of a record with its request, including redirects.
pub(crate) fn check_phases(record: &Value) {
    let start = nanos(&record["metadata"], "request_start_ns");
    let phases = PHASES.map(|name| phase(record, name));
    assert!(phases.iter().all(|phase| *phase >= 0), "{record}");
    let (sum, lasted) = (phases.iter().sum::<i64>(), nanos(&record["trace_data"], "response_receive_end_ns") - start);
    assert!((sum - phase(record, "total")).abs() <= 6, "{sum} in {record}");
    assert!((sum - lasted).abs() <= 1000, "{sum} of {lasted} ns in {record}");
}

/// Compares the spans of a trace with the phases of its record, and TLS with its connection.
fn check_spans(record: &Value) {
    let trace = &record["trace_data"];
    for name in ["sending", "waiting", "receiving", "duration"] {
        assert!((nanos(trace, &format!("{name}_ns")) - phase(record, name)).abs() <= 1, "{name} in {record}");
    }
    if let Some(handshake) = trace["tls_handshaking_ns"].as_i64() {
        assert!(0 < handshake && handshake <= nanos(trace, "connecting_ns"), "{record}");
        assert!(nanos(trace, "tcp_connect_start_ns") <= nanos(trace, "tls_handshake_start_ns"), "{record}");
        assert!(nanos(trace, "tls_handshake_end_ns") <= nanos(trace, "tcp_connect_end_ns"), "{record}");
    }
}

fn chunks(trace: &Value, name: &str) -> Vec<(i64, u64)> {
    let chunk = |chunk: &Value| (chunk[0].as_i64().unwrap(), chunk[1].as_u64().unwrap());
    trace[name].as_array().unwrap().iter().map(chunk).collect()
}

fn check_chunks(record: &Value) {
    let trace = &record["trace_data"];
    for (name, count, last) in [
        ("request_chunks", "request_chunks_count", "request_send_end_ns"),
        ("response_chunks", "response_chunks_count", "response_receive_end_ns"),
    ] {
        let chunks = chunks(trace, name);
        assert!(!chunks.is_empty() && chunks.len() as i64 == nanos(trace, count), "{name} in {record}");
        assert!(chunks.is_sorted_by_key(|(at, _)| *at) && chunks.iter().all(|(_, bytes)| *bytes > 0), "{record}");
        // The kernel's stamp of a response may be earlier than the return of the write of its request.
        assert!(nanos(trace, last) <= chunks.last().unwrap().0, "{name} in {record}");
    }
    let reply = chunks(trace, "response_chunks");
    assert_eq!(reply[0].0, nanos(trace, "response_receive_start_ns"), "{record}");
    assert_eq!(reply.last().unwrap().0, nanos(trace, "response_receive_end_ns"), "{record}");
}

fn check_bytes(kind: &Kind, record: &Value) {
    let trace = &record["trace_data"];
    let sum = |name: &str| chunks(trace, name).iter().map(|(_, bytes)| *bytes as i64).sum::<i64>();
    let (sent, received) = (nanos(trace, "request_bytes_total"), nanos(trace, "response_bytes_total"));
    assert_eq!(sum("request_chunks"), sent, "{record}");
    assert_eq!(value(record, "http_req_data_sent") * 1024.0, sent as f64);
    assert_eq!(value(record, "http_req_data_received") * 1024.0, received as f64);
    if kind.name == HTTP1.name {
        // A read with only the head is not a chunk of the body.
        let head_alone = received - sum("response_chunks");
        assert!([0, head_len(trace)].contains(&head_alone), "{head_alone} of {} in {record}", head_len(trace));
    }
}

/// The bytes of the response's head.
fn head_len(trace: &Value) -> i64 {
    let field = |(name, value): (&String, &Value)| format!("{name}: {}\r\n", value.as_str().unwrap()).len();
    let fields: usize = trace["response_headers"].as_object().unwrap().iter().map(field).sum();
    ("HTTP/1.1 200 OK\r\n".len() + fields + "\r\n".len()) as i64
}
