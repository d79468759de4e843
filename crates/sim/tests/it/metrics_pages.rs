//! Metrics pages of every kind: their families, and values that are what was served.

use std::collections::BTreeMap;

use aiperf_sim::{MetricsFormat, MetricsKind, SimConfig};

use crate::client::{CHAT, Client, Response, chat, header, quick, request, serve};

type ByType = &'static [(&'static str, &'static [&'static str])];

/// Names, labels that a sample must have, and the value of all such samples together.
type Expected = &'static [(&'static str, &'static [&'static str], f64)];

/// The metrics documented for each server, by type.
const DOCUMENTED: [(MetricsKind, &str, ByType); 5] = [
    (
        MetricsKind::Vllm,
        "/metrics",
        &[
            (
                "gauge",
                &[
                    "vllm:num_requests_running",
                    "vllm:num_requests_waiting",
                    "vllm:num_requests_waiting_by_reason",
                    "vllm:engine_sleep_state",
                    "vllm:kv_cache_usage_perc",
                ],
            ),
            (
                "counter",
                &[
                    "vllm:num_preemptions_total",
                    "vllm:prefix_cache_hits_total",
                    "vllm:prefix_cache_queries_total",
                    "vllm:external_prefix_cache_hits_total",
                    "vllm:external_prefix_cache_queries_total",
                    "vllm:mm_cache_hits_total",
                    "vllm:mm_cache_queries_total",
                    "vllm:request_success_total",
                    "vllm:prompt_tokens_total",
                    "vllm:prompt_tokens_by_source_total",
                    "vllm:prompt_tokens_cached_total",
                    "vllm:generation_tokens_total",
                ],
            ),
            (
                "histogram",
                &[
                    "vllm:time_to_first_token_seconds",
                    "vllm:e2e_request_latency_seconds",
                    "vllm:inter_token_latency_seconds",
                    "vllm:request_queue_time_seconds",
                    "vllm:request_prefill_time_seconds",
                    "vllm:request_decode_time_seconds",
                    "vllm:request_prefill_kv_computed_tokens",
                ],
            ),
        ],
    ),
    (
        MetricsKind::Sglang,
        "/metrics",
        &[
            (
                "gauge",
                &[
                    "sglang:num_running_reqs",
                    "sglang:num_queue_reqs",
                    "sglang:token_usage",
                    "sglang:cache_hit_rate",
                    "sglang:gen_throughput",
                ],
            ),
            ("counter", &["sglang:prompt_tokens_total", "sglang:generation_tokens_total"]),
            (
                "histogram",
                &[
                    "sglang:time_to_first_token_seconds",
                    "sglang:inter_token_latency_seconds",
                    "sglang:e2e_request_latency_seconds",
                    "sglang:queue_time_seconds",
                    "sglang:per_stage_req_latency_seconds",
                ],
            ),
        ],
    ),
    (
        MetricsKind::Trtllm,
        "/prometheus/metrics",
        &[
            (
                "gauge",
                &[
                    "trtllm_num_requests_running",
                    "trtllm_num_requests_waiting",
                    "trtllm_kv_cache_utilization",
                    "trtllm_kv_cache_hit_rate",
                ],
            ),
            (
                "counter",
                &[
                    "trtllm_request_success_total",
                    "trtllm_prompt_tokens_total",
                    "trtllm_generation_tokens_total",
                    "trtllm_num_aborted_requests_total",
                ],
            ),
            (
                "histogram",
                &[
                    "trtllm_time_to_first_token_seconds",
                    "trtllm_e2e_request_latency_seconds",
                    "trtllm_time_per_output_token_seconds",
                    "trtllm_request_queue_time_seconds",
                    "trtllm_request_prefill_time_seconds",
                    "trtllm_request_decode_time_seconds",
                    "trtllm_request_inference_time_seconds",
                    "trtllm_kv_transfer_latency_seconds",
                    "trtllm_kv_transfer_bytes",
                    "trtllm_kv_transfer_speed_gb_s",
                ],
            ),
        ],
    ),
    (
        MetricsKind::Dynamo,
        "/metrics",
        &[
            (
                "gauge",
                &[
                    "dynamo_frontend_active_requests",
                    "dynamo_frontend_inflight_requests",
                    "dynamo_frontend_queued_requests",
                    "dynamo_component_inflight_requests",
                    "dynamo_component_gpu_cache_usage_percent",
                    "dynamo_tokio_global_queue_depth",
                ],
            ),
            (
                "counter",
                &[
                    "dynamo_frontend_requests_total",
                    "dynamo_frontend_output_tokens_total",
                    "dynamo_component_requests_total",
                    "dynamo_component_errors_total",
                    "dynamo_component_embedding_cache_hits_total",
                    "dynamo_component_embedding_cache_misses_total",
                    "dynamo_component_kv_publisher_zmq_events_total",
                ],
            ),
            (
                "histogram",
                &[
                    "dynamo_frontend_request_duration_seconds",
                    "dynamo_frontend_time_to_first_token_seconds",
                    "dynamo_frontend_inter_token_latency_seconds",
                    "dynamo_frontend_input_sequence_tokens",
                    "dynamo_frontend_output_sequence_tokens",
                    "dynamo_component_request_duration_seconds",
                    "dynamo_frontend_event_loop_delay_seconds",
                ],
            ),
        ],
    ),
    (
        MetricsKind::Triton,
        "/metrics",
        &[
            ("gauge", &["nv_inference_pending_request_count", "nv_gpu_utilization", "nv_gpu_memory_used_bytes"]),
            (
                "counter",
                &[
                    "nv_inference_request_success",
                    "nv_inference_request_failure",
                    "nv_inference_count",
                    "nv_inference_exec_count",
                    "nv_inference_request_duration_us",
                    "nv_inference_queue_duration_us",
                    "nv_cache_num_hits_per_model",
                    "nv_cache_num_misses_per_model",
                ],
            ),
            ("histogram", &["nv_inference_first_response_histogram_ms"]),
        ],
    ),
];

pub(crate) fn path_of(kind: MetricsKind) -> &'static str {
    DOCUMENTED.iter().find(|(found, ..)| *found == kind).unwrap().1
}

/// Types of families, by name.
pub(crate) fn types(page: &str) -> BTreeMap<&str, &str> {
    page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect()
}

/// Values by name and labels, as they are on the page.
pub(crate) fn values(page: &str) -> BTreeMap<&str, f64> {
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    let without_exemplar = samples.map(|line| line.split_once(" # ").map_or(line, |(sample, _)| sample));
    without_exemplar
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name, value.parse().unwrap()))
        .collect()
}

/// The sum of a family's samples that have all of these labels.
pub(crate) fn total(page: &str, name: &str, labels: &[&str]) -> f64 {
    let of_family = |sample: &str| sample.split('{').next() == Some(name);
    let found: Vec<f64> = values(page)
        .iter()
        .filter(|(sample, _)| of_family(sample) && labels.iter().all(|label| sample.contains(label)))
        .map(|(_, value)| *value)
        .collect();
    assert!(!found.is_empty(), "{name} {labels:?} in {page}");
    found.iter().sum()
}

fn ask(client: &mut Client, tokens: u32) -> Response {
    client.post(CHAT, &chat(&format!(r#""stream":true,"max_tokens":{tokens}"#)))
}

#[test]
fn every_kind_shows_the_families_documented_for_its_server() {
    for (metrics, path, documented) in DOCUMENTED {
        let server = serve(SimConfig { metrics, ..quick() });
        let page = Client::connect(server.addr).get(path);
        assert_eq!(page.status, 200);
        assert!(header(&page.head, "content-type").unwrap().starts_with("text/plain"), "{metrics:?}");
        let shown = types(page.text());
        for (kind, names) in documented {
            for name in *names {
                assert_eq!(shown.get(name), Some(kind), "{name} of {metrics:?}");
            }
        }
    }
}

#[test]
fn values_are_what_was_served() {
    // Of three chat requests: prompts of three tokens, responses of 1, 4 and 7.
    let rows: &[(MetricsKind, Expected)] = &[
        (
            MetricsKind::Vllm,
            &[
                ("vllm:prompt_tokens_total", &[], 9.0),
                ("vllm:prompt_tokens_by_source_total", &["source=\"local_compute\""], 9.0),
                ("vllm:generation_tokens_total", &[], 12.0),
                ("vllm:request_success_total", &["finished_reason=\"length\""], 3.0),
                ("vllm:request_prefill_kv_computed_tokens_sum", &[], 9.0),
                ("vllm:engine_sleep_state", &["sleep_state=\"awake\""], 1.0),
            ],
        ),
        (
            MetricsKind::Sglang,
            &[
                ("sglang:prompt_tokens_total", &["model_name=\"sim\""], 9.0),
                ("sglang:generation_tokens_total", &[], 12.0),
                ("sglang:num_requests_total", &[], 3.0),
                ("sglang:time_to_first_token_seconds_count", &[], 3.0),
                ("sglang:inter_token_latency_seconds_count", &[], 9.0),
                ("sglang:per_stage_req_latency_seconds_count", &["stage=\"prefill_forward\"", "tp_rank=\"0\""], 3.0),
                ("sglang:num_running_reqs", &["tp_rank=\"0\""], 0.0),
            ],
        ),
        (
            MetricsKind::Trtllm,
            &[
                ("trtllm_prompt_tokens_total", &["engine_type=\"undefined\""], 9.0),
                ("trtllm_generation_tokens_total", &[], 12.0),
                ("trtllm_request_success_total", &["finished_reason=\"length\""], 3.0),
                ("trtllm_e2e_request_latency_seconds_bucket", &["le=\"+Inf\""], 3.0),
                ("trtllm_kv_transfer_bytes_count", &[], 0.0),
            ],
        ),
        (
            MetricsKind::Dynamo,
            &[
                (
                    "dynamo_frontend_requests_total",
                    &["endpoint=\"chat_completions\"", "request_type=\"stream\"", "status=\"success\""],
                    3.0,
                ),
                ("dynamo_frontend_output_tokens_total", &[], 12.0),
                ("dynamo_frontend_input_sequence_tokens_sum", &[], 9.0),
                ("dynamo_frontend_output_sequence_tokens_sum", &[], 12.0),
                ("dynamo_component_requests_total", &["dynamo_component=\"backend\""], 3.0),
                ("dynamo_component_inflight_requests", &[], 0.0),
                ("dynamo_frontend_queued_requests", &[], 0.0),
            ],
        ),
        (
            MetricsKind::Triton,
            &[
                ("nv_inference_request_success", &["model=\"sim\"", "version=\"1\""], 3.0),
                ("nv_inference_count", &[], 3.0),
                ("nv_inference_request_failure", &["reason=\"CANCELED\""], 0.0),
                ("nv_inference_first_response_histogram_ms_count", &[], 3.0),
            ],
        ),
    ];
    for (metrics, expected) in rows {
        let server = serve(SimConfig { metrics: *metrics, ..quick() });
        let mut client = Client::connect(server.addr);
        for tokens in [1, 4, 7] {
            ask(&mut client, tokens);
        }
        let page = client.get(path_of(*metrics));
        for (name, labels, value) in *expected {
            assert_eq!(total(page.text(), name, labels), *value, "{name} {labels:?}");
        }
    }
}

#[test]
fn gauges_show_what_is_going_on() {
    let rows = [
        (MetricsKind::Vllm, "vllm:num_requests_running", "vllm:num_requests_waiting"),
        (MetricsKind::Sglang, "sglang:num_running_reqs", "sglang:num_queue_reqs"),
        (MetricsKind::Trtllm, "trtllm_num_requests_running", "trtllm_num_requests_waiting"),
        (MetricsKind::Dynamo, "dynamo_component_inflight_requests", "dynamo_frontend_queued_requests"),
        (MetricsKind::Triton, "nv_gpu_utilization", "nv_inference_pending_request_count"),
    ];
    for (metrics, running, waiting) in rows {
        let max_running = 2.try_into().ok();
        let server = serve(SimConfig { metrics, max_running, ttft: "60s".parse().unwrap(), ..quick() });
        let mut clients: Vec<_> = (0..5).map(|_| Client::connect(server.addr)).collect();
        for client in &mut clients {
            // The last byte of the head shows that the request is in.
            client.send(&request(CHAT, &chat(r#""stream":true"#), "g"));
            client.read_head();
        }
        let page = Client::connect(server.addr).get(path_of(metrics));
        let expected = match metrics {
            // A GPU is not there, and all that wait for a token are queued.
            MetricsKind::Triton => (0.0, 3.0),
            MetricsKind::Dynamo => (2.0, 5.0),
            _ => (2.0, 3.0),
        };
        let shown = (total(page.text(), running, &[]), total(page.text(), waiting, &[]));
        assert_eq!(shown, expected, "{metrics:?}");
    }
}

#[test]
fn triton_counts_microseconds_and_puts_milliseconds_into_buckets() {
    let ttft = "150".parse().unwrap();
    let server = serve(SimConfig { metrics: MetricsKind::Triton, ttft, ..quick() });
    let mut client = Client::connect(server.addr);
    ask(&mut client, 1);
    let page = client.get("/metrics");
    let took = total(page.text(), "nv_inference_request_duration_us", &[]);
    assert!((150_000.0..).contains(&took) && took.fract() == 0.0, "{took}");
    let name = "nv_inference_first_response_histogram_ms";
    assert_eq!(total(page.text(), &format!("{name}_bucket"), &["le=\"100\""]), 0.0);
    assert_eq!(total(page.text(), &format!("{name}_bucket"), &["le=\"5000\""]), 1.0);
    assert!(total(page.text(), &format!("{name}_sum"), &[]) >= 150.0);
}

#[test]
fn trtllm_answers_json_where_others_have_their_page() {
    let server = serve(SimConfig { metrics: MetricsKind::Trtllm, ..quick() });
    let mut client = Client::connect(server.addr);
    ask(&mut client, 2);
    let stats = client.get("/metrics");
    assert_eq!(header(&stats.head, "content-type"), Some("application/json"));
    assert_eq!(stats.json()[0]["numCompletedRequests"], 1);
    assert_eq!(client.get("/prometheus/metrics").status, 200);
    let others = serve(quick());
    assert_eq!(Client::connect(others.addr).get("/prometheus/metrics").status, 404);
}

#[test]
fn a_server_may_have_no_metrics() {
    let server = serve(SimConfig { metrics: MetricsKind::None, ..quick() });
    assert_eq!(Client::connect(server.addr).get("/metrics").status, 404);
}

#[test]
fn openmetrics_has_its_content_type_created_lines_exemplars_and_end() {
    for (metrics, path, _) in DOCUMENTED {
        let server = serve(SimConfig { metrics, metrics_format: MetricsFormat::Openmetrics, ..quick() });
        let mut client = Client::connect(server.addr);
        ask(&mut client, 3);
        let page = client.get(path);
        let content_type = header(&page.head, "content-type").unwrap();
        assert!(content_type.starts_with("application/openmetrics-text; version=1.0.0"), "{content_type}");
        let text = page.text();
        assert!(text.ends_with("\n# EOF\n") && text.matches("# EOF").count() == 1, "{metrics:?}");
        assert!(
            text.lines().any(|line| line.contains("_bucket{") && line.contains("} 1.0 # {trace_id=")),
            "{metrics:?}"
        );
        for (name, kind) in types(text) {
            assert!(!(kind == "counter" && name.ends_with("_total")), "{name}");
            if kind == "counter" {
                assert!(values(text).keys().any(|sample| sample.starts_with(&format!("{name}_total"))), "{name}");
            }
        }
        if metrics == MetricsKind::Vllm {
            assert!(total(text, "vllm:prompt_tokens_created", &[]) > 1.7e9);
            assert!(!types(text).contains_key("vllm:prompt_tokens_created"));
        }
    }
}

#[test]
fn sglang_reports_the_throughput_since_the_page_before() {
    let server = serve(SimConfig { metrics: MetricsKind::Sglang, ..quick() });
    let mut client = Client::connect(server.addr);
    ask(&mut client, 50);
    // Neither a head alone nor other paths are pages.
    client.send(b"HEAD /metrics HTTP/1.1\r\nHost: sim\r\n\r\n");
    client.read_head();
    assert!(total(client.get("/metrics").text(), "sglang:gen_throughput", &[]) > 0.0);
    assert_eq!(total(client.get("/metrics").text(), "sglang:gen_throughput", &[]), 0.0);
}
