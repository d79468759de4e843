//! The console report, as people see it.

use crate::support;

use aiperf_metrics::{Interval, Measurement, MetricIntervals};
use aiperf_report::{
    Artifacts, ExitError, Page, RunInfo, RunResult, WrittenFile, cancelling_panel, exit_panel, footer,
    force_quit_panel, report,
};
use aiperf_types::RequestError;
use serde_json::{Value, json};
use std::path::Path;
use support::*;

fn distribution(unit: &str, scale: f64) -> Value {
    json!({
        "unit": unit, "avg": 35.13 * scale, "min": 31.43 * scale, "max": 47.86 * scale, "p99": 46.82 * scale,
        "p90": 37.52 * scale, "p50": 34.32 * scale, "std": 4.57 * scale, "count": 10, "sum": 351.3 * scale,
    })
}

fn single(unit: &str, value: f64) -> Value {
    json!({ "unit": unit, "avg": value })
}

fn some_run() -> RunResult {
    let results = vec![
        result("request_count", &single("requests", 10.0)),
        result("request_throughput", &single("requests/sec", 24.61)),
        result("benchmark_duration", &single("sec", 0.404)),
        result("time_to_first_token", &distribution("ms", 1.0)),
        result("request_latency", &distribution("ms", 1000.0)),
        result("output_token_throughput_per_user", &distribution("tokens/sec/user", 10.0)),
        result("http_req_waiting", &distribution("ms", 0.9)),
        result("http_req_sending", &distribution("ms", 0.01)),
        result("effective_concurrency", &distribution("requests", 0.05)),
    ];
    RunResult { metrics: summary(results), ..empty_run() }
}

fn with_output_lengths(shortest: f64, longest: f64) -> String {
    let mut run = some_run();
    let difference =
        json!({ "unit": "%", "avg": (shortest + longest) / 2.0, "min": shortest, "max": longest, "p50": 0.0 });
    run.metrics.results.push(result("osl_mismatch_count", &single("requests", 4.0)));
    run.metrics.results.push(result("osl_mismatch_diff_pct", &difference));
    let text = report(&run, Page::file());
    text[text.find('╭').unwrap()..].to_owned()
}

#[test]
fn a_narrow_screen_wraps_labels_and_keeps_numbers_whole() {
    insta::assert_snapshot!(report(&some_run(), Page::plain(100)));
}

/// A run with 60 requests: enough for a mean, too few for percentiles.
fn of_few_requests() -> RunResult {
    let interval = |is_enough| Interval { low: 1.0, high: f64::INFINITY, count: 60, effective: 60.0, is_enough };
    let intervals =
        [("avg", true), ("p50", true), ("p90", false), ("p99", false)].map(|(name, enough)| (name, interval(enough)));
    let of = |tag| MetricIntervals { tag, intervals: intervals.to_vec() };
    let mut run = some_run();
    run.metrics.intervals = vec![of("time_to_first_token"), of("request_latency")];
    run
}

#[test]
fn percentiles_of_too_few_requests_are_marked_and_the_mark_is_explained() {
    insta::assert_snapshot!(report(&of_few_requests(), Page::screen(80)));
    let sure = report(&some_run(), Page::screen(80));
    assert!(!sure.contains('~'), "{sure}");
    for columns in [40, 60, 80, 100, 140] {
        let text = report(&of_few_requests(), Page::screen(columns));
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}: {text}");
    }
}

#[test]
fn metrics_for_developers_have_their_own_tables() {
    let mut run = some_run();
    run.metrics.results.push(result("requested_osl", &distribution("tokens", 1.0)));
    run.metrics.results.push(result("stream_setup_latency", &distribution("ms", 0.1)));
    run.metrics.results.push(result("stream_prefill_latency", &distribution("ms", 0.9)));
    let text = report(&run, Page::file());
    let (developers, rest) = text.split_at(text.find("NVIDIA AIPerf | LLM Metrics").unwrap());
    insta::assert_snapshot!(developers.trim_end());
    assert!(!rest.contains("Stream Setup Latency") && !rest.contains("Requested OSL"));
}

#[test]
fn a_screen_with_colours() {
    let run = RunResult {
        errors: vec![(RequestError::status(500, "Internal Server Error", "boom"), 3)],
        incomplete_reason: Some("Run cancelled before all records were processed.".into()),
        ..some_run()
    };
    insta::assert_snapshot!(report(&run, Page::plain(100).with_colours(true)).replace('\x1b', "^"));
}

#[test]
fn trace_timing_is_below_the_metrics_if_requested() {
    insta::assert_snapshot!(report(&RunResult { show_trace_timing: true, ..some_run() }, Page::file()));
}

/// The measurement of a run with these doubts.
fn doubting(doubts: Vec<String>) -> Option<Measurement> {
    Some(Measurement { doubts, ..Measurement::default() })
}

fn nothing_but_failures() -> RunResult {
    let mut run = some_run();
    (run.metrics.records, run.metrics.failed) = (4, 4);
    run.measurement = doubting(vec!["the wall clock stepped".into()]);
    let refused = "connect to 127.0.0.1:9 failed: connection refused";
    run.errors = vec![
        (RequestError::status(503, "Service Unavailable", "busy"), 1),
        (RequestError::client("ClientConnectorError", refused, &[]), 3),
    ];
    run
}

#[test]
fn a_run_in_which_everything_failed_shows_what_went_wrong_and_nothing_else() {
    insta::assert_snapshot!(report(&nothing_but_failures(), Page::file()));
}

#[test]
fn a_run_that_reached_no_server_asks_whether_it_runs() {
    let mut run = nothing_but_failures();
    assert!(!ExitError::all_requests_failed(&run).message.contains("running"));
    run.errors.remove(0);
    assert!(ExitError::all_requests_failed(&run).message.contains("Is the server running?"));
}

fn with_failures(failed: u64) -> RunResult {
    let mut run = some_run();
    (run.metrics.records, run.metrics.failed) = (20_000, failed);
    let long = format!("{{\"error\":\n  \"{}\"}}", "too many requests ".repeat(20));
    run.errors = vec![
        (RequestError::status(503, "Service Unavailable", "busy"), 1),
        (RequestError::status(429, "Too Many Requests", long), failed - 5),
        (RequestError::client("TimeoutError", "no answer within 5 s", &[]), 2),
        (RequestError::client("ClientPayloadError", "\u{1b}[31mcut short", &[]), 1),
        (RequestError::client("ClientOSError", "reset", &[]), 1),
    ];
    run
}

#[test]
fn many_failures_are_reported_at_the_end_with_their_commonest_reasons() {
    let text = report(&with_failures(1_234), Page::file());
    insta::assert_snapshot!(text[text.find('╭').unwrap()..]);
    assert!(!report(&with_failures(200), Page::file()).contains('╭'), "one in a hundred is not many");
}

#[test]
fn reasons_that_differ_in_numbers_alone_are_one() {
    let mut run = with_failures(1_234);
    let cut = |at| RequestError::client("ClientPayloadError", format!("body ended after {at} of 808 bytes"), &[]);
    run.errors = vec![
        (RequestError::status(503, "Service Unavailable", "busy"), 60),
        (RequestError::status(500, "Internal Server Error", "busy"), 50),
    ];
    run.errors.extend((0..20).map(|at| (cut(400 + at), 55)));
    let text = report(&run, Page::file());
    let panel = &text[text.find('╭').unwrap()..];
    assert!(panel.contains("- 1,100 (89.1%): ClientPayloadError"), "{panel}");
    assert!(panel.contains("body ended after N of N bytes"), "{panel}");
    assert!(panel.contains("- 60 (4.9%): 503 Service Unavailable: busy"), "{panel}");
    assert!(
        panel.contains("- 50 (4.1%): 500 Internal Server Error: busy") && !panel.contains("other reasons"),
        "{panel}"
    );
}

/// A run that requested 60 tokens each, and got 54.
fn with_short_outputs(extra: Value, reported: f64) -> String {
    let mut run = some_run();
    run.input_config = json!({ "endpoint": { "extra": extra } });
    let same = |unit: &str, value: f64| json!({ "unit": unit, "avg": value, "min": value, "max": value });
    run.metrics.results.extend([
        result("osl_mismatch_count", &single("requests", 3.0)),
        result("osl_mismatch_diff_pct", &same("%", -10.0)),
        result("output_sequence_length", &same("tokens", 54.0)),
        result("usage_completion_tokens", &same("tokens", reported)),
    ]);
    report(&run, Page::file())
}

#[test]
fn outputs_of_another_length_are_explained_by_what_is_known() {
    let unset = with_short_outputs(json!({}), 54.0);
    assert!(unset.contains("Server hit EOS token") && unset.contains("ignore_eos:true"), "{unset}");
    let sent = with_short_outputs(json!({"ignore_eos": true}), 54.0);
    assert!(sent.contains("although ignore_eos was sent") && !sent.contains("ignore_eos:true"), "{sent}");
    assert!(sent.contains("min_tokens:<N>"), "{sent}");
    let recounted = with_short_outputs(json!({"ignore_eos": true}), 60.0);
    assert!(recounted.contains("reports exactly the requested length"), "{recounted}");
    assert!(!recounted.contains("ignore_eos"), "{recounted}");
}

#[test]
fn doubts_about_the_measurement_follow_the_tables() {
    let doubts = vec![
        "12.5% of chunks arrived several to a read; each may be up to 4.21 ms earlier than reported (mean 0.52 ms)"
            .into(),
        "this process ran into its CPU quota 3 times".into(),
    ];
    let run = RunResult { measurement: doubting(doubts), ..some_run() };
    let text = report(&run, Page::file());
    insta::assert_snapshot!(text[text.rfind('└').unwrap()..]);
    let narrow = report(&run, Page::screen(60));
    insta::assert_snapshot!(narrow[narrow.find('╭').unwrap()..]);
}

/// A run with very large numbers.
fn busy_run() -> RunResult {
    let mut run = some_run();
    run.metrics.results.push(result("effective_decode_throughput_per_user", &distribution("tokens/sec/user", 900.0)));
    run.metrics.results.push(result("effective_prefill_throughput", &distribution("tokens/sec", 2_000.0)));
    run.errors = with_failures(1_234).errors;
    run
}

fn words(text: &str) -> std::collections::BTreeSet<&str> {
    text.split(|c: char| c.is_whitespace() || "│┃".contains(c)).collect()
}

#[test]
fn a_terminal_of_eighty_columns_shows_whole_words_and_fewer_statistics() {
    insta::assert_snapshot!(report(&busy_run(), Page::screen(80)));
}

#[test]
fn a_terminal_of_sixty_columns_is_enough() {
    insta::assert_snapshot!(report(&busy_run(), Page::screen(60)));
}

#[test]
fn a_terminal_of_forty_columns_has_a_number_for_each_metric() {
    insta::assert_snapshot!(report(&busy_run(), Page::screen(40)));
}

#[test]
fn a_wider_terminal_shows_more_statistics() {
    for columns in [100, 140] {
        insta::assert_snapshot!(format!("report_{columns}"), report(&busy_run(), Page::screen(columns)));
    }
}

#[test]
fn the_console_file_is_as_wide_as_the_user_wants_it() {
    let mut run = busy_run();
    run.artifacts.report_width = 100;
    assert_eq!(Page::of_file(&run.artifacts), Page::plain(100));
    let dir = tempfile::tempdir().unwrap();
    run.artifacts.dir = dir.path().to_owned();
    let artifacts = Artifacts::prepare(&run.artifacts).unwrap();
    assert!(write_all(&artifacts, &run, Vec::new()).failures.is_empty());
    let written = std::fs::read_to_string(dir.path().join(&run.artifacts.names.console_txt)).unwrap();
    assert_eq!(written, report(&run, Page::plain(100)));
}

#[test]
fn no_screen_breaks_a_line_or_a_word() {
    let run = RunResult {
        measurement: doubting(vec!["one two three four".repeat(20)]),
        show_trace_timing: true,
        ..busy_run()
    };
    let whole = report(&run, Page::file());
    for columns in 40..140 {
        let text = report(&run, Page::screen(columns));
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}:\n{text}");
        let numbers = |word: &&&str| word.ends_with(|c: char| c.is_ascii_digit()) && word.contains('.');
        let (shown, known) = (words(&text), words(&whole));
        let broken: Vec<&&str> = shown.iter().filter(numbers).filter(|word| !known.contains(**word)).collect();
        assert!(broken.is_empty(), "{columns}: {broken:?}");
    }
}

#[test]
fn a_run_with_nothing_to_show_prints_nothing() {
    assert_eq!(report(&empty_run(), Page::file()), "");
}

#[test]
fn errors_are_shown_as_they_came_and_long_ones_wrap() {
    let body = format!("{{\"error\":{{\"message\":\"{}\",\"code\":400}}}}", "x".repeat(150));
    let errors = vec![
        (RequestError::status(400, "Bad Request", body), 12_345),
        (RequestError::status(503, "", "[bold]not markup[/bold]\n\u{1b}[31mnot red\u{1b}[0m\tdone"), 1),
    ];
    insta::assert_snapshot!(report(&RunResult { errors, ..empty_run() }, Page::plain(100)));
}

#[test]
fn outputs_shorter_than_asked_for_are_explained_so() {
    insta::assert_snapshot!(with_output_lengths(-60.0, 1.0));
}

#[test]
fn outputs_longer_than_asked_for_are_explained_so() {
    insta::assert_snapshot!(with_output_lengths(0.0, 87.5));
}

#[test]
fn outputs_of_both_kinds_are_explained_so() {
    insta::assert_snapshot!(with_output_lengths(-60.0, 87.5));
}

#[test]
fn limits_are_named_in_their_shortest_form() {
    let mut run = some_run();
    run.limits.usage_diff_pct = 2.5;
    run.metrics.results.push(result("usage_discrepancy_count", &single("requests", 1.0)));
    let text = report(&run, Page::file());
    assert!(text.contains("1 of 10 requests (10.0%) show a difference exceeding 2.5% between:"), "{text}");
}

#[test]
fn the_footer_names_every_file_and_breaks_no_path() {
    let file = |label, path: &str| WrittenFile { label, path: path.into() };
    let files = [
        file("CSV Export", "/runs/one/profile_export_aiperf.csv"),
        file("JSON Export", &format!("/runs/{}/profile_export_aiperf.json", "a long name/".repeat(9))),
        file("Log File", "/runs/one/logs/aiperf.log"),
    ];
    let command = "aiperf profile --model some/model --url http://localhost:8000 --endpoint-type chat --streaming \
                   --concurrency 10 --request-count 100";
    let run = RunResult { was_cancelled: true, info: RunInfo::single("x", None, Some(command.into())), ..some_run() };
    insta::assert_snapshot!(footer(&run, &files, Page::plain(100)));
}

#[test]
fn parts_that_died_are_listed_below_the_files() {
    let degraded = vec!["server metrics: the thread that collects them failed".to_owned(), "another part".to_owned()];
    let run = RunResult { degraded, ..some_run() };
    let files = [WrittenFile { label: "Log File", path: "/runs/one/logs/aiperf.log".into() }];
    insta::assert_snapshot!(footer(&run, &files, Page::screen(80)), @r"
    Benchmark Duration: 0.40 sec
    Log File: /runs/one/logs/aiperf.log
    DEGRADED: 2 result producer(s) died before reporting; what they saw is missing
    from the results:
      • server metrics: the thread that collects them failed
      • another part
    ");
}

#[test]
fn a_path_in_the_command_is_never_broken() {
    let path = format!("/runs/{}", "folder/".repeat(12));
    let command = format!("aiperf profile --artifact-dir {path} --streaming");
    let run = RunResult { info: RunInfo::single("x", None, Some(command)), ..some_run() };
    let text = footer(&run, &[], Page::screen(60));
    assert!(text.lines().any(|line| line == path), "{text}");
}

#[test]
fn panels_of_ctrl_c() {
    insta::assert_snapshot!(format!("{}{}", cancelling_panel(Page::plain(80)), force_quit_panel(Page::plain(80))));
}

#[test]
fn the_exit_panel_lists_distinct_errors_and_the_log() {
    let other = ExitError { operation: "configure".into(), message: "no such file".into(), ..ExitError::default() };
    let errors = [ExitError::all_requests_failed(&nothing_but_failures()), other];
    insta::assert_snapshot!(exit_panel(&errors, Some(Path::new("/runs/one/logs/aiperf.log")), Page::plain(80)));
    let turned = ExitError { kind: Some("Not\u{202e}Found\u{1b}[2J".into()), ..ExitError::default() };
    let panel = exit_panel(&[turned], None, Page::plain(80));
    assert!(panel.contains("Error: Not\\u{202e}Found\\u{1b}[2J"), "what a server names its error is shown: {panel}");
    let long = format!("/runs/{}aiperf.log", "folder/".repeat(12));
    let panel = exit_panel(&errors, Some(Path::new(&long)), Page::plain(80));
    assert!(panel.ends_with(&format!("╯\nLog File: {long}\n")), "{panel}");
}
