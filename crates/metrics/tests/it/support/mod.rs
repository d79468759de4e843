//! Golden data: its location, and how the neutral record of a case becomes the input of the crate.

#![allow(dead_code, reason = "each test target uses a part of it")]

use aiperf_golden::GoldenKind;
use aiperf_metrics::{RunTraits, Slo, invalid_result};
use aiperf_types::SpecDecode;
use aiperf_types::{ContentMark, EndpointKind, HttpTiming, Measured, MonoNs, RequestError, TokenCounts, Usage, WallNs};
use serde_json::Value;

/// Runs every case of a kind.
#[track_caller]
pub(crate) fn each_case(kind: &GoldenKind, check: impl Fn(&Value)) {
    kind.run(|_| None, check);
}

/// Tags that a correct implementation omits, by the case.
pub(crate) fn omitted(case: &Value) -> Vec<&str> {
    case["overrides"]["omit"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A number, or one of the strings for values that JSON does not have.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        Some("nan") => Some(f64::NAN),
        _ => value.as_f64(),
    }
}

pub(crate) fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0)
}

pub(crate) fn traits(config: &Value) -> RunTraits {
    let endpoint = EndpointKind::parse(config["endpoint_type"].as_str().unwrap_or("chat")).expect("an endpoint type");
    let flag = |name: &str| config[name].as_bool().unwrap_or(false);
    let mut traits = RunTraits::new(endpoint, flag("streaming"));
    traits.server_token_count = flag("use_server_token_count");
    traits.fixed_schedule = flag("fixed_schedule");
    traits.accuracy = flag("accuracy");
    traits.slos = config["slos"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(tag, threshold)| Slo { tag: tag.clone(), threshold: number(threshold).expect("a threshold") })
        .collect();
    traits
}

/// The input of the crate for a neutral record. Dialects decide what counts as content: here every data object of the
/// case is a content response.
pub(crate) fn measured(record: &Value) -> Measured {
    let nanos = |name: &str| record[name].as_u64();
    let responses: &[Value] = record["responses"].as_array().map_or(&[], Vec::as_slice);
    let start = MonoNs(nanos("start_perf_ns").unwrap_or(0));
    let last_response = responses.last().and_then(|response| response["perf_ns"].as_u64());
    let ended = nanos("end_perf_ns").or(last_response).unwrap_or(start.0);
    let content: Vec<ContentMark> = responses.iter().filter_map(content_mark).collect();
    let error = match record["error"].as_object() {
        Some(error) => Some(RequestError {
            code: error["code"].as_i64(),
            kind: error["type"].as_str().map(str::to_owned),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            cause: None,
            cause_chain: None,
        }),
        None => invalid_result(start, MonoNs(ended), responses.len() as u32, &content),
    };
    let failed = error.is_some();
    let first_of = |name: &str| responses.iter().find_map(|response| response[name].as_f64());
    Measured {
        number: 0,
        first_uncertainty: Default::default(),
        last_uncertainty: Default::default(),
        receive_lag: None,
        start_wall: WallNs(nanos("timestamp_ns").unwrap_or(0)),
        start,
        end: MonoNs(last_response.filter(|at| *at > 0).unwrap_or(ended)),
        head: nanos("recv_start_perf_ns").map(MonoNs),
        credit_issued: nanos("credit_issued_ns").map(WallNs),
        credit_drop: nanos("credit_drop_latency_ns"),
        schedule_delay: None,
        content: if failed { Vec::new() } else { content },
        tokens: token_counts(&record["token_counts"], failed),
        usage: usage(responses),
        requested_osl: record["requested_osl"].as_u64().map(|tokens| tokens as u32),
        images: record["num_images"].as_u64().unwrap_or(0) as u32,
        audio_seconds: record["audio_duration_s"].as_f64(),
        video_inference_seconds: first_of("inference_time_s"),
        video_peak_memory_mb: first_of("peak_memory_mb"),
        scheduled_send_ms: record["scheduled_send_ms"].as_f64(),
        http: record["trace"].as_object().map(|_| http(&record["trace"])),
        http_trace: None,
        spec_decode: record["spec_decode"]
            .as_object()
            .filter(|_| !failed)
            .map(|_| Box::new(spec(&record["spec_decode"]))),
        context_overflow: record["context_overflow"].as_bool().unwrap_or(false),
        error,
    }
}

fn content_mark(response: &Value) -> Option<ContentMark> {
    let filled = |name: &str| response[name].as_str().is_some_and(|text| !text.is_empty());
    let (output, reasoning) = match response["kind"].as_str()? {
        "usage" => return None,
        "reasoning" => (filled("content"), true),
        "text" | "tool_call" => (filled("text"), false),
        _ => (true, false),
    };
    Some(ContentMark { at: MonoNs(response["perf_ns"].as_u64()?), output, reasoning })
}

fn token_counts(counts: &Value, failed: bool) -> TokenCounts {
    let count = |name: &str| counts[name].as_u64().filter(|_| !failed || name == "input");
    TokenCounts {
        input: count("input"),
        output: count("output"),
        reasoning: count("reasoning"),
        first_content_chunk_tokens: count("first_content_chunk_tokens"),
    }
}

/// Usage under the names of golden records. Dialects decide how several usage objects become one: golden values are
/// those of the last one.
fn usage(responses: &[Value]) -> Usage {
    let given = responses.iter().rev().map(|response| &response["usage"]);
    let Some(given) = given.clone().find(|given| given.as_object().is_some_and(|given| !given.is_empty())) else {
        return Usage::default();
    };
    let top = |names: &[&str]| names.iter().find_map(|name| given[*name].as_u64());
    let inner = |side: [&str; 2], name: &str| side.iter().find_map(|details| given[*details][name].as_u64());
    let prompt = ["prompt_tokens_details", "input_tokens_details"];
    let completion = ["completion_tokens_details", "output_tokens_details"];
    // If the prompt has this name, it does not include cached tokens.
    let cached = ["cache_read_input_tokens", "cache_creation_input_tokens"].map(|name| top(&[name]).unwrap_or(0));
    let uncached = top(&["input_tokens"]).map(|tokens| tokens + cached.iter().sum::<u64>());
    Usage {
        prompt_tokens: top(&["prompt_tokens"]).or(uncached),
        completion_tokens: top(&["completion_tokens", "output_tokens"]),
        total_tokens: top(&["total_tokens"]),
        prompt_cache_read_tokens: inner(prompt, "cached_tokens").or(top(&["cache_read_input_tokens"])),
        prompt_cache_write_tokens: top(&["cache_creation_input_tokens"]),
        prompt_cache_miss_tokens: top(&["prompt_cache_miss_tokens"]),
        prompt_audio_tokens: inner(prompt, "audio_tokens"),
        tool_use_prompt_tokens: top(&["toolUsePromptTokenCount"]),
        reasoning_tokens: inner(completion, "reasoning_tokens"),
        completion_audio_tokens: inner(completion, "audio_tokens"),
        accepted_prediction_tokens: inner(completion, "accepted_prediction_tokens"),
        rejected_prediction_tokens: inner(completion, "rejected_prediction_tokens"),
        prompt_audio_seconds: given["prompt_audio_seconds"].as_f64(),
    }
}

fn http(trace: &Value) -> HttpTiming {
    let at = |name: &str| trace[name].as_u64();
    let between = |from: &str, to: &str| at(to)?.checked_sub(at(from)?);
    // A phase that never began took no time; one that began and did not end is unknown.
    let optional = |from: &str, to: &str| if at(from).is_none() { Some(0) } else { between(from, to) };
    let reused = at("connection_reused_perf_ns").is_some();
    let no_lookup = reused || at("dns_cache_hit_perf_ns").is_some();
    let chunks = at("response_chunks_count").unwrap_or(0);
    HttpTiming {
        blocked: optional("connection_pool_wait_start_perf_ns", "connection_pool_wait_end_perf_ns"),
        dns_lookup: if no_lookup { Some(0) } else { optional("dns_lookup_start_perf_ns", "dns_lookup_end_perf_ns") },
        connecting: if reused { Some(0) } else { between("tcp_connect_start_perf_ns", "tcp_connect_end_perf_ns") },
        tls_handshaking: None,
        sending: between("request_send_start_perf_ns", "request_send_end_perf_ns"),
        waiting: between("request_send_end_perf_ns", "response_receive_start_perf_ns"),
        receiving: match chunks {
            0 => None,
            1 => Some(0),
            _ => between("response_receive_start_perf_ns", "response_receive_end_perf_ns"),
        },
        duration: between("request_send_start_perf_ns", "response_receive_end_perf_ns"),
        reused: Some(reused),
        data_sent: at("request_bytes_total"),
        chunks_sent: at("request_chunks_count"),
        data_received: at("response_bytes_total"),
        chunks_received: at("response_chunks_count"),
    }
}

fn spec(given: &Value) -> SpecDecode {
    SpecDecode {
        mean_acceptance_length: given["mean_acceptance_length"].as_f64(),
        draft_acceptance_rate: given["draft_acceptance_rate"].as_f64(),
        acceptance_histogram: given["acceptance_histogram"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(accepted, steps)| (accepted.parse().expect("a number"), steps.as_u64().expect("a count")))
            .collect(),
        num_accepted_draft_tokens: given["num_accepted_draft_tokens"].as_u64(),
        num_draft_tokens: given["num_draft_tokens"].as_u64(),
        num_spec_steps: given["num_spec_steps"].as_u64(),
        ..SpecDecode::default()
    }
}
