//! Settings of a run, and data about its environment.

use crate::kinds::bench::{Bench, answered, counted, refused, three_streams, three_whole};
use aiperf_metrics::gpu::OverGpus;
use aiperf_metrics::{GpuTotals, RunTraits};
use aiperf_testkit::vocabulary::*;
use aiperf_types::SpecDecode;
use aiperf_types::{EndpointKind, Measured, Nanos, Slo};

const STREAMED: &[Group] =
    &[SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT, STREAM, STREAM_OUTPUT, STREAM_GAPS];
const WHOLE: &[Group] = &[SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT];

fn streams() -> Vec<Measured> {
    counted(three_streams(), 40, Some(5))
}

fn objectives(text: &'static str) -> impl FnOnce(&mut RunTraits) {
    move |traits| traits.slos = Slo::parse_all(text).unwrap()
}

#[test]
fn objectives_bring_goodput() {
    let run = Bench::of(EndpointKind::Chat, true).with(objectives("time_to_first_token:20 request_latency:45"));
    let run = run.run(&streams());
    run.shows(&[STREAMED, &[GOODPUT, GOODPUT_RATE]].concat());
    // First tokens after 10, 20 and 30 ms; the limit itself is good. Two of three in a quarter of a second.
    assert_eq!((run.avg("good_request_count"), run.avg("goodput")), (2.0, 8.0));
    assert!((run.avg("good_request_fraction") - 2.0 / 3.0).abs() < 1e-9);
    assert_eq!((run.value(1, "good_request_count"), run.value(2, "good_request_count")), (1.0, 0.0));
}

#[test]
fn an_objective_that_no_request_can_be_judged_by_makes_none_good() {
    let run = Bench::of(EndpointKind::Chat, true).with(objectives("inter_token_latency:20"));
    let run = run.run(&counted(vec![answered(0, &[25])], 40, Some(5)));
    let groups = [SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT, STREAM, STREAM_OUTPUT];
    run.summary_shows(&[&groups[..], &[GOODPUT, GOODPUT_RATE]].concat());
    run.line_shows(0, &groups);
    assert_eq!((run.avg("good_request_count"), run.avg("good_request_fraction"), run.avg("goodput")), (0.0, 0.0, 0.0));
}

#[test]
fn failed_requests_are_attempts_that_were_not_good() {
    let mut records = counted(three_whole(), 40, Some(5));
    records.push(refused(3));
    let run = Bench::of(EndpointKind::Chat, false).with(objectives("request_latency:20")).run(&records);
    run.shows(&[WHOLE, &[GOODPUT, GOODPUT_RATE, FAILED, ADJUSTED]].concat());
    assert_eq!((run.avg("good_request_count"), run.avg("good_request_fraction")), (2.0, 0.5));

    // If everything failed, nothing was good; without a duration there is no rate.
    let run = Bench::of(EndpointKind::Chat, false).with(objectives("request_latency:20")).run(&[refused(0)]);
    run.shows(&[SENT, CURVES, GOODPUT, FAILED]);
    assert_eq!((run.avg("good_request_count"), run.avg("good_request_fraction")), (0.0, 0.0));
}

#[test]
fn a_replayed_schedule_has_metrics_of_its_lag() {
    let mut records = streams();
    // Sent 100 ms apart where the trace has 100, 99 and 80: the offsets grow by 0, 1 and 21 ms.
    for (record, scheduled) in records.iter_mut().zip([100.0, 199.0, 279.0]) {
        record.scheduled_send_ms = Some(scheduled);
    }
    let run = Bench::of(EndpointKind::Chat, true).with(|traits| traits.fixed_schedule = true).run(&records);
    run.shows(&[STREAMED, &[REPLAY]].concat());
    assert_eq!((run.avg("replay_sched_lag_p50"), run.avg("replay_sched_degraded")), (1.0, 0.0));
    // Between the second and the third of three: 1 + 0.98 of 20.
    assert!((run.avg("replay_sched_lag_p99") - 20.6).abs() < 1e-9);

    let run = Bench::of(EndpointKind::Chat, true).run(&records);
    run.shows(STREAMED);
}

#[test]
fn a_schedule_has_latencies_from_when_requests_were_due() {
    let of = |mut records: Vec<Measured>, streaming: bool| {
        for (record, late_ms) in records.iter_mut().zip([0, 3, 60]) {
            record.schedule_delay = Some(Nanos::from_millis(late_ms));
        }
        let open = Bench::of(EndpointKind::Chat, streaming).with(|traits| traits.open_loop = true).run(&records);
        (open, Bench::of(EndpointKind::Chat, streaming).run(&records))
    };
    let (streamed, closed) = of(streams(), true);
    streamed.shows(&[STREAMED, &[DUE, DUE_STREAM]].concat());
    closed.shows(STREAMED);
    for (intended, usual) in
        [("intended_request_latency", "request_latency"), ("intended_time_to_first_token", "time_to_first_token")]
    {
        assert_eq!(streamed.value(2, intended), streamed.value(2, usual) + 60.0);
        assert_eq!(streamed.avg(intended), streamed.avg(usual) + 21.0);
    }
    let (whole, _) = of(counted(three_whole(), 40, Some(5)), false);
    whole.shows(&[WHOLE, &[DUE]].concat());
}

#[test]
fn a_known_network_is_taken_off_the_times() {
    let run = Bench::of(EndpointKind::Chat, true).with_network_rtt(15e6).run(&streams());
    run.shows(&[STREAMED, &[NETWORK, NETWORK_STREAM]].concat());
    // First tokens after 10, 20 and 30 ms, minus 15, never below zero.
    assert_eq!(run.stat("network_adjusted_time_to_first_token", "min"), 0.0);
    assert_eq!(run.stat("network_adjusted_time_to_first_token", "p50"), 5.0);
    assert_eq!((run.avg("network_adjusted_request_latency"), run.avg("network_rtt")), (25.0, 15.0));
    assert_eq!((run.stat("network_rtt", "p99"), run.stat("network_rtt", "std")), (15.0, 0.0));

    let run = Bench::of(EndpointKind::Chat, false).with_network_rtt(15e6).run(&counted(three_whole(), 40, Some(5)));
    run.shows(&[WHOLE, &[NETWORK]].concat());
    let run = Bench::of(EndpointKind::Chat, true).with_network_rtt(0.0).run(&streams());
    run.shows(STREAMED);
}

#[test]
fn drafts_have_a_table_of_their_own_and_a_line_below_it() {
    let mut records = streams();
    for record in &mut records {
        record.spec_decode = Some(Box::new(SpecDecode {
            mean_acceptance_length: Some(1.5),
            draft_acceptance_rate: Some(0.25),
            acceptance_histogram: [(0, 3), (2, 1)].into(),
            num_accepted_draft_tokens: Some(2),
            num_draft_tokens: Some(8),
            num_spec_steps: Some(4),
            ..SpecDecode::default()
        }));
    }
    let bench = Bench::of(EndpointKind::Chat, true).with_members(&["pooled_spec_decode_acceptance_histogram"]);
    let run = bench.run(&records);
    run.shows(&[STREAMED, &[SPEC_DECODE]].concat());
    assert_eq!(run.avg("spec_decode_draft_acceptance_rate"), 25.0);
    // 6 of 24 drafts accepted in 12 steps.
    assert_eq!(run.avg("spec_decode_token_weighted_acceptance_length"), 1.5);
    assert_eq!(run.avg("spec_decode_overall_draft_acceptance_rate"), 25.0);
    assert_eq!(run.value(0, "spec_decode_accepted_per_verified"), 0.5);
    assert_eq!(run.summary["pooled_spec_decode_acceptance_histogram"], serde_json::json!({ "0": 9, "2": 3 }));
    assert!(
        run.console.contains("  Accepted drafts per step (% of steps):  0: 75%   1: 0%   2: 25%\n"),
        "{}",
        run.console
    );
}

#[test]
fn times_of_the_exchange_are_on_the_console_when_asked_for() {
    let run = Bench::of(EndpointKind::Chat, false).with_trace_table().run(&counted(three_whole(), 40, Some(5)));
    run.shows(WHOLE);
    assert_eq!((run.avg("http_req_data_sent"), run.avg("http_req_total")), (2.0, 10.0));
}

#[test]
fn without_a_trace_there_are_no_times_of_the_exchange() {
    let mut records = counted(three_whole(), 40, Some(5));
    records.iter_mut().for_each(|record| record.http = None);
    let run = Bench::of(EndpointKind::Chat, false).with_trace_table().run(&records);
    run.shows(&[SENT, CURVES, ANSWERED, INPUT, OUTPUT, OUTPUT_TEXT]);
}

#[test]
fn gpus_have_four_metrics_on_the_console_and_those_of_their_vendor_in_files() {
    let totals =
        GpuTotals { power_w: Some(OverGpus { sum: 700.0, gpus: 8 }), energy_j: Some(OverGpus { sum: 30.0, gpus: 7 }) };
    let run = Bench::of(EndpointKind::Chat, true).with_gpus(totals).run(&streams());
    run.shows(&[STREAMED, &[GPU, GPU_TOKENS, NVIDIA, NVIDIA_TOKENS]].concat());
    // 15 tokens for 30 joules, shared by four users.
    assert_eq!((run.avg("output_tokens_per_joule"), run.avg("energy_per_user")), (0.5, 7.5));

    let run = Bench::of(EndpointKind::Embeddings, false).with_gpus(totals).run(&counted(three_whole(), 40, Some(0)));
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, EMPTY_OUTPUT, GPU, NVIDIA]);
}

#[test]
fn graded_responses_may_have_any_length() {
    let mut records = counted(three_whole(), 40, Some(5));
    records.iter_mut().for_each(|record| record.requested_osl = Some(100));
    let run = Bench::of(EndpointKind::Chat, false).run(&records);
    run.shows(&[WHOLE, &[ASKED_LENGTH]].concat());
    assert_eq!(run.avg("osl_mismatch_diff_pct"), -95.0);
    let run = Bench::of(EndpointKind::Chat, false).with(|traits| traits.accuracy = true).run(&records);
    run.shows(WHOLE);
    assert!(!run.console.contains("Output Sequence Length Mismatch"));
}
