//! Golden record lines, turned back into what was measured.

use super::{RunFile, SUMMARY, beside};
use aiperf_metrics::RunTraits;
use aiperf_types::{
    ContentMark, CorrelationId, EndpointKind, HttpTiming, Measured, MonoNs, PhaseId, PhaseKind, RecordMeta,
    TokenCounts, Usage, WallNs,
};
use serde_json::Value;
use std::sync::Arc;

const START: u64 = 1_000_000_000;

/// Whose line it is.
pub(crate) fn meta_of(line: &Value) -> RecordMeta {
    let meta = &line["metadata"];
    let id = |key: &str| u128::from_str_radix(&meta[key].as_str().unwrap().replace('-', ""), 16).unwrap();
    let time = |key: &str| meta[key].as_u64().map(WallNs);
    let index = |key: &str| meta[key].as_u64().map(|index| index as u16);
    RecordMeta {
        session_num: meta["session_num"].as_u64().unwrap(),
        request_id: id("x_request_id"),
        correlation_id: CorrelationId::Uuid(id("x_correlation_id")),
        conversation_id: meta["conversation_id"].as_str().unwrap().into(),
        turn_index: meta["turn_index"].as_u64().unwrap() as u32,
        credit_issued: time("credit_issued_ns"),
        request_start: time("request_start_ns").unwrap(),
        request_ack: time("request_ack_ns"),
        request_end: time("request_end_ns").unwrap(),
        worker: 0,
        record_thread: 0,
        phase: Arc::new(PhaseId {
            index: index("phase_index").unwrap(),
            profiling_index: index("profiling_index"),
            name: meta["phase_name"].as_str().unwrap().into(),
            kind: if meta["phase_kind"] == "warmup" { PhaseKind::Warmup } else { PhaseKind::Profiling },
        }),
        was_cancelled: meta["was_cancelled"].as_bool().unwrap(),
        cancelled_at: time("cancellation_time_ns"),
    }
}

/// What was measured of it.
pub(crate) fn measured_of(line: &Value) -> Measured {
    let float = |tag: &str| line["metrics"][tag]["value"].as_f64();
    let count = |tag: &str| line["metrics"][tag]["value"].as_u64();
    let nanos = |tag: &str| float(tag).map(|ms| (ms * 1e6).round() as u64);
    let bytes = |tag: &str| float(tag).map(|kilobytes| (kilobytes * 1024.0).round() as u64);
    let error = serde_json::from_value(line["error"].clone()).ok();
    let gaps = line["metrics"]["inter_chunk_latency"]["value"].as_array().into_iter().flatten();
    let first = nanos("time_to_first_token").or(nanos("request_latency"));
    let first_output = nanos("time_to_first_output_token");
    let mut arrivals: Vec<u64> = first.into_iter().collect();
    for gap in gaps {
        arrivals.push(arrivals.last().unwrap() + (gap.as_f64().unwrap() * 1e6).round() as u64);
    }
    let content = arrivals.iter().map(|&at| {
        let output = first_output.is_none_or(|first_output| at >= first_output);
        ContentMark { at: MonoNs(START + at), output, reasoning: !output }
    });
    let osl = count("output_sequence_length");
    let requested = osl.zip(float("osl_mismatch_diff_pct")).map(|(osl, percent)| osl as f64 / (1.0 + percent / 100.0));
    let failed = error.is_some();
    Measured {
        start_wall: WallNs(START),
        start: MonoNs(START),
        end: MonoNs(START + arrivals.last().copied().unwrap_or(1)),
        content: if failed { Vec::new() } else { content.collect() },
        tokens: TokenCounts {
            input: count("input_sequence_length").or(count("error_isl")),
            // Without a count of its own there were no output tokens at all.
            output: count("output_token_count").or(osl),
            reasoning: count("reasoning_token_count"),
            first_content_chunk_tokens: None,
        },
        usage: Usage {
            prompt_tokens: count("usage_prompt_tokens"),
            completion_tokens: count("usage_completion_tokens"),
            reasoning_tokens: count("usage_reasoning_tokens"),
            total_tokens: count("usage_total_tokens"),
            ..Usage::default()
        },
        requested_osl: requested.map(|requested| requested.round() as u32),
        http: (!failed).then(|| HttpTiming {
            blocked: nanos("http_req_blocked"),
            dns_lookup: nanos("http_req_dns_lookup"),
            connecting: nanos("http_req_connecting"),
            tls_handshaking: Some(0),
            sending: nanos("http_req_sending"),
            waiting: nanos("http_req_waiting"),
            receiving: nanos("http_req_receiving"),
            duration: nanos("http_req_duration"),
            reused: count("http_req_connection_reused").map(|reused| reused == 1),
            data_sent: bytes("http_req_data_sent"),
            chunks_sent: count("http_req_chunks_sent"),
            data_received: bytes("http_req_data_received"),
            chunks_received: count("http_req_chunks_received"),
        }),
        error,
        ..Measured::default()
    }
}

/// What kind of run a records file is of, by the summary beside it or else by its lines.
pub(crate) fn traits_of(records: &RunFile) -> RunTraits {
    let document = beside(records, SUMMARY).map(|summary| summary.json).unwrap_or_default();
    let endpoint = &document["input_config"]["endpoint"];
    let is_stream = || records.text.contains("\"time_to_first_token\"");
    let kind = endpoint["type"].as_str().and_then(EndpointKind::parse).unwrap_or(EndpointKind::Chat);
    RunTraits::new(kind, endpoint["streaming"].as_bool().unwrap_or_else(is_stream))
}

/// A line, or a part of one, without the names of threads, which every run makes up.
pub(crate) fn without_thread_names(text: &str) -> String {
    let hidden = ["\"worker_id\":\"worker_", "\"record_processor_id\":\"record_processor_"].iter();
    hidden.fold(text.to_owned(), |text, key| {
        let at = text.find(key).unwrap() + key.len();
        assert!(text[at..at + 8].bytes().all(|digit| digit.is_ascii_hexdigit()), "{text}");
        format!("{}********{}", &text[..at], &text[at + 8..])
    })
}
