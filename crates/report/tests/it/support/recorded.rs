//! Golden record lines, turned back into measurements.

use super::{command_of, number};
use aiperf_golden::GoldenFile;
use aiperf_golden::kinds::runs::SUMMARY;
use aiperf_metrics::{CONTEXT_OVERFLOW_PHRASES, RunTraits, reports_context_overflow};
use aiperf_types::SpecDecode;
use aiperf_types::{
    ContentMark, CorrelationId, EndpointKind, HttpTiming, Measured, MonoNs, PhaseId, PhaseKind, RecordMeta,
    RequestError, Slo, TokenCounts, Usage, WallNs,
};
use serde_json::Value;
use std::sync::Arc;

const START: u64 = 1_000_000_000;

/// The metadata of a line.
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

/// The measurements of a line.
pub(crate) fn measured_of(line: &Value) -> Measured {
    let float = |tag: &str| line["metrics"][tag]["value"].as_f64();
    let count = |tag: &str| line["metrics"][tag]["value"].as_u64();
    let nanos = |tag: &str| float(tag).map(|ms| (ms * 1e6).round() as u64);
    let bytes = |tag: &str| float(tag).map(|kilobytes| (kilobytes * 1024.0).round() as u64);
    let error: Option<RequestError> = serde_json::from_value(line["error"].clone()).ok();
    let is_overflow =
        |error: &RequestError| reports_context_overflow(&error.message, CONTEXT_OVERFLOW_PHRASES.iter().copied());
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
            // Without its own count, there were no output tokens.
            output: count("output_token_count").or(osl),
            reasoning: count("reasoning_token_count"),
            first_content_chunk_tokens: first_chunk_tokens(line),
        },
        usage: usage_of(line),
        requested_osl: requested.map(|requested| requested.round() as u32),
        images: count("num_images").unwrap_or(0) as u32,
        audio_seconds: float("audio_duration"),
        video_inference_seconds: float("video_inference_time").map(|ms| ms / 1e3),
        video_peak_memory_mb: float("video_peak_memory"),
        spec_decode: spec_decode_of(line).map(Box::new),
        context_overflow: error.as_ref().is_some_and(is_overflow),
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

fn usage_of(line: &Value) -> Usage {
    let count = |name: &str| line["metrics"][format!("usage_{name}")]["value"].as_u64();
    Usage {
        prompt_tokens: count("prompt_tokens"),
        prompt_cache_read_tokens: count("prompt_cache_read_tokens"),
        prompt_cache_write_tokens: count("prompt_cache_write_tokens"),
        prompt_cache_miss_tokens: count("prompt_cache_miss_tokens"),
        prompt_audio_tokens: count("prompt_audio_tokens"),
        tool_use_prompt_tokens: count("tool_use_prompt_tokens"),
        prompt_audio_seconds: line["metrics"]["usage_prompt_audio_seconds"]["value"].as_f64(),
        completion_tokens: count("completion_tokens"),
        reasoning_tokens: count("reasoning_tokens"),
        completion_audio_tokens: count("completion_audio_tokens"),
        accepted_prediction_tokens: count("accepted_prediction_tokens"),
        rejected_prediction_tokens: count("rejected_prediction_tokens"),
        total_tokens: count("total_tokens"),
    }
}

/// Tokens of the first chunk with content, derived from the others: `inter_token_latency` divides by them.
fn first_chunk_tokens(line: &Value) -> Option<u64> {
    let float = |tag: &str| line["metrics"][tag]["value"].as_f64();
    let others = (float("decode_duration")? / float("inter_token_latency")?).round();
    let first = float("output_sequence_length")? - others;
    (first > 1.0).then_some(first as u64)
}

fn spec_decode_of(line: &Value) -> Option<SpecDecode> {
    let metric = |name: &str| &line["metrics"][format!("spec_decode_{name}")]["value"];
    let is_there = |name: &&str| !metric(name).is_null();
    ["acceptance_length", "steps", "draft_tokens"].iter().any(is_there).then(|| SpecDecode {
        mean_acceptance_length: metric("acceptance_length").as_f64(),
        draft_acceptance_rate: metric("draft_acceptance_rate").as_f64().map(|percent| percent / 100.0),
        num_accepted_draft_tokens: metric("accepted_draft_tokens").as_u64(),
        num_draft_tokens: metric("draft_tokens").as_u64(),
        num_spec_steps: metric("steps").as_u64(),
        ..SpecDecode::default()
    })
}

/// What kind of run a records file is of: by the summary beside it, else by the command of the run and by its lines.
pub(crate) fn traits_of(records: &GoldenFile) -> RunTraits {
    let Some(summary) = SUMMARY.beside(records) else { return traits_of_command(records) };
    let config = &summary.json["input_config"];
    let endpoint = &config["endpoint"];
    let kind = endpoint["type"].as_str().and_then(EndpointKind::parse).unwrap_or(EndpointKind::Chat);
    let phases = config["phases"].as_array().into_iter().flatten();
    let is_set = |key: &str| endpoint[key].as_bool().unwrap_or(false);
    let slo = |(tag, threshold): (&String, &Value)| Slo { tag: tag.clone(), threshold: number(threshold).unwrap() };
    RunTraits {
        server_token_count: is_set("use_server_token_count"),
        slos: config["slos"].as_object().into_iter().flatten().map(slo).collect(),
        fixed_schedule: phases.clone().any(|phase| phase["kind"] != "warmup" && phase["type"] == "fixed_schedule"),
        accuracy: config["accuracy"].as_object().is_some_and(|accuracy| !accuracy.is_empty()),
        ..RunTraits::new(kind, is_set("streaming"))
    }
}

fn traits_of_command(records: &GoldenFile) -> RunTraits {
    let command = command_of(records).unwrap_or_default();
    let values = |flag: &str| -> Option<Vec<String>> {
        let at = command.iter().position(|word| word == flag)?;
        Some(command[at + 1..].iter().take_while(|word| !word.starts_with("--")).cloned().collect())
    };
    let kind = values("--endpoint-type").and_then(|kind| EndpointKind::parse(kind.first()?));
    let is_stream =
        command.iter().any(|word| word == "--streaming") || records.text.contains("\"time_to_first_token\"");
    let goodput = values("--goodput").map(|objectives| objectives.join(" ")).unwrap_or_default();
    RunTraits {
        server_token_count: values("--use-server-token-count").is_some(),
        slos: Slo::parse_all(&goodput).unwrap_or_default(),
        ..RunTraits::new(kind.unwrap_or(EndpointKind::Chat), is_stream)
    }
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
