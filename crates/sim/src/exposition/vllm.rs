//! The page of a vLLM server, in its order.

use super::family::{Families, FamilyType, Value};
use super::write::Style;
use super::{PageKind, Snapshot};
use crate::metrics::{Bounds, FinishReason};

const TOKENS: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5];
pub(super) const FIRST_TOKEN: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
    160.0, 640.0, 2560.0,
];
pub(super) const BETWEEN_TOKENS: &[f64] =
    &[0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0];
pub(super) const WHOLE_REQUEST: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0,
    1920.0, 7680.0,
];

pub(super) const BOUNDS: Bounds = Bounds {
    prompt_tokens: TOKENS,
    generation_tokens: TOKENS,
    choices: &[1.0, 2.0, 5.0, 10.0, 20.0],
    first_token: FIRST_TOKEN,
    between_tokens: BETWEEN_TOKENS,
    whole_request: WHOLE_REQUEST,
    queue: WHOLE_REQUEST,
    inference: WHOLE_REQUEST,
    prefill: WHOLE_REQUEST,
    decode: WHOLE_REQUEST,
};

/// As prometheus_client of Python writes it.
pub(super) const STYLE: Style = Style {
    content_type: "text/plain; version=1.0.0; charset=utf-8",
    counters_end_in_total: true,
    whole_numbers_have_a_point: true,
    bounds_come_last: false,
    sum_comes_before_count: false,
};

pub(crate) const KIND: PageKind = PageKind { name: "vllm", path: "/metrics", bounds: BOUNDS, style: STYLE, families };

fn families(server: &Snapshot<'_>) -> Families {
    let mut page = Families::new(vec![], None);
    page.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", server.started);
    page.counter("process_cpu_seconds", "Total user and system CPU time spent in seconds.", server.cpu_seconds);
    let mut engine = Families::new(
        vec![("engine", "0".into()), ("model_name", server.model.to_owned().into())],
        Some(server.started),
    );
    add_state(&mut engine, server);
    add_counters(&mut engine, server);
    add_histograms(&mut engine, server);
    page.list.append(&mut engine.list);
    let responses = server.metrics.http.iter().map(|(planned, count)| {
        let labels = vec![
            ("handler", planned.handler.into()),
            ("method", planned.method.into()),
            ("status", format!("{}xx", planned.status_class).into()),
        ];
        (labels, Value::Number(*count as f64))
    });
    page.labelled(
        FamilyType::Counter,
        "http_requests",
        "Total number of requests by method, status and handler.",
        responses,
    );
    page
}

fn add_state(page: &mut Families, server: &Snapshot<'_>) {
    let (running, waiting) = (server.metrics.running as f64, server.metrics.waiting as f64);
    page.gauge("vllm:num_requests_running", "Number of requests in model execution batches.", running);
    page.gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.", waiting);
    page.by_label(
        FamilyType::Gauge,
        "vllm:num_requests_waiting_by_reason",
        "Number of waiting requests by reason. Sum of all reasons equals vllm:num_requests_waiting.",
        "reason",
        [("capacity", waiting), ("deferred", 0.0)],
    );
    page.by_label(
        FamilyType::Gauge,
        "vllm:engine_sleep_state",
        "Whether the engine is awake, or asleep with its weights offloaded or discarded.",
        "sleep_state",
        [("awake", 1.0), ("weights_offloaded", 0.0), ("discard_all", 0.0)],
    );
    page.gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", server.metrics.kv_usage());
}

fn add_counters(page: &mut Families, server: &Snapshot<'_>) {
    let metrics = server.metrics;
    let prompt_tokens = metrics.prompt_tokens as f64;
    page.counter(
        "vllm:prefix_cache_queries",
        "Prefix cache queries, in terms of number of queried tokens.",
        prompt_tokens,
    );
    for (name, help) in [
        ("vllm:prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens."),
        ("vllm:external_prefix_cache_queries", "Queries to a prefix cache shared by instances, in tokens."),
        ("vllm:external_prefix_cache_hits", "Hits in a prefix cache shared by instances, in tokens."),
        ("vllm:mm_cache_queries", "Items looked for in the cache of images, audio and video."),
        ("vllm:mm_cache_hits", "Items found in the cache of images, audio and video."),
        ("vllm:num_preemptions", "Cumulative number of preemption from the engine."),
    ] {
        page.counter(name, help, 0.0);
    }
    page.counter("vllm:prompt_tokens", "Number of prefill tokens processed.", prompt_tokens);
    page.by_label(
        FamilyType::Counter,
        "vllm:prompt_tokens_by_source",
        "Prompt tokens by where their state came from.",
        "source",
        [("local_compute", prompt_tokens), ("local_cache_hit", 0.0), ("external_kv_transfer", 0.0)],
    );
    page.counter("vllm:prompt_tokens_cached", "Prompt tokens found in any prefix cache.", 0.0);
    page.counter("vllm:generation_tokens", "Number of generation tokens processed.", metrics.generation_tokens as f64);
    page.by_label(
        FamilyType::Counter,
        "vllm:request_success",
        "Count of successfully processed requests.",
        "finished_reason",
        FinishReason::ALL.map(|(why, reason)| (reason, metrics.finished(why) as f64)),
    );
}

fn add_histograms(page: &mut Families, server: &Snapshot<'_>) {
    let metrics = server.metrics;
    for (name, help, histogram) in [
        ("vllm:request_prompt_tokens", "Number of prefill tokens processed.", &metrics.request_prompt_tokens),
        (
            "vllm:request_generation_tokens",
            "Number of generation tokens processed.",
            &metrics.request_generation_tokens,
        ),
        (
            "vllm:request_max_num_generation_tokens",
            "Histogram of maximum number of requested generation tokens.",
            &metrics.request_max_num_generation_tokens,
        ),
        ("vllm:request_params_n", "Histogram of the n request parameter.", &metrics.request_params_n),
        (
            "vllm:request_params_max_tokens",
            "Histogram of the max_tokens request parameter.",
            &metrics.request_params_max_tokens,
        ),
        (
            "vllm:time_to_first_token_seconds",
            "Histogram of time to first token in seconds.",
            &metrics.time_to_first_token,
        ),
        (
            "vllm:inter_token_latency_seconds",
            "Histogram of inter-token latency in seconds.",
            &metrics.inter_token_latency,
        ),
        (
            "vllm:request_time_per_output_token_seconds",
            "Histogram of time_per_output_token_seconds per request.",
            &metrics.time_per_output_token,
        ),
        (
            "vllm:e2e_request_latency_seconds",
            "Histogram of e2e request latency in seconds.",
            &metrics.e2e_request_latency,
        ),
        (
            "vllm:request_queue_time_seconds",
            "Histogram of time spent in WAITING phase for request.",
            &metrics.queue_time,
        ),
        (
            "vllm:request_inference_time_seconds",
            "Histogram of time spent in RUNNING phase for request.",
            &metrics.inference_time,
        ),
        (
            "vllm:request_prefill_time_seconds",
            "Histogram of time spent in PREFILL phase for request.",
            &metrics.prefill_time,
        ),
        (
            "vllm:request_decode_time_seconds",
            "Histogram of time spent in DECODE phase for request.",
            &metrics.decode_time,
        ),
        // Nothing is cached: every prompt token is computed.
        (
            "vllm:request_prefill_kv_computed_tokens",
            "Prompt tokens of each request that were computed and not found in a cache.",
            &metrics.request_prompt_tokens,
        ),
    ] {
        page.histogram(name, help, histogram);
    }
}
