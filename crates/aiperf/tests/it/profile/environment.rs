//! Variables and switches that change what is counted and shown.

use crate::bench::{Bench, Run, avg, quick, serve};
use aiperf_sim::{SimConfig, Spread};

/// Responses of 7 tokens, where 8 were requested.
fn one_short(env: &[(&str, &str)]) -> Run {
    let sim = serve(SimConfig { eos: Some(Spread::Constant(7.0)), ..quick() });
    let bench = Bench::of(&sim.url()).with(&["--streaming", "--request-count", "5"]);
    let run = env.iter().fold(bench, |bench, (name, value)| bench.env(name, value)).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    run
}

const PERCENT: &str = "AIPERF_METRICS_OSL_MISMATCH_PCT_THRESHOLD";
const TOKENS: &str = "AIPERF_METRICS_OSL_MISMATCH_MAX_TOKEN_THRESHOLD";

#[test]
fn thresholds_decide_how_much_shorter_a_response_may_be() {
    let counted = |run: &Run| avg(&run.summary(), "osl_mismatch_count");
    assert_eq!(counted(&one_short(&[])), 5.0);
    assert_eq!(counted(&one_short(&[(PERCENT, "20")])), 0.0);
    let run = one_short(&[(PERCENT, "12"), (TOKENS, "3")]);
    assert_eq!(counted(&run), 5.0);
    let console = run.text("profile_export_console.txt");
    assert!(console.contains("Threshold (tokens): min(requested x 12%, 3)"), "{console}");
}

#[test]
fn a_threshold_decides_how_far_the_servers_count_may_differ() {
    let name = "AIPERF_METRICS_USAGE_PCT_DIFF_THRESHOLD";
    let sim = serve(quick());
    let run = |percent| {
        let args = ["--request-count", "8", "--random-seed", "3"];
        Bench::of(&sim.url()).with(&args).env(name, percent).run()
    };
    let strict = run("0");
    let differs = |record: &serde_json::Value| {
        let percents = ["usage_prompt_tokens_diff_pct", "usage_completion_tokens_diff_pct"];
        percents.iter().any(|tag| record["metrics"][tag]["value"].as_f64().is_some_and(|percent| percent > 0.0))
    };
    let differing = strict.records().iter().filter(|record| differs(record)).count();
    assert!(differing > 0, "the simulated server counts in another way");
    assert_eq!(avg(&strict.summary(), "usage_discrepancy_count"), differing as f64);
    assert!(strict.text("profile_export_console.txt").contains("show a difference exceeding 0% between:"));
    assert_eq!(avg(&run("100").summary(), "usage_discrepancy_count"), 0.0);
}

#[test]
fn developer_mode_shows_more() {
    let sim = serve(quick());
    let shown = |mode: &str| {
        let bench = Bench::of(&sim.url()).with(&["--streaming", "--request-count", "4", "--slice-duration", "10"]);
        let bench = bench.env("AIPERF_DEV_SHOW_INTERNAL_METRICS", "1").env("AIPERF_DEV_SHOW_EXPERIMENTAL_METRICS", "1");
        bench.env("AIPERF_DEV_MODE", mode).run()
    };
    let hidden = ["requested_osl", "credit_drop_latency", "stream_setup_latency", "stream_prefill_latency"];

    let run = shown("true");
    let (summary, records) = (run.summary(), run.records());
    assert_eq!(avg(&summary, "requested_osl"), 8.0);
    for tag in hidden {
        assert!(summary[tag]["p99"].is_number(), "{tag}");
        assert!(records.iter().all(|record| record["metrics"][tag]["value"].is_number()), "{tag}");
    }
    let setup = |record: &serde_json::Value| {
        let value = |tag: &str| record["metrics"][tag]["value"].as_f64().unwrap();
        value("stream_setup_latency") + value("stream_prefill_latency") - value("time_to_first_token")
    };
    assert!(records.iter().all(|record| setup(record).abs() < 1e-9));
    assert!(run.text("profile_export_aiperf.csv").contains("\r\nRequested OSL (tokens),8.00,"));
    assert!(run.text("profile_export_aiperf_timeslices.csv").contains(",Requested OSL,tokens,avg,8.00\r\n"));
    let console = run.text("profile_export_console.txt");
    let place = |title: &str| console.find(title).unwrap_or_else(|| panic!("{title} in {console}"));
    assert!(place("NVIDIA AIPerf | Experimental Metrics") < place("NVIDIA AIPerf | Internal Metrics"));
    assert!(place("NVIDIA AIPerf | Internal Metrics") < place("NVIDIA AIPerf | LLM Metrics"));

    let run = shown("false");
    assert!(run.stderr().contains("AIPERF_DEV_SHOW_INTERNAL_METRICS has no effect without AIPERF_DEV_MODE=true"));
    let (summary, records) = (run.summary(), run.records());
    for tag in hidden {
        assert!(
            summary.get(tag).is_none() && records.iter().all(|record| record["metrics"].get(tag).is_none()),
            "{tag}"
        );
    }
    assert!(!run.text("profile_export_console.txt").contains("Internal Metrics"));
}

#[test]
fn the_phases_of_http_exchanges_are_shown_on_request() {
    let sim = serve(quick());
    let console = |args: &[&str]| {
        let run = Bench::of(&sim.url()).with(&["--streaming", "--request-count", "3"]).with(args).run();
        assert_eq!(run.code(), Some(0), "{}", run.stderr());
        run.text("profile_export_console.txt")
    };
    let text = console(&["--show-trace-timing"]);
    let (main, trace) = text.split_once("NVIDIA AIPerf | HTTP Trace Timing").expect(&text);
    assert!(main.contains("NVIDIA AIPerf | LLM Metrics"), "the trace follows the metrics");
    let rows = ["HTTP Blocked (ms)", "HTTP Connecting (ms)", "HTTP TLS Handshaking (ms)", "HTTP Total Time (ms)"];
    assert!(rows.iter().all(|row| trace.contains(row)), "{trace}");
    assert!(!console(&[]).contains("HTTP Trace Timing"));
}

#[test]
fn a_model_without_a_local_tokenizer_is_still_measured() {
    let sim = serve(quick());
    let run = Bench::bare()
        .with(&["--model", "Qwen/Qwen3-0.6B", "--url", &sim.url(), "--streaming", "--request-count", "2"])
        .env("HF_HOME", "/nowhere")
        .run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert!(run.stdout().contains("No tokenizer for model 'Qwen/Qwen3-0.6B' on this machine"), "{}", run.stdout());
}
