//! Limits that fail a run, and the JUnit file about them.

use crate::bench::{Bench, Run, quick, serve};
use aiperf_sim::{Latency, SimConfig};
use serde_json::{Value, json};
use std::time::Duration;

/// Ten requests with these limits.
fn held(url: &str, limits: &[&str]) -> Bench {
    let bench = Bench::of(url).with(&["--streaming", "--concurrency", "2", "--request-count", "10"]);
    limits.iter().fold(bench, |bench, limit| bench.with(&["--fail-if", limit]))
}

fn junit(run: &Run) -> String {
    let text = std::fs::read_to_string(run.dir.path().join("junit.xml")).unwrap();
    check_well_formed(&text);
    text
}

/// Every element that is opened is closed, in order.
fn check_well_formed(xml: &str) {
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").expect("a declaration");
    let mut open = Vec::new();
    for piece in body.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').unwrap_or_else(|| panic!("{piece} does not end"));
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name), "{xml}"),
            (false, false) => open.push(name),
            (false, true) => {}
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
    }
    assert!(open.is_empty(), "{open:?}");
}

/// How many times a text occurs in another.
fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn a_run_within_its_limits_succeeds() {
    let sim = serve(quick());
    let limits =
        ["time_to_first_token.p99>60000ms", "request_throughput < 0.001", "error_request_count>0", "request_count<10"];
    let run = held(&sim.url(), &limits).with(&["--junit", "junit.xml"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let summary = run.summary();
    let judged = summary["limits"].as_array().unwrap();
    assert!(judged.len() == 4 && judged.iter().all(|limit| limit["crossed"] == false), "{judged:?}");
    let ttft = json!({
        "metric": "time_to_first_token", "stat": "p99", "op": "gt", "threshold": 60000.0, "unit": "ms",
        "observed": summary["time_to_first_token"]["p99"], "crossed": false,
    });
    assert_eq!(judged[0], ttft);
    assert_eq!((&judged[2]["observed"], &judged[2]["unit"]), (&json!(0.0), &json!("requests")));
    let text = junit(&run);
    assert!(text.contains("tests=\"5\" failures=\"0\" errors=\"0\""), "{text}");
    let named =
        "name=\"fail-if time_to_first_token.p99&gt;60000ms\">\n      <system-out>10 requests are not enough for p99";
    assert!(text.contains(named), "{text}");
    // A verdict is no failure: the suite and the case of the run have it as a property.
    let verdict = summary["measurement"]["verdict"]["is"].as_str().unwrap();
    assert_eq!(count(&text, &format!("<property name=\"verdict\" value=\"{verdict}\"/>")), 2, "{text}");
    let below = "time_to_first_token: 10 requests are not enough for p99";
    assert!(run.stdout().lines().any(|line| line.starts_with(below)), "{}", run.stdout());
}

#[test]
fn a_crossed_limit_is_shown_and_written_and_sets_the_exit_code() {
    let sim = serve(quick());
    let limits =
        ["time_to_first_token.p99>0.001", "request_latency.avg>=60000", "output_token_throughput_per_user.p50<1"];
    let run = held(&sim.url(), &limits).with(&["--junit", "junit.xml"]).run();
    assert_eq!(run.code(), Some(3), "{}", run.stderr());
    let crossed: Vec<Value> =
        run.summary()["limits"].as_array().unwrap().iter().map(|limit| limit["crossed"].clone()).collect();
    assert_eq!(crossed, [true, false, false]);
    for shown in [run.stdout(), run.text("profile_export_console.txt")] {
        let row = shown.lines().find(|line| line.contains("time_to_first_token p99 (ms)")).unwrap();
        assert!(
            shown.contains("NVIDIA AIPerf | Limits") && row.contains("> 0.001") && row.contains("crossed"),
            "{shown}"
        );
    }
    assert!(!run.text("profile_export_aiperf.csv").contains("0.001"));
    let text = junit(&run);
    assert_eq!(count(&text, "<failure "), 1, "{text}");
    assert!(text.contains("<failure message=\"time_to_first_token.p99 is "), "{text}");
    assert!(text.contains("; 10 requests are not enough for p99"), "{text}");
    let marker: Value = serde_json::from_str(&run.text(".aiperf_results_ready.json")).unwrap();
    assert_eq!(marker["ready"], true);
}

#[test]
fn the_reasons_of_a_verdict_are_in_the_file_for_ci_and_below_the_limits() {
    let sim = serve(quick());
    // Reads without arrival stamps are a reason on any machine.
    let run = held(&sim.url(), &["request_count<1"]).with(&["--timestamps", "user", "--junit", "junit.xml"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let verdict = run.summary()["measurement"]["verdict"]["is"].as_str().unwrap().to_owned();
    assert_ne!(verdict, "trustworthy");
    let text = junit(&run);
    assert!(text.contains("failures=\"0\" errors=\"0\""), "{text}");
    assert!(text.contains(&format!("<system-out>verdict: {verdict}&#10;- ")), "{text}");
    let fix = "- 100.0% of reads have no arrival stamp (as --timestamps user asks)&#10;  try: use --timestamps auto";
    assert!(text.contains(fix), "{text}");
    let (_, below) = run.stdout().split_once("| Limits").map(|(_, rest)| ((), rest.to_owned())).unwrap();
    assert!(below.contains(&format!("The observed values are {verdict}: ")), "{below}");
}

#[test]
fn the_table_fits_a_terminal_of_80_columns() {
    let sim = serve(quick());
    let limits = ["output_token_throughput_per_user.p99<0.00001", "error_request_count>=1", "request_latency.p99>0.5"];
    let (code, text) = held(&sim.url(), &limits).on_a_terminal(80);
    assert_eq!(code, Some(3));
    let table: Vec<&str> = text.lines().skip_while(|line| !line.contains("| Limits")).take(20).collect();
    let table = table.join("\n");
    assert!(table.contains("fails if") && table.contains("met") && table.contains("crossed"), "{table}");
    for line in text.lines().skip_while(|line| !line.contains("| Limits")).take_while(|line| !line.contains('└')) {
        assert!(line.trim_end().chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_limit_that_cannot_be_judged_is_refused_before_anything_is_written() {
    let sim = serve(quick());
    let refused: &[(&str, &[&str])] = &[
        ("time_to_first_token.p99", &["no comparison", "in quotes"]),
        ("time_to_first_token.p98>5", &["'p98', not one of avg"]),
        ("request_latency.p99>soon", &["not a finite number"]),
        ("ttft.p99>5", &["ttft.p99>5: no such metric", "time_to_first_token for ttft"]),
        ("request_latency>5", &["none is named", "request_latency.p99"]),
        ("request_throughput.p99>5", &["has one value"]),
        ("request_latency.p99>5s", &["is shown in ms"]),
        ("time_to_first_token.p99>5", &["needs a streaming run", "--streaming for time_to_first_token"]),
        ("network_rtt.avg>5", &[]),
        ("total_gpu_power>5", &["needs what GPUs report"]),
        ("goodput<5", &["needs service level objectives", "--goodput"]),
    ];
    for (limit, words) in refused {
        let run = held(&sim.url(), &[limit]).without("--streaming").with(&["--junit", "junit.xml"]).run();
        assert_eq!(run.code(), Some(2), "{limit}: {}", run.stderr());
        for word in *words {
            assert!(run.stderr().contains(word), "{limit}: {word} in {}", run.stderr());
        }
        assert_eq!(std::fs::read_dir(run.dir.path()).unwrap().count(), 0, "{limit} left something");
    }
    for (file, way_out) in [("no/junit.xml", "mkdir -p"), (".", "a file")] {
        let run = held(&sim.url(), &[]).with(&["--junit", file]).run();
        assert_eq!(run.code(), Some(2), "{file}: {}", run.stderr());
        assert!(run.stderr().contains("--junit ") && run.stderr().contains(way_out), "{}", run.stderr());
        assert_eq!(std::fs::read_dir(run.dir.path()).unwrap().count(), 0, "{file} left something");
    }
}

#[test]
fn limits_of_a_file_and_of_flags_hold_together() {
    let sim = serve(quick());
    let file = format!(
        "benchmark:\n  model: m\n  tokenizer: {{name: builtin}}\n  endpoint: {{url: '{}', streaming: true}}\n  dataset: {{isl: 8, osl: 8}}\n  \
         profiling: {{type: concurrency, requests: 5}}\n\
         limits:\n- time_to_first_token.p99>0.001\n- {{metric: request_latency, stat: avg, op: gt, threshold: 60000}}\njunit: junit.xml\n",
        sim.url()
    );
    let bench = Bench::bare().with(&["-f", "c.yaml", "--fail-if", "request_count<5", "--ui", "none"]);
    std::fs::write(bench.dir.path().join("c.yaml"), file).unwrap();
    let run = bench.run();
    assert_eq!(run.code(), Some(3), "{}", run.stderr());
    let metrics: Vec<Value> =
        run.summary()["limits"].as_array().unwrap().iter().map(|limit| limit["metric"].clone()).collect();
    assert_eq!(metrics, ["time_to_first_token", "request_latency", "request_count"]);
    assert_eq!(count(&junit(&run), "<testcase "), 4);
    for (limits, words) in [
        ("limits: 5", "must be a list of limits"),
        ("limits: [{metric: request_latency, op: gt}]", "not a whole limit"),
        ("limits: ['request_latency.p99']", "no comparison"),
        ("limits: [{metric: request_latency, stat: p99, op: above, threshold: 5}]", "is not one of its choices"),
    ] {
        let bench = Bench::bare().with(&["-f", "c.yaml"]);
        let file = format!("benchmark:\n  model: m\n  endpoint: {{url: '{}'}}\n{limits}\n", sim.url());
        std::fs::write(bench.dir.path().join("c.yaml"), file).unwrap();
        let run = bench.run();
        assert_eq!(run.code(), Some(2), "{limits}: {}", run.stderr());
        assert!(run.stderr().contains("c.yaml:4:") && run.stderr().contains(words), "{limits}: {}", run.stderr());
    }
}

#[test]
fn a_failed_run_is_an_error_and_not_a_crossed_limit() {
    let sim = serve(SimConfig { faults: vec!["status:503=1".parse().unwrap()], ..quick() });
    let limits = ["error_request_count>0", "request_latency.p99>5"];
    let run = held(&sim.url(), &limits).with(&["--junit", "junit.xml"]).run();
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    let summary = run.summary();
    assert_eq!((&summary["limits"][0]["observed"], &summary["limits"][0]["crossed"]), (&json!(10.0), &json!(true)));
    assert_eq!((&summary["limits"][1]["observed"], &summary["limits"][1]["crossed"]), (&Value::Null, &json!(true)));
    assert!(run.stdout().contains("not measured"), "{}", run.stdout());
    let text = junit(&run);
    assert!(text.contains("failures=\"0\" errors=\"3\"") && text.contains("all 10 requests failed"), "{text}");
}

#[test]
fn a_metric_that_was_not_measured_does_not_pass() {
    let sim = serve(quick());
    // Only a server with a cache reports how much of a prompt was cached.
    let run = held(&sim.url(), &["http_req_connection_reused.avg<-1", "usage_reasoning_tokens.avg>1000000"]).run();
    assert_eq!(run.code(), Some(3), "{}\n{}", run.stderr(), run.stdout());
    assert!(run.stdout().contains("not measured"), "{}", run.stdout());
}

#[test]
fn a_signal_takes_precedence() {
    let sim = serve(SimConfig { itl: Latency::constant(Duration::from_millis(20)), ..quick() });
    let args = ["--streaming", "--concurrency", "4", "--request-count", "100000", "--num-dataset-entries", "10"];
    let limits = ["--fail-if", "request_latency.p99>0.001", "--junit", "junit.xml"];
    let running = Bench::of(&sim.url()).with(&args).with(&limits).start();
    running.wait_for_records(8);
    running.signal("INT");
    let run = running.finish();
    assert_eq!(run.code(), Some(130), "{}", run.stderr());
    let text = junit(&run);
    assert!(text.contains("errors=\"2\"") && text.contains("stopped before it was complete"), "{text}");
}

#[test]
fn a_file_for_ci_that_cannot_be_written_is_a_failure() {
    let sim = serve(quick());
    let run = held(&sim.url(), &["request_latency.p99>0.001"]).with(&["--junit", "/dev/full"]).run();
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    assert!(run.stderr().contains("cannot write /dev/full"), "{}", run.stderr());
    assert_eq!(run.summary()["limits"][0]["crossed"], true);
}

#[test]
fn every_one_of_several_runs_is_judged() {
    let sim = serve(quick());
    let several = ["--concurrency", "1,2", "--request-count", "6", "--junit", "junit.xml"];
    let swept = |limit: &str| {
        let bench =
            Bench::of(&sim.url()).with(&["--streaming", "--fail-if", "error_request_count>0", "--fail-if", limit]);
        bench.with(&several).run()
    };
    let run = swept("effective_concurrency.max>1.5");
    assert_eq!(run.code(), Some(3), "{}\n{}", run.stderr(), run.stdout());
    for (cell, crossed) in [("concurrency_1", false), ("concurrency_2", true)] {
        let summary: Value = serde_json::from_str(&run.text(&format!("{cell}/profile_export_aiperf.json"))).unwrap();
        assert_eq!(summary["limits"][1]["crossed"], crossed, "{cell}");
    }
    let text = junit(&run);
    assert!(text.contains("tests=\"6\" failures=\"1\" errors=\"0\""), "{text}");
    assert_eq!(count(&text, "<property name=\"verdict\""), 3, "one of the suite and one of each run: {text}");
    assert_eq!(count(&text, "classname=\"aiperf.profile.concurrency_"), 6, "{text}");
    assert!(run.text("logs/aiperf.log").contains("Limits kept: 3 of 4"), "{}", run.text("logs/aiperf.log"));
    // Complete runs are judged by the limits of this command.
    let resumed = Bench::of(&sim.url()).in_place_of(run).with(&["--streaming"]).with(&several).with(&["--resume"]);
    let resumed = resumed.with(&["--fail-if", "request_latency.p99>0.001"]).run();
    assert_eq!(resumed.code(), Some(3), "{}", resumed.stderr());
    assert_eq!(count(&junit(&resumed), "<failure "), 2);
    let met = swept("request_latency.p99>60000");
    assert_eq!(met.code(), Some(0), "{}", met.stderr());
}
