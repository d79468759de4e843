//! The page of a Triton server: times in whole microseconds, and one histogram in milliseconds.

use super::family::{Distribution, Families, FamilyType};
use super::write::Style;
use super::{PageKind, Snapshot, vllm};
use crate::metrics::{Bounds, FinishReason, Histogram};

const BOUNDS: Bounds = Bounds { first_token: &[0.1, 0.5, 2.0, 5.0], ..vllm::BOUNDS };

/// As the Prometheus library of C++ writes it; no name ends in `_total`.
const STYLE: Style = Style {
    content_type: "text/plain; charset=utf-8",
    counters_end_in_total: false,
    whole_numbers_have_a_point: false,
    bounds_come_last: true,
    sum_comes_before_count: false,
};

pub(crate) const KIND: PageKind = PageKind { name: "triton", path: "/metrics", bounds: BOUNDS, style: STYLE, families };

fn families(server: &Snapshot<'_>) -> Families {
    let metrics = server.metrics;
    let labels = vec![("model", server.model.to_owned().into()), ("version", "1".into())];
    let mut page = Families::new(labels, None);
    // Every request is executed alone.
    let succeeded = metrics.succeeded() as f64;
    page.counter("nv_inference_request_success", "Requests answered to the end", succeeded);
    page.by_label(
        FamilyType::Counter,
        "nv_inference_request_failure",
        "Requests that failed, by reason",
        "reason",
        [
            ("OTHER", 0.0),
            ("BACKEND", metrics.finished(FinishReason::Error) as f64),
            ("CANCELED", metrics.finished(FinishReason::Abort) as f64),
            ("REJECTED", 0.0),
        ],
    );
    for (name, help, value) in [
        ("nv_inference_count", "Inferences made", succeeded),
        ("nv_inference_exec_count", "Executions of the model, one for a batch", succeeded),
        (
            "nv_inference_request_duration_us",
            "Time of all requests together, in microseconds",
            microseconds(&metrics.e2e_request_latency),
        ),
        (
            "nv_inference_queue_duration_us",
            "Time of all requests in the queue, in microseconds",
            microseconds(&metrics.queue_time),
        ),
        ("nv_inference_compute_input_duration_us", "Time of preparing inputs, in microseconds", 0.0),
        (
            "nv_inference_compute_infer_duration_us",
            "Time of executing the model, in microseconds",
            microseconds(&metrics.inference_time),
        ),
        ("nv_inference_compute_output_duration_us", "Time of collecting outputs, in microseconds", 0.0),
        ("nv_cache_num_hits_per_model", "Answers found in the response cache", 0.0),
        ("nv_cache_num_misses_per_model", "Answers not found in the response cache", 0.0),
    ] {
        page.counter(name, help, value);
    }
    page.gauge("nv_inference_pending_request_count", "Requests received and not yet executing", metrics.waiting as f64);
    page.histogram(
        "nv_inference_first_response_histogram_ms",
        "Time from a request to its first response in milliseconds",
        Distribution::scaled(&metrics.time_to_first_token, 1e3),
    );
    page.relabel(vec![("gpu_uuid", "GPU-00000000-0000-0000-0000-000000000000".into())]);
    for (name, help) in [
        ("nv_gpu_utilization", "Share of the GPU in use [0.0 - 1.0)"),
        ("nv_gpu_memory_total_bytes", "Memory of the GPU, in bytes"),
        ("nv_gpu_memory_used_bytes", "Memory of the GPU in use, in bytes"),
        ("nv_gpu_power_usage", "Power that the GPU draws, in watts"),
    ] {
        page.gauge(name, help, 0.0);
    }
    page
}

fn microseconds(seconds: &Histogram) -> f64 {
    (seconds.sum() * 1e6).round()
}
