//! Bad input is refused with one clear message and exit code 2, before anything is sent.

use crate::bench::{Bench, quick, serve};
use std::io::{Read, Write};
use std::net::TcpStream;

fn refused(args: &[&str], parts: &[&str]) {
    let sim = serve(quick());
    let run = Bench::of(&sim.url()).with(args).run();
    assert_eq!(run.code(), Some(2), "{args:?}: {}", run.stderr());
    let message = run.stderr();
    for part in parts {
        assert!(message.contains(part), "{args:?} should print {part:?}:\n{message}");
    }
    assert!(message.contains("error: "), "{message}");
    assert_eq!(served_count(&sim.url()), 0.0, "nothing may be sent");
}

fn served(url: &str) -> String {
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    text
}

fn served_count(url: &str) -> f64 {
    let text = served(url);
    let lines = text.lines().filter(|line| line.starts_with("vllm:request_success_total"));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

#[test]
fn an_unknown_flag_is_named_with_its_nearest_neighbour() {
    refused(&["--concurency", "4"], &["--concurency", "--concurrency"]);
}

#[test]
fn a_value_of_the_wrong_type_is_named() {
    refused(&["--concurrency", "many"], &["--concurrency", "many"]);
}

#[test]
fn flags_that_exclude_each_other_are_named() {
    refused(&["--benchmark-grace-period", "3"], &["--benchmark-grace-period", "--benchmark-duration"]);
}

#[test]
fn a_flag_of_a_missing_feature_is_refused_by_name() {
    refused(&["--burst-phase-starts"], &["--burst-phase-starts"]);
}

#[test]
fn an_unknown_tokenizer_is_named_with_a_suggestion() {
    let sim = serve(quick());
    let args = ["--model", "m", "--url", &sim.url(), "--tokenizer", "no/such", "--ui", "none"];
    let run = Bench::bare().with(&args).run();
    assert_eq!(run.code(), Some(2), "{}", run.stderr());
    assert!(run.stderr().contains("no/such") && run.stderr().contains("try:"), "{}", run.stderr());
}

#[test]
fn an_objective_on_an_unknown_metric_is_named_with_a_suggestion() {
    let objectives = "request_latancy:100 ttft:20";
    let parts =
        ["--goodput", "request_latancy: no such metric", "try: request_latency for", "time_to_first_token for ttft"];
    refused(&["--streaming", "--goodput", objectives], &parts);
}

#[test]
fn an_objective_on_a_metric_that_the_run_lacks_is_named_with_what_is_missing() {
    refused(&["--goodput", "time_to_first_token:20"], &["--goodput", "needs a streaming run", "try: --streaming"]);
    let args = ["--streaming", "--goodput", "inter_chunk_latency:20"];
    refused(&args, &["--goodput", "inter_chunk_latency: has several values a request"]);
}

#[test]
fn an_objective_without_a_finite_threshold_is_named() {
    refused(&["--goodput", "request_latency:inf"], &["--goodput inf is not a threshold for request_latency", "try:"]);
    refused(&["--goodput", "request_latency:nan"], &["--goodput", "'nan' for request_latency", "try:"]);
}

#[test]
fn a_slice_without_a_length_is_refused() {
    refused(&["--slice-duration", "0"], &["--slice-duration 0 must be more than 0"]);
    refused(&["--slice-duration", "inf"], &["--slice-duration inf is not a length for a time slice"]);
}

#[test]
fn a_variable_out_of_its_range_is_named() {
    let run = Bench::of("http://127.0.0.1:9").env("AIPERF_METRICS_USAGE_PCT_DIFF_THRESHOLD", "101").run();
    assert_eq!(run.code(), Some(2), "{}", run.stderr());
    assert!(run.stderr().contains("AIPERF_METRICS_USAGE_PCT_DIFF_THRESHOLD=101 must be at least 0 and at most 100"));
}

#[test]
fn a_missing_model_is_refused() {
    let run = Bench::bare().with(&["--url", "http://127.0.0.1:9"]).run();
    assert_eq!(run.code(), Some(2));
    assert!(run.stderr().contains("--model"), "{}", run.stderr());
}

#[test]
fn a_directory_that_cannot_be_written_to_is_named() {
    let bench = Bench::of("http://127.0.0.1:9");
    std::fs::write(bench.dir.path().join("out"), "a file in the way").unwrap();
    let run = bench.run();
    assert_eq!(run.code(), Some(2), "{}", run.stderr());
    assert!(run.stderr().contains("--artifact-dir"), "{}", run.stderr());
}

#[test]
fn a_run_that_this_machine_cannot_execute_keeps_earlier_files() {
    let sim = serve(quick());
    for args in [&["--concurrency", "100000000", "--benchmark-duration", "1"][..], &["--goodput", "nonsense:1"]] {
        let bench = Bench::of(&sim.url()).with(args);
        let out = bench.dir.path().join("out");
        std::fs::create_dir(&out).unwrap();
        let files = ["profile_export.jsonl", ".aiperf_results_ready.json", "inputs.json"].map(|name| out.join(name));
        files.iter().for_each(|path| std::fs::write(path, "earlier").unwrap());
        let run = bench.run();
        assert_eq!(run.code(), Some(2), "{}", run.stderr());
        for path in files {
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "earlier", "{}", path.display());
        }
    }
}

#[test]
fn files_that_a_run_would_replace_are_refused_and_stay() {
    let sim = serve(quick());
    let row = "{\"text\": \"hello\"}\n";
    let own = "out/profile_export_aiperf.json";
    for (input, junit) in [
        ("out/profile_export.jsonl", None),
        ("out/inputs.json", None),
        ("out/other.jsonl", Some("out/other.jsonl")),
        ("other.jsonl", Some(own)),
    ] {
        let bench =
            Bench::bare().with(&["--model", "m", "--url", &sim.url(), "--tokenizer", "builtin", "--ui", "none"]);
        let bench = bench.with(&["--input-file", input, "--custom-dataset-type", "single_turn"]);
        let bench =
            junit.map_or_else(Vec::new, |junit| vec!["--junit", junit]).iter().fold(bench, |b, arg| b.with(&[arg]));
        std::fs::create_dir(bench.dir.path().join("out")).unwrap();
        for file in [own, input] {
            std::fs::write(bench.dir.path().join(file), row).unwrap();
        }
        let run = bench.run();
        assert_eq!(run.code(), Some(2), "{}", run.stderr());
        assert!(run.stderr().contains("one would replace the other"), "{}", run.stderr());
        for file in [own, input] {
            assert_eq!(std::fs::read_to_string(run.dir.path().join(file)).unwrap(), row);
        }
    }
    assert_eq!(served_count(&sim.url()), 0.0, "nothing may be sent");
}

#[test]
fn files_that_settings_are_read_from_are_never_replaced() {
    let sim = serve(quick());
    let config = format!(
        "benchmark: {{model: m, tokenizer: {{name: builtin}}, dataset: {{isl: 5}}, endpoint: {{url: '{}'}}, \
         profiling: {{type: concurrency, requests: 1}}, \
         artifacts: {{dir: out, user_files: [{{path: c.yaml, content: other}}]}}}}\n",
        sim.url()
    );
    let usual = ["--model", "m", "--url", &sim.url(), "--tokenizer", "builtin", "--request-count", "1"];
    let key = [&usual[..], &["--api-key", "@out/inputs.json"]].concat();
    let junit = [&usual[..], &["--api-key", "@key", "--junit", "key"]].concat();
    for (args, file, text) in [
        (&["--config", "out/c.yaml"][..], "out/c.yaml", config.as_str()),
        (&key, "out/inputs.json", "sk-1234567890"),
        (&junit, "key", "sk-1234567890"),
    ] {
        let bench = Bench::bare().with(args);
        std::fs::create_dir(bench.dir.path().join("out")).unwrap();
        std::fs::write(bench.dir.path().join(file), text).unwrap();
        let run = bench.run();
        assert_eq!(run.code(), Some(2), "{}", run.stderr());
        assert!(run.stderr().contains("one would replace the other"), "{}", run.stderr());
        assert_eq!(std::fs::read_to_string(run.dir.path().join(file)).unwrap(), text);
    }
    assert_eq!(served_count(&sim.url()), 0.0, "nothing may be sent");
}
