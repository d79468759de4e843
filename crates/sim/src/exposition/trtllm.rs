//! The pages of a TRT-LLM server: iteration statistics in JSON at `/metrics`, the families beside it.

use serde_json::json;

use super::family::Families;
use super::family::FamilyType;
use super::write::Style;
use super::{PageKind, Snapshot, vllm};
use crate::metrics::{FinishReason, Histogram, KV_CACHE_TOKENS};

/// Its times are put into the buckets of vLLM.
pub(crate) const KIND: PageKind =
    PageKind { name: "trtllm", path: "/prometheus/metrics", bounds: vllm::BOUNDS, style: STYLE, families };

const STYLE: Style = Style { content_type: "text/plain; version=0.0.4; charset=utf-8", ..vllm::STYLE };

const TOKENS_PER_BLOCK: u64 = 32;
const TRANSFER_SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];
const TRANSFER_BYTES: &[f64] = &[1e6, 1e7, 1e8, 1e9, 1e10];
const TRANSFER_SPEED: &[f64] = &[1.0, 5.0, 10.0, 50.0, 100.0, 500.0];

fn families(server: &Snapshot<'_>) -> Families {
    let metrics = server.metrics;
    let labels = vec![("engine_type", "undefined".into()), ("model_name", server.model.to_owned().into())];
    let mut page = Families::new(labels, Some(server.started));
    page.by_label(
        FamilyType::Counter,
        "trtllm_request_success",
        "Requests answered to the end.",
        "finished_reason",
        [
            ("stop", metrics.finished(FinishReason::Stop) as f64),
            ("length", metrics.finished(FinishReason::Length) as f64),
        ],
    );
    for (name, help, histogram) in [
        ("trtllm_e2e_request_latency_seconds", "Time of whole requests in seconds.", &metrics.e2e_request_latency),
        ("trtllm_time_to_first_token_seconds", "Time to the first token in seconds.", &metrics.time_to_first_token),
        (
            "trtllm_time_per_output_token_seconds",
            "Mean time from token to token of each request in seconds.",
            &metrics.time_per_output_token,
        ),
        ("trtllm_request_queue_time_seconds", "Time in the queue in seconds.", &metrics.queue_time),
        (
            "trtllm_request_prefill_time_seconds",
            "Time from the queue to the first token in seconds.",
            &metrics.prefill_time,
        ),
        (
            "trtllm_request_decode_time_seconds",
            "Time from the first token to the last in seconds.",
            &metrics.decode_time,
        ),
        ("trtllm_request_inference_time_seconds", "Time in the running batch in seconds.", &metrics.inference_time),
    ] {
        page.histogram(name, help, histogram);
    }
    for (name, help, value) in [
        ("trtllm_prompt_tokens", "Prompt tokens processed.", metrics.prompt_tokens),
        ("trtllm_generation_tokens", "Tokens generated.", metrics.generation_tokens),
        ("trtllm_num_aborted_requests", "Requests given up by their client.", metrics.finished(FinishReason::Abort)),
    ] {
        page.counter(name, help, value as f64);
    }
    for (name, help, value) in [
        ("trtllm_num_requests_running", "Requests in the running batch.", metrics.running as f64),
        ("trtllm_num_requests_waiting", "Requests that wait for a place in the batch.", metrics.waiting as f64),
        ("trtllm_kv_cache_utilization", "Share of the KV cache in use.", metrics.kv_usage()),
        ("trtllm_kv_cache_hit_rate", "Share of KV cache blocks that were reused.", 0.0),
    ] {
        page.gauge(name, help, value);
    }
    for (name, help, bounds) in [
        ("trtllm_kv_transfer_latency_seconds", "Time of each transfer of KV cache in seconds.", TRANSFER_SECONDS),
        ("trtllm_kv_transfer_bytes", "Size of each transfer of KV cache in bytes.", TRANSFER_BYTES),
        ("trtllm_kv_transfer_speed_gb_s", "Speed of each transfer of KV cache (GB/s).", TRANSFER_SPEED),
    ] {
        page.histogram(name, help, &Histogram::new(bounds));
    }
    page
}

/// The latest iteration, in an array.
pub(crate) fn iteration_stats(server: &Snapshot<'_>) -> Vec<u8> {
    let metrics = server.metrics;
    let steps = metrics.time_to_first_token.count() + metrics.inter_token_latency.count();
    let (used, most) = (metrics.kv_tokens.div_ceil(TOKENS_PER_BLOCK), KV_CACHE_TOKENS / TOKENS_PER_BLOCK);
    let iteration = json!({
        "cpuMemUsage": 0,
        "gpuMemUsage": 0,
        "iter": steps,
        "iterLatencyMS": 0.0,
        "kvCacheStats": {
            "cacheHitRate": 0.0,
            "freeNumBlocks": most.saturating_sub(used),
            "maxNumBlocks": most,
            "tokensPerBlock": TOKENS_PER_BLOCK,
            "usedNumBlocks": used,
        },
        "numActiveRequests": metrics.running,
        "numCompletedRequests": metrics.succeeded(),
        "numQueuedRequests": metrics.waiting,
    });
    json!([iteration]).to_string().into_bytes()
}
