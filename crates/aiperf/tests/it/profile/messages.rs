//! Messages about a run that failed, in part or completely.

use crate::bench::{Bench, answering, quick, response, serve};
use aiperf_sim::SimConfig;

#[test]
fn a_run_without_a_success_shows_the_cause_and_no_empty_tables() {
    let url = answering(|_, _, _| response("503 Service Unavailable", "text/plain", "the model is still loading"));
    let run = Bench::of(&url).with(&["--streaming", "--request-count", "4"]).run();
    assert_eq!(run.code(), Some(1));
    for text in [run.stdout(), run.text("profile_export_console.txt")] {
        assert!(text.contains("Error Summary") && text.contains("the model is still loading"), "{text}");
        assert!(!text.contains("LLM Metrics") && !text.contains("Unknown"), "{text}");
    }
    assert!(run.stdout().contains("Error: 503 Service Unavailable"));
    assert!(run.stdout().contains("Cause: the model is still loading (4 of 4)"));
}

#[test]
fn many_failures_among_successes_are_reported_at_the_end() {
    let sim = serve(SimConfig { faults: vec!["status:429=0.3".parse().unwrap()], ..quick() });
    let run = Bench::of(&sim.url()).with(&["--streaming", "--concurrency", "4", "--request-count", "60"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    for text in [run.stdout(), run.text("profile_export_console.txt")] {
        let panel = &text[text.find("Failed Requests Warning").unwrap()..];
        assert!(panel.contains(" of 60 requests (") && panel.contains("(100.0%): 429 Too Many Requests"), "{panel}");
    }
}

#[test]
fn a_huge_error_body_is_cut_everywhere() {
    let url = answering(|_, _, _| response("500 Internal Server Error", "text/plain", &"x".repeat(5_000_000)));
    let run = Bench::of(&url).with(&["--streaming", "--request-count", "2", "--log-level", "trace"]).run();
    assert_eq!(run.code(), Some(1));
    let cut = format!("{}…", "x".repeat(4096));
    assert_eq!(run.records()[0]["error"]["message"], cut);
    assert_eq!(run.summary()["error_summary"][0]["error_details"]["message"], cut);
    for text in [run.stdout(), run.stderr(), run.text("profile_export_console.txt"), run.text("logs/aiperf.log")] {
        assert!(text.len() < 40_000, "{} bytes", text.len());
    }
}

#[test]
fn doubts_about_the_measurement_are_printed_after_the_tables_only() {
    let whole = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"a b c"},"finish_reason":"stop"}]}"#;
    let url = answering(|_, _, _| response("200 OK", "application/json", whole));
    let run = Bench::of(&url).with(&["--streaming", "--request-count", "3"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let doubt = "3 responses were not streamed although --streaming asked for it";
    let console = run.text("profile_export_console.txt");
    assert!(console.find(doubt).unwrap() > console.rfind("NVIDIA AIPerf | ").unwrap(), "{console}");
    assert_eq!(run.stdout().matches(doubt).count(), 1);
    assert_eq!(run.summary()["measurement"]["doubts"][0], doubt);
}

#[test]
fn only_the_first_responses_of_a_wrong_length_are_logged() {
    let whole = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"a b c"},"finish_reason":"stop"}]}"#;
    let url = answering(|_, _, _| response("200 OK", "application/json", whole));
    let run = Bench::of(&url).with(&["--request-count", "5"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    for text in [run.stdout(), run.text("logs/aiperf.log")] {
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("OSL mismatch: ")).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines
                .iter()
                .all(|line| line.contains("WARNING") && line.contains("got 3 tokens (requested 8, diff -62.5%)"))
        );
    }
}

#[test]
fn notes_are_in_the_log_and_once_on_the_screen() {
    let sim = serve(quick());
    let run = Bench::of(&sim.url()).with(&["--request-count", "2", "--record-processor-service-count", "2"]).run();
    let (stderr, log) = (run.stderr(), run.text("logs/aiperf.log"));
    let notes: Vec<&str> = stderr.lines().filter_map(|line| line.strip_prefix("note: ")).collect();
    assert!(!notes.is_empty(), "{stderr}");
    for note in notes {
        assert_eq!(log.matches(note).count(), 1, "{note}\n{log}");
        assert!(!run.stdout().contains(note), "{note}");
    }
}

#[test]
fn names_from_the_user_do_not_act_on_the_terminal() {
    let sim = serve(quick());
    let bench = Bench::of(&sim.url()).with(&["--request-count", "10", "--random-seed", "1"]);
    let bench = bench.with(&["--profile-export-prefix", "a\u{1b}[2Jb"]);
    // Advice names files too: the server counts some of ten prompts differently.
    let run = bench.env("AIPERF_METRICS_USAGE_PCT_DIFF_THRESHOLD", "0").run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert!(run.stdout().contains("Token Count Discrepancy Warning"), "{}", run.stdout());
    assert!(run.stdout().contains("a\\u{1b}[2Jb") && !run.stdout().contains('\u{1b}'), "{}", run.stdout());
}

#[test]
fn no_warning_is_printed_twice() {
    let sim = serve(quick());
    let run = Bench::of(&sim.url()).with(&["--streaming", "--request-count", "3"]).run();
    let output = format!("{}{}", run.stdout(), run.stderr());
    let before_the_report = output.split("LLM Metrics").next().unwrap();
    assert_eq!(before_the_report.matches("ignore_eos").count(), 1, "{before_the_report}");
    assert_eq!(run.stderr().matches("ignore_eos").count(), 0);
}
