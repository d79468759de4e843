//! Requests that fail, among others and alone.

use crate::kinds::bench::{Bench, answered, counted, refused, text_usage, three_streams, three_whole, with_usage};
use aiperf_testkit::vocabulary::*;
use aiperf_types::SpecDecode;
use aiperf_types::{EndpointKind, Measured, TokenCounts};

/// Adds a failed request; its input is known if the client counted it.
fn and_one_that_failed(mut records: Vec<Measured>, input: Option<u64>) -> Vec<Measured> {
    // What a server sent before it failed is not a measurement.
    let failed = Measured {
        usage: text_usage(40, 5),
        requested_osl: Some(5),
        images: 1,
        audio_seconds: Some(1.0),
        spec_decode: Some(Box::new(SpecDecode {
            acceptance_histogram: [(0, 1)].into(),
            num_spec_steps: Some(1),
            ..SpecDecode::default()
        })),
        ..refused(3)
    };
    records.push(Measured { tokens: TokenCounts { input, ..TokenCounts::default() }, ..failed });
    records
}

#[test]
fn a_stream_that_failed_among_others_brings_adjusted_twins_of_all_four_times() {
    let run =
        Bench::of(EndpointKind::Chat, true).run(&and_one_that_failed(counted(three_streams(), 40, Some(5)), Some(70)));
    run.shows(&[
        SENT,
        CURVES,
        ANSWERED,
        HTTP,
        INPUT,
        OUTPUT,
        OUTPUT_TEXT,
        STREAM,
        STREAM_OUTPUT,
        STREAM_GAPS,
        FAILED,
        FAILED_INPUT,
        ADJUSTED,
        ADJUSTED_STREAM,
    ]);
    assert_eq!((run.avg("request_error_rate"), run.avg("completed_request_count")), (25.0, 4.0));
    assert_eq!((run.avg("error_request_count"), run.avg("total_error_isl")), (1.0, 70.0));
    assert_eq!((run.stat("adj_request_latency", "p50"), run.stat("adj_request_latency", "count")), (50.0, 4.0));
    // The failed request does not lengthen the run: it has no response.
    assert_eq!((run.avg("request_count"), run.avg("benchmark_duration")), (3.0, 0.25));
    assert!(run.console.contains("NVIDIA AIPerf | Error Summary"));
}

#[test]
fn a_whole_response_that_failed_among_others_brings_an_adjusted_latency() {
    let records = and_one_that_failed(counted(three_whole(), 40, Some(5)), Some(70));
    let run = Bench::of(EndpointKind::Completions, false).run(&records);
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT, FAILED, FAILED_INPUT, ADJUSTED]);
    assert_eq!((run.stat("adj_request_latency", "min"), run.stat("adj_request_latency", "p75")), (10.0, 40.0));
    assert_eq!(run.stat("error_isl", "count"), 1.0);
}

#[test]
fn a_failure_has_no_input_length_where_the_server_counts() {
    let records = and_one_that_failed(with_usage(counted(three_whole(), 40, Some(5)), text_usage(40, 5)), None);
    let run = Bench::of(EndpointKind::Chat, false).with(|traits| traits.server_token_count = true).run(&records);
    run.shows(&[
        SENT,
        CURVES,
        ANSWERED,
        HTTP,
        INPUT,
        OUTPUT,
        OUTPUT_TEXT,
        USAGE_PROMPT,
        USAGE_COMPLETION,
        FAILED,
        ADJUSTED,
    ]);
    assert_eq!(run.avg("total_usage_prompt_tokens"), 120.0);
}

#[test]
fn a_failure_has_no_input_length_where_input_is_not_tokenized() {
    let run = Bench::of(EndpointKind::ImageRetrieval, false).run(&and_one_that_failed(three_whole(), Some(70)));
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, FAILED, ADJUSTED]);
    assert_eq!(run.avg("request_error_rate"), 25.0);
}

#[test]
fn an_embedding_that_failed_among_others_has_its_length_of_input() {
    let records = and_one_that_failed(counted(three_whole(), 16, Some(0)), Some(16));
    let run = Bench::of(EndpointKind::Embeddings, false).run(&records);
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, EMPTY_OUTPUT, FAILED, FAILED_INPUT, ADJUSTED]);
    assert_eq!((run.avg("total_isl"), run.avg("total_error_isl")), (48.0, 16.0));
}

#[test]
fn a_prompt_that_was_too_long_is_counted_apart() {
    let mut records = and_one_that_failed(counted(three_whole(), 40, Some(5)), Some(70));
    records[3].context_overflow = true;
    let run = Bench::of(EndpointKind::Chat, false).run(&records);
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT, FAILED, FAILED_INPUT, ADJUSTED]);
    assert_eq!(run.avg("context_overflow_count"), 1.0);
}

#[test]
fn a_run_in_which_everything_failed_has_no_time_of_a_response() {
    let failed =
        |number| Measured { tokens: TokenCounts { input: Some(40), ..TokenCounts::default() }, ..refused(number) };
    for streaming in [true, false] {
        let run = Bench::of(EndpointKind::Chat, streaming).run(&[failed(0), failed(1)]);
        run.shows(&[SENT, CURVES, FAILED, FAILED_INPUT]);
        assert_eq!((run.avg("request_error_rate"), run.avg("completed_request_count")), (100.0, 2.0));
        assert_eq!((run.avg("error_isl"), run.avg("effective_latency")), (40.0, 7.0));
    }
}

#[test]
fn the_first_request_counts_for_the_start_although_it_failed() {
    let run = Bench::of(EndpointKind::AudioTranscription, false).run(&[
        refused(0),
        answered(1, &[10]),
        answered(2, &[20]),
        answered(3, &[40]),
    ]);
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, FAILED, ADJUSTED]);
    // Sent at 0, 100, 200 and 300 ms; the last response after 40 more.
    assert_eq!((run.avg("benchmark_duration"), run.avg("request_count")), (0.34, 3.0));
}
