//! The page of a Dynamo deployment in one process: its frontend and the one worker behind it.

use super::family::{Families, FamilyType, Value};
use super::write::Style;
use super::{PageKind, Snapshot, vllm};
use crate::metrics::{Bounds, FinishReason, Histogram};

/// Evenly spread logarithms with two digits, after a bucket for nothing.
const BOUNDS: Bounds = Bounds {
    prompt_tokens: &[0.0, 100.0, 210.0, 430.0, 870.0, 1800.0, 3600.0, 7400.0, 15e3, 31e3, 63e3, 130e3],
    generation_tokens: &[0.0, 100.0, 210.0, 430.0, 880.0, 1800.0, 3700.0, 7600.0, 16e3, 32e3],
    first_token: &[
        0.0, 0.0022, 0.0047, 0.01, 0.022, 0.047, 0.1, 0.22, 0.47, 1.0, 2.2, 4.7, 10.0, 22.0, 48.0, 100.0, 220.0, 480.0,
    ],
    between_tokens: &[0.0, 0.0019, 0.0035, 0.0067, 0.013, 0.024, 0.045, 0.084, 0.16, 0.3, 0.56, 1.1, 2.0],
    whole_request: &[0.0, 1.9, 3.4, 6.3, 12.0, 22.0, 40.0, 75.0, 140.0, 260.0],
    // Workers keep to the bounds their library has by default.
    inference: &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0],
    ..vllm::BOUNDS
};

const EVENT_LOOP_DELAY: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// As the Prometheus library of Rust writes it.
const STYLE: Style = Style {
    content_type: "text/plain; version=0.0.4",
    counters_end_in_total: true,
    whole_numbers_have_a_point: false,
    bounds_come_last: true,
    sum_comes_before_count: true,
};

pub(crate) const KIND: PageKind = PageKind { name: "dynamo", path: "/metrics", bounds: BOUNDS, style: STYLE, families };

fn families(server: &Snapshot<'_>) -> Families {
    let mut page = Families::new(vec![("model", server.model.to_owned().into())], None);
    add_frontend(&mut page, server);
    page.relabel(vec![
        ("dynamo_component", "backend".into()),
        ("dynamo_endpoint", "generate".into()),
        ("dynamo_namespace", "dynamo".into()),
        ("model", server.model.to_owned().into()),
    ]);
    add_component(&mut page, server);
    page.relabel(vec![]);
    page.gauge("dynamo_tokio_global_queue_depth", "Tasks in the global queue of the runtime", 0.0);
    page.histogram(
        "dynamo_frontend_event_loop_delay_seconds",
        "Delay of the event loop in seconds",
        &Histogram::new(EVENT_LOOP_DELAY),
    );
    page
}

fn add_frontend(page: &mut Families, server: &Snapshot<'_>) {
    let metrics = server.metrics;
    let answered = metrics.answered.iter().map(|(labels, count)| {
        let labels = vec![
            ("endpoint", labels.endpoint.into()),
            ("request_type", if labels.streamed { "stream" } else { "unary" }.into()),
            ("status", if labels.succeeded { "success" } else { "error" }.into()),
        ];
        (labels, Value::Number(*count as f64))
    });
    page.labelled(
        FamilyType::Counter,
        "dynamo_frontend_requests",
        "Requests answered, by endpoint, kind and outcome",
        answered,
    );
    let active = (metrics.running + metrics.waiting) as f64;
    for (name, help, value) in [
        ("dynamo_frontend_active_requests", "Requests that HTTP handlers have in hand", active),
        ("dynamo_frontend_inflight_requests", "Requests that were passed to the engine and are not over", active),
        (
            "dynamo_frontend_queued_requests",
            "Requests that wait for their first token",
            (metrics.prefilling + metrics.waiting) as f64,
        ),
    ] {
        page.gauge(name, help, value);
    }
    page.counter("dynamo_frontend_output_tokens", "Tokens generated", metrics.generation_tokens as f64);
    for (name, help, histogram) in [
        ("dynamo_frontend_request_duration_seconds", "Time of whole requests in seconds", &metrics.e2e_request_latency),
        (
            "dynamo_frontend_time_to_first_token_seconds",
            "Time to the first token in seconds",
            &metrics.time_to_first_token,
        ),
        (
            "dynamo_frontend_inter_token_latency_seconds",
            "Time from token to token in seconds",
            &metrics.inter_token_latency,
        ),
        ("dynamo_frontend_input_sequence_tokens", "Prompt length in tokens", &metrics.request_prompt_tokens),
        ("dynamo_frontend_output_sequence_tokens", "Answer length in tokens", &metrics.request_generation_tokens),
    ] {
        page.histogram(name, help, histogram);
    }
}

fn add_component(page: &mut Families, server: &Snapshot<'_>) {
    let metrics = server.metrics;
    let over: u64 = metrics.finished.iter().sum();
    page.counter("dynamo_component_requests", "Requests that the worker is done with", over as f64);
    page.histogram(
        "dynamo_component_request_duration_seconds",
        "Time of requests in the worker in seconds",
        &metrics.inference_time,
    );
    page.gauge("dynamo_component_inflight_requests", "Requests that the worker has in hand", metrics.running as f64);
    page.by_label(
        FamilyType::Counter,
        "dynamo_component_errors",
        "Requests that failed in the worker",
        "error_type",
        [("generate", metrics.finished(FinishReason::Error) as f64)],
    );
    page.gauge(
        "dynamo_component_gpu_cache_usage_percent",
        "Share of the KV cache in use (0.0-1.0)",
        metrics.kv_usage(),
    );
    page.gauge("dynamo_component_uptime_seconds", "Time since the worker was started in seconds", server.uptime);
    for (name, help) in [
        ("dynamo_component_embedding_cache_hits", "Hits in the cache of multimodal embeddings"),
        ("dynamo_component_embedding_cache_misses", "Misses in the cache of multimodal embeddings"),
        ("dynamo_component_kv_publisher_zmq_events", "KV events that the publisher passed on"),
    ] {
        page.counter(name, help, 0.0);
    }
}
