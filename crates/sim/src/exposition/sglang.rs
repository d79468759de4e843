//! The page of an SGLang server.

use super::family::{Distribution, Families, FamilyType, Value};
use super::write::Style;
use super::{PageKind, Snapshot, vllm};
use crate::metrics::{Bounds, FinishReason, KV_CACHE_TOKENS};

/// A millisecond times powers of 1.62.
const STAGE: &[f64] = &[
    0.001,
    0.00162,
    0.0026244,
    0.004251528,
    0.00688747536,
    0.0111577100832,
    0.0180754903348,
    0.0292822943424,
    0.0474373168346,
    0.0768484532721,
    0.124494494301,
    0.201681080767,
    0.326723350843,
    0.529291828365,
    0.857452761952,
    1.38907347436,
    2.25029902847,
    3.64548442612,
    5.90568477031,
    9.5672093279,
    15.4988791112,
    25.1081841601,
    40.6752583394,
    65.8939185099,
    106.748147986,
    172.931999737,
    280.149839574,
    453.842740111,
    735.225238979,
    1191.06488715,
];

const BOUNDS: Bounds = Bounds {
    first_token: &[0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 200.0, 400.0],
    between_tokens: &[
        0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8,
        1.0, 2.0, 4.0, 6.0, 8.0,
    ],
    whole_request: &[
        0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 200.0, 400.0, 600.0,
        1200.0, 1800.0, 2400.0,
    ],
    queue: &[
        0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0,
        200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0, 900.0, 1000.0, 1200.0, 1400.0, 1600.0, 1800.0, 2000.0, 2500.0,
        3000.0,
    ],
    prefill: STAGE,
    ..vllm::BOUNDS
};

const STYLE: Style =
    Style { content_type: "text/plain; version=0.0.4; charset=utf-8", sum_comes_before_count: true, ..vllm::STYLE };

pub(crate) const KIND: PageKind = PageKind { name: "sglang", path: "/metrics", bounds: BOUNDS, style: STYLE, families };

fn families(server: &Snapshot<'_>) -> Families {
    let metrics = server.metrics;
    let labels = vec![
        ("engine_type", "unified".into()),
        ("model_name", server.model.to_owned().into()),
        ("pp_rank", "0".into()),
        ("tp_rank", "0".into()),
    ];
    let mut page = Families::new(labels, None);
    for (name, help, value) in [
        ("sglang:num_running_reqs", "Requests in the running batch.", metrics.running as f64),
        ("sglang:num_used_tokens", "Tokens in the KV cache.", metrics.kv_tokens as f64),
        ("sglang:token_usage", "Share of the KV cache in use.", metrics.kv_usage()),
        ("sglang:gen_throughput", "Generated tokens since the page before (token/s).", server.generation_rate),
        ("sglang:num_queue_reqs", "Requests that wait for a place in the batch.", metrics.waiting as f64),
        ("sglang:cache_hit_rate", "Share of prompt tokens found in the prefix cache.", 0.0),
        ("sglang:num_retracted_reqs", "Requests taken out of the batch again.", 0.0),
        ("sglang:max_total_num_tokens", "Tokens that the KV cache holds.", KV_CACHE_TOKENS as f64),
    ] {
        page.gauge(name, help, value);
    }
    page.histogram("sglang:queue_time_seconds", "Time in the queue in seconds.", &metrics.queue_time);
    let prefill = Value::Distribution(Distribution::from(&metrics.prefill_time));
    page.labelled(
        FamilyType::Histogram,
        "sglang:per_stage_req_latency_seconds",
        "Time of each stage of a request in seconds.",
        [(vec![("stage", "prefill_forward".into())], prefill)],
    );
    // The scheduler of each rank counts the above, the front of the server what follows.
    page.relabel(vec![("model_name", server.model.to_owned().into())]);
    for (name, help, value) in [
        ("sglang:prompt_tokens", "Prompt tokens processed.", metrics.prompt_tokens),
        ("sglang:generation_tokens", "Tokens generated.", metrics.generation_tokens),
        ("sglang:cached_tokens", "Prompt tokens found in the prefix cache.", 0),
        ("sglang:num_requests", "Requests answered to the end.", metrics.succeeded()),
        ("sglang:num_aborted_requests", "Requests given up by their client.", metrics.finished(FinishReason::Abort)),
    ] {
        page.counter(name, help, value as f64);
    }
    for (name, help, histogram) in [
        ("sglang:time_to_first_token_seconds", "Time to the first token in seconds.", &metrics.time_to_first_token),
        ("sglang:inter_token_latency_seconds", "Time from token to token in seconds.", &metrics.inter_token_latency),
        ("sglang:e2e_request_latency_seconds", "Time of whole requests in seconds.", &metrics.e2e_request_latency),
    ] {
        page.histogram(name, help, histogram);
    }
    page
}
