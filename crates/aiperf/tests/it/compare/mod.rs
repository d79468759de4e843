//! `aiperf compare` from the view of a user and of a pipeline: directories of the reference and generated ones, limits,
//! files, bad input.

mod runs;

use runs::Run;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn compare(dirs: &[&Path], args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aiperf")).arg("compare").args(dirs).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/compare/reference").join(name)
}

/// The comparison as JSON, whatever the exit code.
fn json(dirs: &[&Path], args: &[&str]) -> Value {
    let output = compare(dirs, &[args, &["--json", "-"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)))
}

/// Rows of the first pair.
fn rows(report: &Value) -> &[Value] {
    report["comparisons"][0]["metrics"].as_array().unwrap()
}

fn row<'a>(report: &'a Value, metric: &str, stat: &str) -> &'a Value {
    let wanted = |row: &&Value| row["metric"] == metric && row["stat"] == stat;
    rows(report).iter().find(wanted).unwrap_or_else(|| panic!("{metric} {stat}: {report}"))
}

/// Refused with exit code 2, with all of these words and a suggestion, and nothing on stdout.
fn refused(output: &Output, words: &[&str]) {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(stdout(output), "", "{message}");
    for word in words.iter().chain(&["try: "]) {
        assert!(message.contains(word), "no '{word}' in: {message}");
    }
}

struct Pair {
    _dir: TempDir,
    first: PathBuf,
    second: PathBuf,
}

fn pair(first: &Run, second: &Run) -> Pair {
    let dir = TempDir::new().unwrap();
    let (first, second) = (first.write(&dir.path().join("before")), second.write(&dir.path().join("after")));
    Pair { _dir: dir, first, second }
}

impl Pair {
    fn dirs(&self) -> [&Path; 2] {
        [&self.first, &self.second]
    }
}

#[test]
fn records_of_more_requests_than_the_summary_counts_are_noted() {
    let dir = TempDir::new().unwrap();
    let few = Run { requests: 12, ..Run::default() }.write(&dir.path().join("few"));
    let many = Run { requests: 600, ..Run::default() }.write(&dir.path().join("many"));
    let notes = |report: &Value| report["notes"].to_string();
    let note = "holds 600 records, and the summary counts 12 requests: they contradict each other";
    assert!(!notes(&json(&[&few, &many], &[])).contains("contradict"));
    fs::copy(many.join("profile_export.jsonl"), few.join("profile_export.jsonl")).unwrap();
    assert!(notes(&json(&[&few, &many], &[])).contains(note));
}

#[test]
fn the_doubts_of_each_run_are_noted() {
    let runs = pair(&Run::default(), &Run { slower: 1.1, ..Run::default() });
    for (dir, doubts) in [(&runs.first, &[][..]), (&runs.second, &["43.0% of chunks arrived several to a read"])] {
        let path = dir.join("profile_export_aiperf.json");
        let mut summary: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        summary["measurement"]["doubts"] = doubts.into();
        fs::write(&path, summary.to_string()).unwrap();
    }
    let note = "B doubts its numbers: 43.0% of chunks arrived several to a read";
    assert_eq!(json(&runs.dirs(), &[])["notes"], serde_json::json!([note]));
    assert!(stdout(&compare(&runs.dirs(), &[])).contains(note));
}

/// Writes a `measurement` block into the summary of a run.
fn measured(dir: &Path, verdict: &str, ttft_bound_ms: f64) {
    let path = dir.join("profile_export_aiperf.json");
    let mut summary: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let bound = serde_json::json!({"bound": ttft_bound_ms, "early": ttft_bound_ms, "late": 0});
    let reason = serde_json::json!({
        "code": "error_bound", "value": 0.5, "limit": 0.1, "text": "read late <by far>", "fix": "a second machine",
    });
    let reasons = if verdict == "trustworthy" { vec![] } else { vec![reason] };
    summary["measurement"] = serde_json::json!({
        "verdict": {"is": verdict, "reasons": reasons},
        "error_bound": {"unit": "ms", "time_to_first_token": {"avg": bound, "p50": bound}},
        "doubts": [],
    });
    fs::write(&path, summary.to_string()).unwrap();
}

#[test]
fn a_difference_within_the_error_of_the_measurement_is_undecided() {
    // About 2.5 ms of difference in the time to first token.
    let runs = pair(&Run::default(), &Run { slower: 1.1, seed: 2, ..Run::default() });
    let found = |bounds: (f64, f64)| {
        measured(&runs.first, "trustworthy", bounds.0);
        measured(&runs.second, "client-bound", bounds.1);
        let report = json(&runs.dirs(), &limit_args());
        let of = |stat| row(&report, "time_to_first_token", stat).clone();
        let limit = report["comparisons"][0]["limits"][0].clone();
        (of("avg"), of("p90"), limit, compare(&runs.dirs(), &limit_args()).status.code())
    };
    let (avg, p90, limit, code) = found((0.0001, 0.0001));
    assert_eq!((&avg["verdict"], &limit["outcome"], code), (&"worse".into(), &"beyond".into(), Some(3)), "{avg}");
    assert_eq!(p90["verdict"], "worse", "{p90}");
    let (avg, p90, limit, code) = found((1.5, 12.0));
    assert_eq!((&avg["verdict"], &avg["reason"]), (&"undecided".into(), &"error_bound".into()), "{avg}");
    assert_eq!(avg["error_bounds"], serde_json::json!([1.5, 12.0]));
    assert_eq!((&limit["outcome"], &limit["reason"], code), (&"undecided".into(), &"error_bound".into(), Some(4)));
    // A statistic without a bound is decided as before.
    assert_eq!((&p90["verdict"], p90.get("error_bounds")), (&"worse".into(), None), "{p90}");
    let text = stdout(&compare(&runs.dirs(), &limit_args()));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("the measurement itself can be off by 13.50 ms (TTFT avg)"), "{text}");
    // A limit far away is still within.
    let far = compare(&runs.dirs(), &["--fail-on", "time_to_first_token:avg:+500%"]);
    assert_eq!(far.status.code(), Some(0), "{}", stdout(&far));
}

fn limit_args() -> [&'static str; 2] {
    ["--fail-on", "time_to_first_token:avg:+5%"]
}

#[test]
fn the_verdict_of_each_side_is_in_the_table_in_json_and_in_the_file_for_ci() {
    let runs = pair(&Run::default(), &Run { slower: 1.1, seed: 2, ..Run::default() });
    measured(&runs.first, "trustworthy", 0.0001);
    measured(&runs.second, "client-bound", 0.0001);
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("limits.xml");
    let args = [&limit_args()[..], &["--junit", path.to_str().unwrap()]].concat();
    let report = json(&runs.dirs(), &args);
    let sides = report["sides"].as_array().unwrap();
    let verdicts: Vec<&Value> = sides.iter().map(|side| &side["measurement_verdict"]).collect();
    assert_eq!(verdicts, ["trustworthy", "client-bound"]);
    let verdict = &sides[1]["measurement"]["verdict"];
    assert_eq!((&verdict["is"], &verdict["reasons"][0]["fix"]), (&"client-bound".into(), &"a second machine".into()));
    assert_eq!(report["notes"], serde_json::json!(["the measurement of B is client-bound: read late <by far>"]));
    let text = stdout(&compare(&runs.dirs(), &[]));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("one run, 2,000 records, trustworthy"), "{text}");
    assert!(flat.contains("one run, 2,000 records, client-bound"), "{text}");
    let xml = fs::read_to_string(path).unwrap();
    assert!(xml.contains("<property name=\"verdict.A\" value=\"trustworthy\"/>"), "{xml}");
    assert!(xml.contains("<property name=\"verdict.B\" value=\"client-bound\"/>"), "{xml}");
    assert!(
        xml.contains("<system-out>B: the measurement is client-bound&#10;- after: read late &lt;by far&gt;"),
        "{xml}"
    );
}

#[test]
fn a_run_of_the_reference_against_itself_differs_in_nothing() {
    let dir = reference("stream");
    let output = compare(&[&dir, &dir], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = json(&[&dir, &dir], &[]);
    assert!(rows(&report).len() > 20, "{report}");
    for row in rows(&report) {
        assert_eq!((row["difference"].as_f64(), &row["first"]), (Some(0.0), &row["second"]), "{row}");
        assert!(["undecided", "neutral", "equal"].contains(&row["verdict"].as_str().unwrap()), "{row}");
        assert!(row["verdict"] != "equal" || row["first"].as_f64() == Some(0.0), "{row}");
    }
    assert_eq!(report["sides"][0]["records"], 10);
    // The records and the summary agree.
    assert_eq!(row(&report, "request_latency", "avg")["first"].as_f64().map(|value| value.round()), Some(73.0));
    let text = stdout(&output);
    assert!(text.contains("too little data") && !text.contains("settings of"), "{text}");
}

#[test]
fn a_slower_run_is_worse_and_a_faster_one_better() {
    let runs = pair(&Run::default(), &Run { slower: 1.1, seed: 2, ..Run::default() });
    let report = json(&runs.dirs(), &[]);
    for (metric, stat) in [("request_latency", "avg"), ("request_latency", "p99"), ("time_to_first_token", "p50")] {
        let row = row(&report, metric, stat);
        assert_eq!(row["verdict"], "worse", "{row}");
        let percent = row["difference_percent"].as_f64().unwrap();
        assert!((8.0..12.0).contains(&percent), "{row}");
        let (low, high) = (row["interval"][0].as_f64().unwrap(), row["interval"][1].as_f64().unwrap());
        assert!(0.0 < low && low < row["difference"].as_f64().unwrap() && high < 40.0, "{row}");
    }
    assert_eq!(row(&report, "request_throughput", "avg")["verdict"], "worse");
    assert_eq!(row(&report, "input_sequence_length", "avg")["verdict"], "neutral");
    assert_eq!(row(&report, "request_count", "avg")["verdict"], "neutral");
    let [before, after] = runs.dirs();
    let back = json(&[after, before], &[]);
    assert_eq!(row(&back, "request_latency", "avg")["verdict"], "better");
    assert_eq!(row(&back, "request_throughput", "avg")["verdict"], "better");
}

#[test]
fn another_run_of_the_same_is_undecided() {
    let runs = pair(&Run::default(), &Run { seed: 7, ..Run::default() });
    let report = json(&runs.dirs(), &[]);
    for row in rows(&report) {
        assert!(["undecided", "neutral", "equal"].contains(&row["verdict"].as_str().unwrap()), "{row}");
    }
}

#[test]
fn zero_against_zero_is_equal() {
    let runs = pair(&Run::default(), &Run { seed: 7, ..Run::default() });
    let report = json(&runs.dirs(), &[]);
    let row = row(&report, "request_error_rate", "avg");
    assert_eq!(
        (&row["verdict"], row["first"].as_f64(), row["second"].as_f64()),
        (&"equal".into(), Some(0.0), Some(0.0))
    );
    assert!(row["reason"].is_null(), "{row}");
}

#[test]
fn limits_are_within_beyond_or_undecided_by_exit_code() {
    let runs = pair(&Run::default(), &Run { slower: 1.1, seed: 2, ..Run::default() });
    for (rules, code) in [
        (&["request_latency:avg:+20%"][..], 0),
        (&["request_latency:avg:+5%"], 3),
        (&["request_latency:avg:+9%"], 4),
        (&["request_latency:avg:+5ms"], 3),
        (&["request_latency:avg:+50 ms"], 0),
        (&["request_latency:avg:-5%"], 0),
        (&["request_throughput:avg:-5%"], 3),
        (&["request_throughput:avg:-20%"], 0),
        (&["request_latency:avg:+20%", "time_to_first_token:p50:+5%"], 3),
        (&["request_latency:avg:+20%", "request_latency:avg:+9%"], 4),
        (&["request_latency:avg:+9%", "request_latency:p50:+5%"], 3),
        // No request failed on either side, but a few might.
        (&["request_error_rate:avg:+5%"], 4),
        (&["request_count:avg:+5%"], 4),
    ] {
        let args: Vec<&str> = rules.iter().flat_map(|rule| ["--fail-on", rule]).collect();
        let output = compare(&runs.dirs(), &args);
        assert_eq!(output.status.code(), Some(code), "{rules:?}: {}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).contains(&format!("--fail-on {}: ", rules[0])), "{}", stdout(&output));
    }
    // So few requests prove nothing, however different they are.
    let few = |slower| Run { requests: 20, slower, ..Run::default() };
    let runs = pair(&few(1.0), &few(9.0));
    assert_eq!(compare(&runs.dirs(), &["--fail-on", "request_latency:avg:+5%"]).status.code(), Some(4));
}

/// 1,500 requests, of which so many failed; the others are faster than those of a run without failures.
fn failing(failed: usize) -> Run {
    Run { requests: 1500 - failed, failed, slower: if failed > 0 { 0.8 } else { 1.0 }, seed: 3, ..Run::default() }
}

#[test]
fn a_run_that_fails_more_is_worse_and_keeps_no_limit_on_what_succeeded() {
    let runs = pair(&failing(0), &failing(750));
    let report = json(&runs.dirs(), &["--fail-on", "request_latency:p99:+5%"]);
    let first = &rows(&report)[0];
    assert_eq!((first["metric"].as_str(), first["verdict"].as_str()), (Some("request_error_rate"), Some("worse")));
    assert_eq!((first["first"].as_f64(), first["second"].as_f64()), (Some(0.0), Some(50.0)));
    let (low, high) = (first["interval"][0].as_f64().unwrap(), first["interval"][1].as_f64().unwrap());
    assert!(low > 47.0 && high < 53.0 && first["p"].as_f64().unwrap() < 1e-200, "{first}");
    let failures = &report["comparisons"][0]["failures"];
    assert_eq!((&failures["second"]["failed"], &failures["change"]), (&750.into(), &"rose".into()));
    let limit = &report["comparisons"][0]["limits"][0];
    assert_eq!((&limit["outcome"], &limit["reason"]), (&"beyond".into(), &"more_failures".into()));
    for rule in ["request_latency:avg:+5%", "time_to_first_token:p99:+50%", "request_error_rate:avg:+5%"] {
        let output = compare(&runs.dirs(), &["--fail-on", rule]);
        assert_eq!(output.status.code(), Some(3), "{rule}: {}", stdout(&output));
        let text = stdout(&output).replace('\n', " ");
        let words = "B fails more requests than A: 750 of 1,500 requests (50.00%), against 0 of 1,500 requests (0.00%)";
        let note = text.find(words).unwrap_or_else(|| panic!("{text}"));
        assert!(text.find("Metric").is_some_and(|table| note < table), "{text}");
    }
    // In the other direction it is better, and only the limits on latencies count.
    let [before, after] = runs.dirs();
    let back = json(&[after, before], &["--fail-on", "request_latency:avg:+50%"]);
    assert_eq!(row(&back, "request_error_rate", "avg")["verdict"], "better");
    assert_eq!(back["comparisons"][0]["limits"][0]["outcome"], "within");
}

#[test]
fn a_few_failures_may_be_chance() {
    let runs = pair(&failing(0), &failing(3));
    let report = json(&runs.dirs(), &["--fail-on", "request_latency:avg:+5%"]);
    let first = &rows(&report)[0];
    assert_eq!((&first["metric"], &first["reason"]), (&"request_error_rate".into(), &"within_noise".into()));
    assert_eq!(report["comparisons"][0]["limits"][0]["outcome"], "within");
    assert!(!report["notes"].to_string().contains("fails more"), "{report}");
}

#[test]
fn a_side_without_failures_has_none_of_them() {
    let runs = pair(&failing(0), &failing(750));
    let report = json(&runs.dirs(), &["--metrics", "error_request_count"]);
    let row = row(&report, "error_request_count", "avg");
    assert_eq!((row["first"].as_f64(), row["second"].as_f64()), (Some(0.0), Some(750.0)), "{row}");
    assert_eq!(row["verdict"], "worse");
    // Counts of runs of different lengths are shown, and their shares are compared.
    let runs = pair(&failing(0), &Run { requests: 100, failed: 50, ..Run::default() });
    let report = json(&runs.dirs(), &["--metrics", "error_request_count,request_error_rate"]);
    for (metric, verdict) in [("error_request_count", "undecided"), ("request_error_rate", "worse")] {
        assert_eq!(self::row(&report, metric, "avg")["verdict"], verdict, "{metric}");
    }
}

#[test]
fn runs_of_which_none_succeeded_are_refused_as_such() {
    let runs = pair(&Run::default(), &Run::default());
    let campaign = runs.second.join("all_failed");
    for number in 1..=3 {
        let dir = campaign.join(format!("profile_runs/run_{number:04}"));
        Run { requests: 1, failed: 5, ..Run::default() }.write(&dir);
        let path = dir.join("profile_export_aiperf.json");
        let text = fs::read_to_string(&path).unwrap().replace("\"request_count\"", "\"other_count\"");
        fs::write(&path, text).unwrap();
    }
    for path in [campaign.clone(), campaign.join("profile_runs")] {
        let output = compare(&[&runs.first, &path], &[]);
        refused(&output, &["none of the runs in", "succeeded (there are 3)"]);
        assert!(!stderr(&output).contains("no profile_runs"), "{}", stderr(&output));
    }
    // A run without a success has only failures.
    let failed = campaign.join("profile_runs/run_0001");
    let alone = Run { requests: 1, failed: 5, ..Run::default() }.write(&failed);
    let path = alone.join("profile_export_aiperf.json");
    let mut summary: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    for tag in
        ["request_count", "request_latency", "time_to_first_token", "request_throughput", "input_sequence_length"]
    {
        summary.as_object_mut().unwrap().remove(tag);
    }
    fs::write(&path, summary.to_string()).unwrap();
    refused(
        &compare(&[&runs.first, &alone], &["--fail-on", "request_latency:avg:+5%"]),
        &["request_latency is not measured in B", "none of its 5 requests succeeded"],
    );
}

#[test]
fn several_runs_a_side_are_compared_as_runs() {
    let dir = TempDir::new().unwrap();
    let side = |name: &str, slower: f64, runs: u64| {
        for run in 1..=runs {
            let at = dir.path().join(format!("{name}/profile_runs/run_{run:04}"));
            Run { requests: 200, slower, seed: run + (slower * 100.0) as u64, with_records: false, ..Run::default() }
                .write(&at);
        }
        dir.path().join(name)
    };
    let (before, after, two) = (side("before", 1.0, 4), side("after", 1.2, 3), side("two", 1.5, 2));
    let report = json(&[&before, &after, &two], &["--fail-on", "request_throughput:avg:-5%"]);
    assert_eq!((&report["comparisons"][0]["method"], &report["sides"][1]["runs"]), (&"trials".into(), &3.into()));
    assert_eq!(row(&report, "request_latency", "p99")["verdict"], "worse");
    assert_eq!(row(&report, "request_throughput", "avg")["verdict"], "worse");
    assert_eq!(report["comparisons"][0]["limits"][0]["outcome"], "beyond");
    // Two runs do not show how far apart runs can be.
    let second = &report["comparisons"][1];
    assert_eq!((&second["first"], &second["second"]), (&"A".into(), &"C".into()));
    assert_eq!(second["limits"][0]["reason"], "few_runs");
    assert!(second["metrics"].as_array().unwrap().iter().all(|row| row["verdict"] != "worse"), "{second}");
    // The directory of the runs works too. A single run is too little.
    assert_eq!(json(&[&before.join("profile_runs"), &after], &[])["sides"][0]["runs"], 4);
    let single = json(&[&before, &after.join("profile_runs/run_0001")], &[]);
    assert_eq!(row(&single, "request_latency", "avg")["reason"], "few_runs");
}

#[test]
fn aggregates_of_the_reference_are_compared_with_their_runs_or_without() {
    let trials = reference("trials");
    let whole = json(&[&trials, &trials], &["--metrics", "request_latency,request_throughput"]);
    let beside = json(&[&trials.join("aggregate"), &trials], &["--metrics", "request_latency,request_throughput"]);
    assert_eq!((whole["sides"][0]["runs"].as_u64(), rows(&whole)), (Some(3), rows(&beside)));
    let dir = TempDir::new().unwrap();
    let name = "profile_export_aiperf_aggregate.json";
    fs::copy(trials.join("aggregate").join(name), dir.path().join(name)).unwrap();
    let alone = json(&[dir.path(), &trials], &["--metrics", "request_latency,request_throughput"]);
    for (one, other) in rows(&whole).iter().zip(rows(&alone)) {
        assert_eq!(
            (&one["metric"], &one["stat"], one["verdict"].as_str()),
            (&other["metric"], &other["stat"], Some("undecided"))
        );
        let near = |key: &str| (one[key].as_f64().unwrap() - other[key].as_f64().unwrap()).abs() < 1e-6;
        assert!(near("first") && near("second"), "{one} {other}");
    }
}

#[test]
fn a_run_without_records_is_shown_and_undecided() {
    let without = Run { with_records: false, ..Run::default() };
    let runs = pair(&without, &Run { slower: 2.0, ..Run::default() });
    let report = json(&runs.dirs(), &[]);
    let row = row(&report, "request_latency", "p99");
    assert_eq!((&row["verdict"], &row["reason"]), (&"undecided".into(), &"no_records".into()));
    assert!(row["difference_percent"].as_f64().unwrap() > 90.0 && row.get("interval").is_none(), "{row}");
    let output = compare(&runs.dirs(), &["--fail-on", "request_latency:p99:+5%"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(stdout(&output).contains("--export-level records"), "{}", stdout(&output));
}

#[test]
fn differences_of_settings_versions_and_metrics_are_reported() {
    let runs = pair(&Run::default(), &Run { concurrency: 20, ..Run::default() });
    let path = runs.second.join("profile_export_aiperf.json");
    let text =
        fs::read_to_string(&path).unwrap().replace("\"0.1.0\"", "\"0.2.0\"").replace("time_to_first_token", "ttft");
    fs::write(&path, text).unwrap();
    let text = stdout(&compare(&runs.dirs(), &[]));
    for words in [
        "The settings of A and B differ: phases.concurrency 10 | 20",
        "different versions of aiperf: A by 0.1.0, B by 0.2.0",
        "Only A has time_to_first_token",
    ] {
        assert!(text.replace('\n', " ").contains(words), "{text}");
    }
}

#[test]
fn another_program_is_named_as_such_and_not_as_another_version() {
    let runs = pair(&Run::default(), &Run::default());
    let path = runs.second.join("profile_export_aiperf.json");
    // Only this program writes `measurement`.
    let text = fs::read_to_string(&path).unwrap().replacen('{', "{\"measurement\":{},", 1);
    fs::write(&path, text).unwrap();
    let text = stdout(&compare(&runs.dirs(), &[])).replace('\n', " ");
    let words = "Measured by different programs: A by NVIDIA AIPerf 0.1.0, B by aiperf 0.1.0";
    assert!(text.contains(words) && !text.contains("different versions"), "{text}");
}

#[test]
fn a_file_of_a_compared_run_is_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let summary = dir.path().join("profile_export_aiperf.json");
    for entry in fs::read_dir(reference("stream")).unwrap().flatten() {
        fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
    }
    let before = fs::read(&summary).unwrap();
    let output = compare(&[&reference("stream"), dir.path()], &["--json", summary.to_str().unwrap()]);
    refused(&output, &["--json", "is a file of a run that is compared"]);
    assert_eq!(fs::read(&summary).unwrap(), before);
}

#[test]
fn junit_has_a_case_for_each_limit() {
    let runs = pair(&Run::default(), &Run { slower: 1.1, seed: 2, ..Run::default() });
    let file = runs.second.join("reports/junit.xml");
    fs::create_dir(runs.second.join("reports")).unwrap();
    let rules = ["request_latency:avg:+20%", "request_latency:avg:+5%", "request_latency:avg:+9%"];
    let mut args: Vec<&str> = rules.iter().flat_map(|rule| ["--fail-on", rule]).collect();
    args.extend(["--junit", file.to_str().unwrap()]);
    assert_eq!(compare(&runs.dirs(), &args).status.code(), Some(3));
    let xml = fs::read_to_string(&file).unwrap();
    assert!(xml.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""), "{xml}");
    assert_eq!(elements(&xml).iter().filter(|name| *name == "testcase").count(), 3);
    refused(&compare(&runs.dirs(), &["--junit", "x.xml"]), &["--fail-on"]);
}

#[test]
fn a_file_in_a_missing_folder_is_refused_and_nothing_is_written() {
    let runs = pair(&Run::default(), &Run::default());
    let file = runs.second.join("nowhere/deeper/file");
    for flag in ["--json", "--junit"] {
        let args = [flag, file.to_str().unwrap(), "--fail-on", "request_latency:avg:+5%"];
        refused(&compare(&runs.dirs(), &args), &[flag, "there is no folder", "nowhere/deeper\n", "mkdir -p"]);
    }
    assert!(!runs.second.join("nowhere").exists());
}

/// The names of all elements; panics if the text is not well-formed.
fn elements(xml: &str) -> Vec<String> {
    let (mut names, mut open) = (Vec::new(), Vec::new());
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").unwrap();
    for tag in body.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').unwrap();
        assert!(!text.contains('>') && tag.matches('"').count() % 2 == 0, "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap().to_owned();
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_ref(), Some(&name));
            continue;
        }
        names.push(name.clone());
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    names
}

#[test]
fn a_sweep_is_refused_with_its_cells() {
    let sweep = reference("sweep");
    let cell = sweep.join("concurrency_1");
    refused(&compare(&[&sweep, &cell], &[]), &["is a sweep of 2 cells", "sweep/concurrency_1", "sweep/concurrency_2"]);
    let output = compare(&[&cell, &sweep.join("concurrency_2")], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("phases.concurrency 1 | 2"), "{}", stdout(&output));
}

#[test]
fn a_directory_without_a_run_is_refused_by_name() {
    let runs = pair(&Run::default(), &Run::default());
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("empty")).unwrap();
    fs::create_dir(at("broken")).unwrap();
    fs::write(at("broken/profile_export_aiperf.json"), "{\"schema_version\": \"1.4\",").unwrap();
    fs::create_dir(at("other")).unwrap();
    fs::write(at("other/profile_export_aiperf.json"), "{\"name\": 1}").unwrap();
    for (path, words) in [
        (at("none"), "there is no directory"),
        (at("empty"), "holds no run"),
        (at("broken"), "is not JSON: EOF"),
        (at("other"), "is not the summary of a run"),
        (runs.first.join("profile_export.jsonl"), "is not a directory"),
    ] {
        let path_text = path.display().to_string();
        refused(&compare(&[&runs.first, &path], &[]), &[words, &path_text]);
    }
    refused(&compare(&[&runs.first], &[]), &["takes two or more"]);
    fs::create_dir(at("locked")).unwrap();
    fs::set_permissions(at("locked"), fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read everything.
    if fs::read_dir(at("locked")).is_err() {
        refused(&compare(&[&runs.first, &at("locked")], &[]), &["cannot be read", "locked"]);
    }
    fs::set_permissions(at("locked"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn runs_that_were_measured_differently_are_refused() {
    let runs = pair(&Run::default(), &Run { unit: "s", ..Run::default() });
    refused(&compare(&runs.dirs(), &[]), &["request_latency is in ms in A", "in s in B"]);
    let runs = pair(&Run::default(), &Run::default());
    for (args, words) in [
        (["--fail-on", "time_to_first_tokn:p99:+5%"], "time_to_first_token; did you mean"),
        (["--fail-on", "goodput:avg:-5%"], "goodput is not measured in A"),
        (["--fail-on", "request_latency:p99:5%"], "has no sign"),
        (["--fail-on", "request_latency:max:+5%"], "'max' is no statistic"),
        (["--fail-on", "request_latency:p99:+5s"], "request_latency is in ms"),
        (["--fail-on", "request_throughput:p99:+5%"], "p99 of request_throughput is not measured"),
        (["--metrics", "no_such"], "no_such is not measured"),
        (["--stats", "median"], "'median' is no statistic"),
    ] {
        refused(&compare(&runs.dirs(), &args), &[words]);
    }
    let level = compare(&runs.dirs(), &["--confidence-level", "95"]);
    assert_eq!(level.status.code(), Some(2));
    assert!(stderr(&level).contains("from 0.5 to below 1"), "{}", stderr(&level));
}

#[test]
fn unreadable_records_are_reported_and_conclude_nothing_when_many_are_missing() {
    let runs = pair(&Run::default(), &Run { slower: 1.1, ..Run::default() });
    let path = runs.second.join("profile_export.jsonl");
    let whole = fs::read(&path).unwrap();
    // A few invalid lines, one of them huge.
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"no record\n").unwrap();
    file.write_all(&vec![b'x'; 65 << 20]).unwrap();
    file.write_all(b"\n{\"metadata\":{\"requ").unwrap();
    drop(file);
    let report = json(&runs.dirs(), &[]);
    assert_eq!(
        (&report["sides"][1]["records"], row(&report, "request_latency", "avg")["verdict"].as_str()),
        (&2000.into(), Some("worse"))
    );
    assert!(report["notes"][0].as_str().unwrap().starts_with("3 lines of "), "{report}");
    // Compressed: complete, and truncated.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&whole).unwrap();
    let packed = [("gz", gzip.finish().unwrap()), ("zst", zstd::encode_all(&whole[..], 1).unwrap())];
    fs::remove_file(&path).unwrap();
    for (end, bytes) in packed {
        let path = runs.second.join(format!("profile_export.jsonl.{end}"));
        fs::write(&path, &bytes).unwrap();
        assert_eq!(row(&json(&runs.dirs(), &[]), "request_latency", "avg")["verdict"], "worse", "{end}");
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let report = json(&runs.dirs(), &[]);
        let row = row(&report, "request_latency", "avg");
        assert_eq!((&row["verdict"], &row["reason"]), (&"undecided".into(), &"incomplete_records".into()), "{end}");
        assert!(report["notes"].to_string().contains("ends in the middle"), "{report}");
        fs::remove_file(&path).unwrap();
    }
}

/// `cargo test --release -p aiperf --test it compare -- --ignored --nocapture`, which also prints the time.
#[test]
#[ignore = "writes two files of a gigabyte"]
fn two_runs_of_a_million_records_are_compared() {
    let million = |slower, seed| Run { requests: 1_000_000, slower, seed, concurrency: 100, ..Run::default() };
    let runs = pair(&million(1.0, 1), &million(1.01, 2));
    let begin = std::time::Instant::now();
    let report = json(&runs.dirs(), &[]);
    println!("compared in {:.1} s", begin.elapsed().as_secs_f64());
    assert_eq!(row(&report, "request_latency", "avg")["verdict"], "worse");
}

#[test]
fn a_pipe_without_a_reader_is_refused_without_waiting() {
    let runs = pair(&Run::default(), &Run::default());
    let pipe = runs.first.join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let rule = "request_latency:avg:+50%";
    for args in [&["--json", pipe.to_str().unwrap()][..], &["--junit", pipe.to_str().unwrap(), "--fail-on", rule]] {
        let output = compare(&runs.dirs(), args);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("no process reads"), "{}", stderr(&output));
        assert!(stdout(&output).contains("Metric"), "the table is still printed: {}", stdout(&output));
    }
}
