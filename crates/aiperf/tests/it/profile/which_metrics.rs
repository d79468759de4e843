//! The metrics of a run: exactly these, in every file and on the console.

use crate::bench::{Bench, Run, quick, serve, with_chunks_apart};
use aiperf_sim::{Latency, SimConfig};
use aiperf_testkit::outputs::Shown;
use aiperf_testkit::vocabulary::*;
use std::num::NonZeroU32;
use std::time::Duration;

/// So long between tokens that the first and the last of a response are never read at once.
fn unhurried() -> SimConfig {
    SimConfig { itl: Latency::constant(Duration::from_millis(75)), ..quick() }
}

fn with_failures(rate: &str) -> SimConfig {
    SimConfig { faults: vec![format!("status:503={rate}").parse().unwrap()], ..unhurried() }
}

fn shown(run: &Run, extra_members: &'static [&'static str]) -> Shown {
    Shown {
        title: "LLM Metrics",
        summary: run.summary(),
        csv: run.text("profile_export_aiperf.csv"),
        lines: run.records(),
        console: run.text("profile_export_console.txt"),
        with_trace: false,
        extra_members,
        one_of_four: false,
    }
}

fn run(config: SimConfig, args: &[&str]) -> Shown {
    let sim = serve(config);
    let run = with_chunks_apart(|| Bench::of(&sim.url()).with(args).run());
    assert!(matches!(run.code(), Some(0 | 1)), "{}", run.stderr());
    shown(&run, &["measurement"])
}

/// The simulated server reports usage, including cached tokens.
const WHOLE: &[Group] = &[
    SENT,
    JUDGED,
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
    USAGE_CACHE_READ,
    USAGE_CACHE_SHARE,
];
const STREAMED: &[Group] = &[
    SENT,
    JUDGED,
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
    USAGE_CACHE_READ,
    USAGE_CACHE_SHARE,
];
const WHOLE_AND_FAILED: &[Group] = &[FAILED, FAILED_INPUT, ADJUSTED];
const STREAMED_AND_FAILED: &[Group] = &[FAILED, FAILED_INPUT, ADJUSTED, ADJUSTED_STREAM];

#[test]
fn streams_have_token_times_and_whole_responses_have_none() {
    for kind in ["chat", "completions"] {
        let args = ["--endpoint-type", kind, "--concurrency", "2", "--request-count", "6"];
        run(unhurried(), &args).shows(WHOLE);
        run(unhurried(), &[&args[..], &["--streaming"]].concat()).shows(STREAMED);
    }
}

#[test]
fn responses_among_failures_have_adjusted_metrics() {
    for kind in ["chat", "completions"] {
        let args = ["--endpoint-type", kind, "--concurrency", "20", "--request-count", "40"];
        let whole = run(with_failures("0.25"), &args);
        whole.shows(&[WHOLE, WHOLE_AND_FAILED].concat());
        let streamed = run(with_failures("0.25"), &[&args[..], &["--streaming"]].concat());
        streamed.shows(&[STREAMED, STREAMED_AND_FAILED].concat());
        let failed = streamed.lines.iter().filter(|line| !line["error"].is_null()).count();
        assert_eq!(streamed.avg("error_request_count"), failed as f64);
        assert_eq!(streamed.stat("adj_time_to_first_token", "count"), 40.0);
    }
}

#[test]
fn a_run_with_only_failures_has_no_latencies() {
    for streaming in [true, false] {
        let mut args = vec!["--request-count", "5"];
        args.extend(streaming.then_some("--streaming"));
        let run = run(with_failures("1"), &args);
        run.shows(&[SENT, JUDGED, CURVES, FAILED, FAILED_INPUT]);
        assert_eq!(run.avg("request_error_rate"), 100.0);
    }
}

#[test]
fn an_output_limit_that_is_refused_is_no_overflow_of_the_context() {
    let config = SimConfig { max_model_len: NonZeroU32::new(4), ..unhurried() };
    let run = run(config, &["--request-count", "3"]);
    run.shows(&[SENT, JUDGED, CURVES, FAILED, FAILED_INPUT]);
    assert_eq!(run.summary["error_summary"][0]["error_details"]["code"], 400);
}

#[test]
fn the_servers_counts_have_no_difference_to_it() {
    let without_difference = |groups: &[Group]| -> Vec<Group> {
        let ours = [PROMPT_DIFFERENCE, COMPLETION_DIFFERENCE].map(|group| group[0].tag);
        groups.iter().copied().filter(|group| !ours.contains(&group[0].tag)).collect()
    };
    let args = ["--streaming", "--request-count", "4", "--use-server-token-count"];
    run(unhurried(), &args).shows(&without_difference(STREAMED));
    run(unhurried(), &args[1..]).shows(&without_difference(WHOLE));
    // The input of a failed request is not counted.
    run(with_failures("1"), &args).shows(&[SENT, JUDGED, CURVES, FAILED]);
}

#[test]
fn reasoning_is_counted_separately() {
    let config = SimConfig { reasoning_tokens: 3, ..unhurried() };
    let run = run(config, &["--streaming", "--request-count", "4"]);
    run.shows(&[STREAMED, &[REASONING, USAGE_REASONING, REASONING_DIFFERENCE]].concat());
    // Reasoning comes first, 5 ms per token.
    assert!(run.avg("time_to_first_output_token") > run.avg("time_to_first_token"));
    assert_eq!((run.avg("reasoning_token_count"), run.avg("output_sequence_length")), (3.0, 8.0));
}

#[test]
fn drafts_are_counted_where_a_server_reports_them() {
    let config = SimConfig { draft_tokens: 2, ..unhurried() };
    for streaming in [true, false] {
        let mut args = vec!["--request-count", "4"];
        args.extend(streaming.then_some("--streaming"));
        let mut run = run(config.clone(), &args);
        run.extra_members = &["measurement", "pooled_spec_decode_acceptance_histogram"];
        run.shows(&[if streaming { STREAMED } else { WHOLE }, &[SPEC_DECODE]].concat());
        // Eight tokens in steps of one, two, three, one and one: three of ten drafts accepted.
        assert_eq!((run.avg("spec_decode_steps"), run.avg("spec_decode_draft_tokens")), (5.0, 10.0));
        assert_eq!(
            (run.avg("spec_decode_acceptance_length"), run.avg("spec_decode_draft_acceptance_rate")),
            (1.6, 30.0)
        );
        let pooled = &run.summary["pooled_spec_decode_acceptance_histogram"];
        assert_eq!(*pooled, serde_json::json!({"0": 12, "1": 4, "2": 4}));
        assert!(run.console.contains("Accepted drafts per step (% of steps):  0: 60%   1: 20%   2: 20%"));
        assert_eq!(run.lines[0]["spec_decode_acceptance"]["num_spec_steps"], 5);
    }
}

#[test]
fn a_run_with_a_schedule_has_latencies_from_when_requests_were_due() {
    let rate = ["--request-rate", "100", "--request-count", "6"];
    run(unhurried(), &rate).shows(&[WHOLE, &[DUE]].concat());
    let users = ["--user-centric-rate", "20", "--num-users", "2", "--session-turns-mean", "2", "--streaming"];
    let streamed = run(unhurried(), &[&users[..], &["--num-sessions", "4"]].concat());
    streamed.shows(&[STREAMED, &[DUE, DUE_STREAM]].concat());
    for line in 0..streamed.lines.len() {
        assert!(streamed.value(line, "intended_request_latency") >= streamed.value(line, "request_latency"));
    }
}

#[test]
fn a_warm_up_shows_what_the_run_does() {
    let sim = serve(unhurried());
    let args = ["--streaming", "--concurrency", "2", "--request-count", "4", "--warmup-request-count", "4"];
    let run = with_chunks_apart(|| Bench::of(&sim.url()).with(&args).run());
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let whole = shown(&run, &["measurement", "warmup_metrics"]);
    let count = whole.shows(STREAMED);
    // The verdict is on the run as a whole.
    let of_phases: Vec<Group> = STREAMED.iter().copied().filter(|group| group[0].tag != "verdict").collect();
    let warmup = whole.summary["warmup_metrics"].as_object().unwrap();
    assert_eq!(warmup.len(), count - JUDGED.len());
    for row in of_phases.iter().flat_map(|group| group.iter()) {
        whole.block_is(&warmup[row.tag], row);
    }
    for phase in ["warmup", "profiling"] {
        let file = |name: &str| run.text(&format!("phases/{phase}/{name}"));
        let of_phase = Shown {
            summary: serde_json::from_str(&file("profile_export_aiperf.json")).unwrap(),
            csv: file("profile_export_aiperf.csv"),
            extra_members: &[],
            ..shown(&run, &[])
        };
        of_phase.summary_shows(&of_phases);
    }
}
