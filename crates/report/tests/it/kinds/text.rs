//! Endpoints that produce tokens.

use crate::kinds::bench::{Bench, answered, counted, text_usage, three_streams, three_whole, with_usage};
use aiperf_testkit::vocabulary::*;
use aiperf_types::{EndpointKind, Measured, Usage};

/// Three streams of 5 tokens where 10 were requested.
fn streams() -> Vec<Measured> {
    let mut records = with_usage(counted(three_streams(), 40, Some(5)), text_usage(50, 5));
    records.iter_mut().for_each(|record| record.requested_osl = Some(10));
    records
}

#[test]
fn a_chat_stream_has_times_of_its_tokens_and_differences_to_the_servers_counts() {
    let run = Bench::of(EndpointKind::Chat, true).run(&streams());
    run.shows(&[
        SENT,
        CURVES,
        ANSWERED,
        HTTP,
        INPUT,
        OUTPUT,
        OUTPUT_TEXT,
        ASKED_LENGTH,
        STREAM,
        STREAM_OUTPUT,
        STREAM_GAPS,
        USAGE_PROMPT,
        PROMPT_DIFFERENCE,
        USAGE_COMPLETION,
        COMPLETION_DIFFERENCE,
    ]);
    assert_eq!((run.avg("time_to_first_token"), run.stat("time_to_first_token", "std")), (20.0, 10.0));
    // 20 ms between the first and the last of 5 tokens.
    assert_eq!((run.avg("inter_token_latency"), run.value(0, "output_token_throughput_per_user")), (5.0, 200.0));
    // Gaps of 5 and 15 ms in each of three streams.
    assert_eq!((run.avg("inter_chunk_latency"), run.stat("inter_chunk_latency", "count")), (10.0, 6.0));
    // The third is sent after 200 ms and ends 50 ms later: 15 tokens in a quarter of a second.
    assert_eq!((run.avg("benchmark_duration"), run.avg("output_token_throughput")), (0.25, 60.0));
    assert_eq!((run.avg("osl_mismatch_diff_pct"), run.avg("osl_mismatch_count")), (-50.0, 3.0));
    assert_eq!((run.avg("usage_prompt_tokens_diff_pct"), run.avg("usage_discrepancy_count")), (25.0, 3.0));
    // Released 2 ms before, ended 1 ms after the last chunk.
    assert_eq!((run.avg("request_latency"), run.avg("effective_latency")), (40.0, 43.0));
}

#[test]
fn a_completions_stream_without_usage_has_no_differences_and_without_a_length_asked_for_no_mismatch() {
    let run = Bench::of(EndpointKind::Completions, true).run(&counted(three_streams(), 40, Some(5)));
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT, STREAM, STREAM_OUTPUT, STREAM_GAPS]);
    // 40 tokens of prompt in 10 ms.
    assert_eq!(run.value(0, "prefill_throughput_per_user"), 4000.0);
    assert_eq!((run.avg("total_isl"), run.avg("total_osl"), run.avg("total_token_throughput")), (120.0, 15.0, 540.0));
}

#[test]
fn chat_answered_whole_has_no_times_of_tokens() {
    let mut records = with_usage(counted(three_whole(), 40, Some(5)), text_usage(40, 5));
    records.iter_mut().for_each(|record| record.requested_osl = Some(5));
    let run = Bench::of(EndpointKind::Chat, false).run(&records);
    run.shows(&[
        SENT,
        CURVES,
        ANSWERED,
        HTTP,
        INPUT,
        OUTPUT,
        OUTPUT_TEXT,
        ASKED_LENGTH,
        USAGE_PROMPT,
        PROMPT_DIFFERENCE,
        USAGE_COMPLETION,
        COMPLETION_DIFFERENCE,
    ]);
    // 5 tokens in 10 ms, 20 ms and 40 ms.
    assert_eq!(run.value(0, "e2e_output_token_throughput"), 500.0);
    assert_eq!(run.stat("e2e_output_token_throughput", "min"), 125.0);
    assert_eq!((run.avg("osl_mismatch_count"), run.avg("usage_discrepancy_count")), (0.0, 0.0));
}

#[test]
fn completions_answered_whole_have_counts_and_rates_and_no_times_of_tokens() {
    let run = Bench::of(EndpointKind::Completions, false).run(&counted(three_whole(), 40, Some(5)));
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT]);
    assert_eq!((run.stat("request_latency", "sum"), run.stat("request_latency", "p50")), (70.0, 20.0));
    // The third is sent after 200 ms; its response takes 40 ms.
    assert!((run.avg("request_throughput") - 12.5).abs() < 1e-9);
}

#[test]
fn a_whole_response_in_several_pieces_has_no_stream_metrics() {
    let run = Bench::of(EndpointKind::Chat, false).run(&counted(three_streams(), 40, Some(5)));
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT]);
    assert_eq!(run.avg("effective_decode_concurrency"), 0.0);
}

#[test]
fn counts_of_the_server_have_no_difference_to_it() {
    for streaming in [true, false] {
        let records = if streaming { three_streams() } else { three_whole() };
        let records = with_usage(counted(records, 50, Some(5)), text_usage(50, 5));
        let bench = Bench::of(EndpointKind::Chat, streaming).with(|traits| traits.server_token_count = true);
        let mut expected =
            vec![SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT, USAGE_PROMPT, USAGE_COMPLETION];
        if streaming {
            expected.extend([STREAM, STREAM_OUTPUT, STREAM_GAPS]);
        }
        let run = bench.run(&records);
        run.shows(&expected);
        assert_eq!(run.avg("input_sequence_length"), run.avg("usage_prompt_tokens"));
        assert_eq!((run.avg("total_osl"), run.avg("total_usage_completion_tokens")), (15.0, 15.0));
    }
}

#[test]
fn counts_of_a_server_that_gives_none_leave_only_times() {
    let bench = Bench::of(EndpointKind::Completions, true).with(|traits| traits.server_token_count = true);
    let run = bench.run(&three_streams());
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, UNCOUNTED_STREAM, STREAM_OUTPUT]);
    assert_eq!((run.avg("decode_duration"), run.stat("inter_chunk_latency", "max")), (20.0, 15.0));
}

#[test]
fn thoughts_are_counted_apart_and_are_not_the_first_output() {
    let mut records =
        with_usage(counted(three_streams(), 40, Some(5)), Usage { reasoning_tokens: Some(3), ..text_usage(40, 8) });
    for record in &mut records {
        record.tokens.reasoning = Some(4);
        record.content[0].output = false;
        record.content[0].reasoning = true;
    }
    let run = Bench::of(EndpointKind::Chat, true).run(&records);
    run.shows(&[
        SENT,
        CURVES,
        ANSWERED,
        HTTP,
        INPUT,
        OUTPUT,
        OUTPUT_TEXT,
        REASONING,
        STREAM,
        STREAM_OUTPUT,
        STREAM_GAPS,
        USAGE_PROMPT,
        PROMPT_DIFFERENCE,
        USAGE_COMPLETION,
        COMPLETION_DIFFERENCE,
        USAGE_REASONING,
        REASONING_DIFFERENCE,
    ]);
    // The first chunk is reasoning, the second, 5 ms later, is output.
    assert_eq!((run.value(0, "time_to_first_token"), run.value(0, "time_to_first_output_token")), (10.0, 15.0));
    // 5 tokens of output after 4 of reasoning; the server counted 8, 3 of them reasoning.
    assert_eq!((run.avg("output_sequence_length"), run.avg("total_reasoning_tokens")), (9.0, 12.0));
    assert_eq!((run.avg("usage_reasoning_tokens_diff_pct"), run.avg("usage_discrepancy_count")), (25.0, 3.0));
}

#[test]
fn chat_that_only_thinks_has_no_output_token() {
    let mut records = counted(three_streams(), 40, None);
    for record in &mut records {
        record.tokens.reasoning = Some(5);
        record.content.iter_mut().for_each(|mark| (mark.output, mark.reasoning) = (false, true));
    }
    let run = Bench::of(EndpointKind::Chat, true).run(&records);
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, REASONING, STREAM, STREAM_GAPS]);
    assert_eq!((run.avg("output_sequence_length"), run.avg("inter_token_latency")), (5.0, 5.0));
}

#[test]
fn tool_calls_are_output_and_their_declarations_are_prompt() {
    let usage = Usage { tool_use_prompt_tokens: Some(12), ..text_usage(40, 5) };
    let run = Bench::of(EndpointKind::Chat, true).run(&with_usage(counted(three_streams(), 40, Some(5)), usage));
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
        USAGE_PROMPT,
        PROMPT_DIFFERENCE,
        USAGE_COMPLETION,
        COMPLETION_DIFFERENCE,
        USAGE_TOOLS,
    ]);
    assert_eq!(run.value(0, "time_to_first_output_token"), run.value(0, "time_to_first_token"));
    assert_eq!((run.avg("output_token_count"), run.avg("total_usage_tool_use_prompt_tokens")), (5.0, 36.0));
}

#[test]
fn what_a_server_reports_of_its_cache_and_its_predictions_is_in_the_files() {
    let usage = Usage {
        prompt_cache_read_tokens: Some(10),
        prompt_cache_write_tokens: Some(20),
        prompt_cache_miss_tokens: Some(30),
        accepted_prediction_tokens: Some(3),
        rejected_prediction_tokens: Some(1),
        ..text_usage(40, 5)
    };
    let run = Bench::of(EndpointKind::Messages, false).run(&with_usage(counted(three_whole(), 40, Some(5)), usage));
    run.shows(&[
        SENT,
        CURVES,
        ANSWERED,
        HTTP,
        INPUT,
        OUTPUT,
        OUTPUT_TEXT,
        USAGE_PROMPT,
        PROMPT_DIFFERENCE,
        USAGE_COMPLETION,
        COMPLETION_DIFFERENCE,
        USAGE_CACHE_READ,
        USAGE_CACHE_SHARE,
        USAGE_CACHE_WRITE,
        USAGE_PREDICTION,
    ]);
    assert_eq!(
        (run.avg("overall_usage_prompt_cache_read_pct"), run.avg("usage_prompt_cache_miss_tokens")),
        (25.0, 30.0)
    );
    assert!(!run.console.contains("no prompt-cache read tokens were seen"), "{}", run.console);
}

#[test]
fn a_stream_of_one_chunk_has_no_time_between_tokens() {
    let mut records = counted(three_streams(), 40, Some(5));
    let alone = counted(vec![answered(3, &[25])], 40, Some(5));
    let only = Bench::of(EndpointKind::Chat, true).run(&alone);
    let without_gaps = [SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT, STREAM, STREAM_OUTPUT];
    only.shows(&without_gaps);
    assert_eq!((only.avg("decode_duration"), only.stat("time_to_first_token", "std")), (0.0, 0.0));

    records.extend(alone);
    let run = Bench::of(EndpointKind::Chat, true).run(&records);
    let with_gaps = [SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT, STREAM, STREAM_OUTPUT, STREAM_GAPS];
    run.summary_shows(&with_gaps);
    run.line_shows(2, &with_gaps);
    run.line_shows(3, &without_gaps);
    assert_eq!((run.stat("inter_token_latency", "count"), run.stat("time_to_first_token", "count")), (3.0, 4.0));
}

#[test]
fn what_only_some_requests_have_is_in_the_summary_and_in_their_lines() {
    let mut records = counted(three_whole(), 40, Some(5));
    records[1].usage = text_usage(40, 5);
    let run = Bench::of(EndpointKind::Chat, false).run(&records);
    let plain = [SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT];
    let with_usage = [&plain[..], &[USAGE_PROMPT, PROMPT_DIFFERENCE, USAGE_COMPLETION, COMPLETION_DIFFERENCE]].concat();
    run.summary_shows(&with_usage);
    run.line_shows(0, &plain);
    run.line_shows(1, &with_usage);
    run.line_shows(2, &plain);
    assert_eq!((run.stat("usage_prompt_tokens", "count"), run.avg("total_usage_prompt_tokens")), (1.0, 40.0));
}
