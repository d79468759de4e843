//! Every metric of the metrics reference exists and follows its formula: each is computed here a second time,
//! literally, from two valid requests and a failed one.

use aiperf_metrics::gpu::OverGpus;
use aiperf_metrics::{Accumulator, Context, GpuTotals, Metrics, RecordMetrics, RunTraits, Slo, Summary, registry};
use aiperf_types::{
    ContentMark, EndpointKind, HttpTiming, Measured, MonoNs, Nanos, RequestError, TokenCounts, Usage, WallNs,
};

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

fn mark(at: u64, output: bool) -> ContentMark {
    ContentMark { at: MonoNs(at), output, reasoning: !output }
}

/// Both requests have three chunks; the first is reasoning.
fn valid(start: u64, chunks: [u64; 3], scale: u64) -> Measured {
    Measured {
        start_wall: WallNs(100 * S + start),
        start: MonoNs(start),
        end: MonoNs(start + chunks[2] + 2 * MS),
        content: vec![mark(start + chunks[0], false), mark(start + chunks[1], true), mark(start + chunks[2], true)],
        tokens: TokenCounts {
            input: Some(100 * scale),
            output: Some(40),
            reasoning: Some(8),
            ..TokenCounts::default()
        },
        usage: Usage {
            prompt_tokens: Some(120 * scale),
            completion_tokens: Some(50),
            total_tokens: Some(170),
            reasoning_tokens: Some(10),
            prompt_cache_read_tokens: Some(32),
            prompt_cache_write_tokens: Some(5),
            prompt_cache_miss_tokens: Some(88),
            prompt_audio_tokens: Some(3),
            completion_audio_tokens: Some(4),
            prompt_audio_seconds: Some(12.5),
            tool_use_prompt_tokens: Some(6),
            accepted_prediction_tokens: Some(7),
            rejected_prediction_tokens: Some(2),
        },
        schedule_delay: Some(Nanos(40 * scale * MS)),
        requested_osl: Some(60),
        images: 2,
        audio_seconds: Some(10.0),
        video_inference_seconds: Some(1.5),
        video_peak_memory_mb: Some(800.0),
        http: Some(HttpTiming {
            blocked: Some(MS),
            dns_lookup: Some(2 * MS),
            connecting: Some(3 * MS),
            tls_handshaking: Some(MS),
            sending: Some(4 * MS),
            waiting: Some(50 * MS),
            receiving: Some(60 * MS),
            duration: Some(114 * MS),
            reused: Some(false),
            data_sent: Some(2048),
            chunks_sent: Some(2),
            data_received: Some(4096),
            chunks_received: Some(9),
        }),
        ..Measured::default()
    }
}

fn failed(start: u64) -> Measured {
    Measured {
        start_wall: WallNs(100 * S + start),
        start: MonoNs(start),
        end: MonoNs(start + MS),
        tokens: TokenCounts { input: Some(30), ..TokenCounts::default() },
        error: Some(RequestError::status(500, "Internal Server Error", "no")),
        ..Measured::default()
    }
}

fn run(endpoint: EndpointKind) -> (RunTraits, Summary) {
    let mut traits = RunTraits::new(endpoint, true);
    traits.show_internal = true;
    traits.open_loop = true;
    traits.slos = vec![Slo { tag: "request_latency".into(), threshold: 600.0 }];
    let metrics = Metrics::for_run(traits.clone());
    let mut accumulator = Accumulator::new(&metrics);
    let mut record = RecordMetrics::default();
    for m in
        [failed(S), valid(2 * S, [100 * MS, 200 * MS, 500 * MS], 1), valid(3 * S, [200 * MS, 300 * MS, 900 * MS], 2)]
    {
        metrics.record(&m, &mut record);
        accumulator.add(&m, &record);
    }
    let mut summary = accumulator.summarise(&metrics, Context::default());
    let totals =
        GpuTotals { power_w: Some(OverGpus { sum: 700.0, gpus: 2 }), energy_j: Some(OverGpus { sum: 160.0, gpus: 2 }) };
    let gpu = totals.metrics(&traits, summary.avg("total_output_tokens"), Some(4));
    summary.results.extend(gpu);
    (traits, summary)
}

/// Means over the two valid requests, or the value of the run, in display units.
const CHAT: &[(&str, f64)] = &[
    ("time_to_first_token", (100.0 + 200.0) / 2.0),
    ("time_to_second_token", 100.0),
    ("time_to_first_output_token", (200.0 + 300.0) / 2.0),
    ("inter_token_latency", (400.0 / 47.0 + 700.0 / 47.0) / 2.0),
    ("inter_chunk_latency", (100.0 + 300.0 + 100.0 + 600.0) / 4.0),
    ("output_token_throughput_per_user", (47.0 / 0.4 + 47.0 / 0.7) / 2.0),
    ("prefill_throughput_per_user", (100.0 / 0.1 + 200.0 / 0.2) / 2.0),
    ("output_token_count", 40.0),
    ("output_sequence_length", 48.0),
    ("input_sequence_length", 150.0),
    ("total_output_tokens", 80.0),
    ("total_osl", 96.0),
    ("total_isl", 300.0),
    ("e2e_output_token_throughput", (48.0 / 0.5 + 48.0 / 0.9) / 2.0),
    ("output_token_throughput", 96.0 / 2.9),
    ("total_token_throughput", 396.0 / 2.9),
    ("num_images", 2.0),
    ("image_throughput", (2.0 / 0.5 + 2.0 / 0.9) / 2.0),
    ("image_latency", (250.0 + 450.0) / 2.0),
    ("audio_duration", 10.0),
    ("rtfx", (10.0 / 0.5 + 10.0 / 0.9) / 2.0),
    ("reasoning_token_count", 8.0),
    ("total_reasoning_tokens", 16.0),
    ("usage_prompt_tokens", 180.0),
    ("usage_completion_tokens", 50.0),
    ("usage_total_tokens", 170.0),
    ("usage_reasoning_tokens", 10.0),
    ("usage_prompt_cache_read_tokens", 32.0),
    ("usage_prompt_cache_write_tokens", 5.0),
    ("usage_prompt_cache_miss_tokens", 88.0),
    ("usage_prompt_audio_tokens", 3.0),
    ("usage_completion_audio_tokens", 4.0),
    ("usage_prompt_audio_seconds", 12.5),
    ("usage_tool_use_prompt_tokens", 6.0),
    ("usage_accepted_prediction_tokens", 7.0),
    ("usage_rejected_prediction_tokens", 2.0),
    ("total_usage_prompt_tokens", 360.0),
    ("total_usage_completion_tokens", 100.0),
    ("total_usage_total_tokens", 340.0),
    ("total_usage_reasoning_tokens", 20.0),
    ("total_usage_prompt_cache_read_tokens", 64.0),
    ("overall_usage_prompt_cache_read_pct", 64.0 / 360.0 * 100.0),
    ("total_usage_prompt_cache_write_tokens", 10.0),
    ("total_usage_prompt_cache_miss_tokens", 176.0),
    ("total_usage_prompt_audio_tokens", 6.0),
    ("total_usage_completion_audio_tokens", 8.0),
    ("total_usage_prompt_audio_seconds", 25.0),
    ("total_usage_tool_use_prompt_tokens", 12.0),
    ("total_usage_accepted_prediction_tokens", 14.0),
    ("total_usage_rejected_prediction_tokens", 4.0),
    ("usage_prompt_tokens_diff_pct", 20.0),
    ("usage_completion_tokens_diff_pct", 2.0 / 48.0 * 100.0),
    ("usage_reasoning_tokens_diff_pct", 25.0),
    ("usage_discrepancy_count", 2.0),
    ("requested_osl", 60.0),
    ("osl_mismatch_diff_pct", -20.0),
    ("osl_mismatch_count", 2.0),
    ("good_request_count", 1.0),
    ("good_request_fraction", 1.0 / 3.0),
    ("goodput", 1.0 / 2.9),
    ("error_isl", 30.0),
    ("total_error_isl", 30.0),
    ("request_latency", (500.0 + 900.0) / 2.0),
    ("intended_request_latency", (540.0 + 980.0) / 2.0),
    ("intended_time_to_first_token", (140.0 + 280.0) / 2.0),
    ("request_throughput", 2.0 / 2.9),
    ("request_count", 2.0),
    ("error_request_count", 1.0),
    ("min_request_timestamp", 101e9),
    ("max_response_timestamp", 103.9e9),
    ("benchmark_duration", 2.9),
    ("http_req_blocked", 1.0),
    ("http_req_dns_lookup", 2.0),
    ("http_req_connecting", 3.0),
    ("http_req_sending", 4.0),
    ("http_req_waiting", 50.0),
    ("http_req_receiving", 60.0),
    ("http_req_duration", 114.0),
    ("http_req_connection_overhead", 6.0),
    ("http_req_total", 120.0),
    ("http_req_data_sent", 2.0),
    ("http_req_data_received", 4.0),
    ("http_req_connection_reused", 0.0),
    ("http_req_chunks_sent", 2.0),
    ("http_req_chunks_received", 9.0),
    ("total_gpu_power", 700.0),
    ("total_gpu_energy", 160.0),
    ("output_tokens_per_joule", 80.0 / 160.0),
    ("energy_per_user", 160.0 / 4.0),
];

const VIDEO: &[(&str, f64)] = &[("video_inference_time", 1500.0), ("video_peak_memory", 800.0)];

#[test]
fn every_metric_of_the_reference_follows_its_formula() {
    for (endpoint, expected) in [(EndpointKind::Chat, CHAT), (EndpointKind::VideoGeneration, VIDEO)] {
        let (_, summary) = run(endpoint);
        for &(tag, value) in expected {
            assert!(registry::find(tag).is_some(), "{tag} does not exist");
            let found = summary.avg(tag).unwrap_or_else(|| panic!("{tag} is not in the summary"));
            assert!((found - value).abs() <= 1e-9 * value.abs().max(1.0), "{tag}: {found}, not {value}");
        }
    }
}

#[test]
fn a_metric_that_the_endpoint_cannot_have_is_absent_whatever_the_record_contains() {
    let (_, summary) = run(EndpointKind::Embeddings);
    for tag in ["total_osl", "time_to_first_token", "rtfx", "image_latency", "video_peak_memory"] {
        assert!(summary.get(tag).is_none(), "{tag}");
    }
    assert_eq!(summary.avg("output_sequence_length"), Some(0.0), "an embedding has no token");
    let (traits, chat) = run(EndpointKind::Chat);
    assert!(chat.get("video_peak_memory").is_none());
    assert!(chat.results.iter().all(|result| registry::find(&result.tag).is_some_and(|metric| traits.has(metric))));
}

#[test]
fn summaries_list_the_leading_metrics_first_then_by_display_order_then_by_name() {
    let (_, summary) = run(EndpointKind::Chat);
    let tags: Vec<&str> = summary.results.iter().map(|result| result.tag.as_ref()).collect();
    let first =
        ["request_throughput", "request_latency", "request_count", "time_to_first_token", "time_to_second_token"];
    assert_eq!(tags[..5], first);
    let place = |tag: &str| tags.iter().position(|known| *known == tag).unwrap();
    assert!(place("total_error_isl") < place("time_to_first_output_token"));
    assert!(place("time_to_first_output_token") < place("decode_duration"));
    assert!(place("adj_request_latency") < place("effective_concurrency"));
    assert_eq!(
        tags[tags.len() - 4..],
        ["total_gpu_power", "total_gpu_energy", "output_tokens_per_joule", "energy_per_user"]
    );
}
