//! `trace_data` of record lines compared with that of the reference.

use aiperf_golden::Tally;
use aiperf_golden::kinds::endpoints::HTTP_TRACE;
use aiperf_golden::kinds::runs::RECORDS;
use aiperf_metrics::{RecordMetrics, registry};
use aiperf_report::RecordLine;
use aiperf_types::{
    CorrelationId, EarlierLeg, HttpTrace, Measured, MonoNs, PhaseId, PhaseKind, RecordMeta, RequestError, WallAnchor,
    WallNs,
};
use serde_json::{Map, Value};
use std::sync::Arc;

fn trace_of(perf: &Value) -> HttpTrace {
    let at = |key: &str| MonoNs(perf[format!("{key}_perf_ns")].as_u64().unwrap_or(0));
    let pair = |step: &str| (at(&format!("{step}_start")), at(&format!("{step}_end")));
    let count = |key: &str| perf[key].as_u64().unwrap_or(0);
    let chunks = |key: &str| {
        let pairs = perf[key].as_array().into_iter().flatten();
        pairs.map(|pair| (MonoNs(pair[0].as_u64().unwrap()), pair[1].as_u64().unwrap() as u32)).collect()
    };
    let fields = |key: &str| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        perf[key].as_object().map(|map| map.iter().map(|(name, value)| (name.clone(), text(value))).collect())
    };
    let address = |side: &str| {
        let ip: std::net::IpAddr = perf[format!("{side}_ip")].as_str()?.parse().unwrap();
        Some((ip, count(&format!("{side}_port")) as u16).into())
    };
    HttpTrace {
        anchor: WallAnchor { wall: WallNs(count("reference_time_ns")), mono: MonoNs(count("reference_perf_ns")) },
        send_start: at("request_send_start"),
        request_headers: fields("request_headers"),
        head_sent: at("request_headers_sent"),
        writes: chunks("request_chunks"),
        send_end: at("request_send_end"),
        write_count: count("request_chunks_count"),
        bytes_sent: count("request_bytes_total"),
        status: perf["response_status_code"].as_u64().map(|status| status as u16),
        reason: perf["response_reason"].as_str().map(str::to_owned),
        response_headers: fields("response_headers"),
        head_received: at("response_headers_received"),
        receive_start: at("response_receive_start"),
        reads: chunks("response_chunks"),
        read_count: count("response_chunks_count"),
        bytes_received: count("response_bytes_total"),
        receive_end: at("response_receive_end"),
        failed: at("error_timestamp"),
        pool_wait: pair("connection_pool_wait"),
        connect: pair("tcp_connect"),
        reused: at("connection_reused"),
        dns_hit: at("dns_cache_hit"),
        dns_miss: at("dns_cache_miss"),
        dns_lookup: pair("dns_lookup"),
        tls: pair("tls_handshake"),
        local: address("local"),
        remote: address("remote"),
        earlier_legs: Vec::new(),
    }
}

fn line(trace: HttpTrace) -> Value {
    let phase = PhaseId { index: 0, profiling_index: Some(0), name: "profiling".into(), kind: PhaseKind::Profiling };
    let meta = RecordMeta {
        session_num: 0,
        request_id: 1,
        correlation_id: CorrelationId::Uuid(2),
        conversation_id: "a".into(),
        turn_index: 0,
        credit_issued: None,
        request_start: WallNs(1),
        request_ack: None,
        request_end: WallNs(2),
        worker: 0,
        record_thread: 0,
        phase: Arc::new(phase),
        was_cancelled: false,
        cancelled_at: None,
    };
    let error = Some(RequestError::exception("TimeoutError", "", &[]));
    let measured = Measured { error, http_trace: Some(Box::new(trace)), ..Measured::default() };
    let mut out = Vec::new();
    assert!(RecordLine::new("465e2a4541a2").write(&mut out, &meta, &measured, &RecordMetrics::default()));
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn golden_traces_are_written_as_recorded() {
    let skip = |case: &Value| {
        let at = |key: &str| case["perf"][key].as_u64();
        let is_early = at("response_receive_start_perf_ns").zip(at("request_send_end_perf_ns"));
        is_early
            .filter(|(arrival, sent)| arrival < sent)
            .map(|_| "the end of sending is taken no later than the first arrival".to_owned())
    };
    HTTP_TRACE.run(skip, |case| {
        let line = line(trace_of(&case["perf"]));
        // As texts: the order of members matters.
        assert_eq!(line["trace_data"].to_string(), case["expected"]["trace_data"].to_string());
    });
}

/// The instants of an exported trace, as if the wall clock were the monotonic one.
fn perf_of(trace: &Value) -> Value {
    let instant = |(key, value): (&String, &Value)| {
        let key = key.strip_suffix("_ns").map_or(key.clone(), |step| format!("{step}_perf_ns"));
        (key, value.clone())
    };
    Value::Object(trace.as_object().unwrap().iter().map(instant).collect::<Map<_, _>>())
}

#[test]
fn golden_traces_of_runs_are_written_as_they_were_read() {
    let mut tally = Tally::of(RECORDS);
    for file in RECORDS.whole_files() {
        for (at, record) in file.text.lines().enumerate() {
            let record: Value = serde_json::from_str(record).unwrap();
            let Some(theirs) = record.get("trace_data") else { continue };
            tally.run(format!("{} line {}", file.name(), at + 1), || {
                let line = line(trace_of(&perf_of(theirs)));
                assert_eq!(line["trace_data"].to_string(), theirs.to_string());
            });
        }
    }
    tally.finish();
}

#[test]
fn a_trace_is_between_metrics_and_error() {
    let line = line(HttpTrace::default());
    let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["metadata", "metrics", "trace_data", "error"]);
}

#[test]
fn a_handshake_is_separate_from_the_connect_that_contains_it() {
    let instants = |from, to| (MonoNs(from), MonoNs(to));
    let trace = HttpTrace { connect: instants(10, 50), tls: instants(20, 45), ..HttpTrace::default() };
    let data = &line(trace)["trace_data"];
    assert_eq!((&data["connecting_ns"], &data["tls_handshaking_ns"]), (&40.into(), &25.into()));
}

/// The first cells of the rows of a table in the guide, without their quotes, by the head of its first column.
fn column(head: &str, cell: usize) -> Vec<String> {
    let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/http-trace.md");
    let text = std::fs::read_to_string(guide).unwrap();
    let rows = text.split_once(&format!("\n| {head} |")).unwrap().1.lines().skip(2);
    let rows = rows.take_while(|row| row.starts_with('|'));
    rows.map(|row| row.split('|').nth(cell + 1).unwrap().trim().trim_matches('`').to_owned()).collect()
}

#[test]
fn the_guide_lists_every_metric_of_http_in_the_order_of_the_table() {
    let mut metrics: Vec<_> = registry::all().iter().filter(|metric| metric.tag.starts_with("http_req_")).collect();
    metrics.sort_by_key(|metric| metric.order);
    let tags: Vec<&str> = metrics.iter().map(|metric| metric.tag).collect();
    let names: Vec<&str> = metrics.iter().map(|metric| metric.header).collect();
    assert_eq!((column("metric", 0), column("metric", 1)), (to_texts(&tags), to_texts(&names)));
}

fn to_texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn the_guide_lists_every_field_of_a_trace_in_the_order_they_are_written() {
    let (at, pair, address) = (MonoNs(1), (MonoNs(1), MonoNs(2)), Some(([127, 0, 0, 1], 80).into()));
    let everything = HttpTrace {
        anchor: WallAnchor::default(),
        send_start: at,
        request_headers: Some(Vec::new()),
        head_sent: at,
        writes: vec![(at, 1)],
        send_end: at,
        write_count: 1,
        bytes_sent: 1,
        status: Some(200),
        reason: Some(String::new()),
        response_headers: Some(Vec::new()),
        head_received: at,
        receive_start: at,
        reads: vec![(at, 1)],
        read_count: 1,
        bytes_received: 1,
        receive_end: at,
        failed: at,
        pool_wait: pair,
        connect: pair,
        reused: at,
        dns_hit: at,
        dns_miss: at,
        dns_lookup: pair,
        tls: pair,
        local: address,
        remote: address,
        earlier_legs: vec![EarlierLeg::default()],
    };
    let line = line(everything);
    let written: Vec<String> = line["trace_data"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(column("field", 0), written);
}
