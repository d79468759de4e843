//! Each statistic over several runs.

use crate::golden_aggregate::recorded::{close, number, outcome};
use aiperf_campaign::aggregate::{Confidence, ConfidenceError, RunMetric, RunOutcome, confidence};
use aiperf_golden::kinds::exports::STATISTIC_OF_RUNS;
use aiperf_golden::kinds::metrics::COMPARED_RUNS;
use aiperf_golden::kinds::orchestration::ORCHESTRATED_RUNS;
use aiperf_metrics::Stats;
use aiperf_report::aggregate::AcrossRuns;
use serde_json::{Value, json};

fn check_across(at: &str, ours: &AcrossRuns, theirs: &Value) {
    let known = |name: &str| number(&theirs[name]).filter(|value| value.is_finite());
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    let fields = [
        ("mean", ours.mean, known("mean")),
        ("std", ours.std, known("std")),
        ("min", Some(ours.min), known("min")),
        ("max", Some(ours.max), known("max")),
        // Relative to the size of the mean, so never negative.
        ("cv", finite(ours.cv), known("cv").map(f64::abs)),
        ("se", ours.se, known("se")),
        ("ci_low", ours.ci_low, known("ci_low")),
        ("ci_high", ours.ci_high, known("ci_high")),
        ("t_critical", ours.t_critical, known("t_critical")),
    ];
    for (field, ours, theirs) in fields {
        let agree = match (ours, theirs) {
            (Some(ours), Some(theirs)) => close(ours, theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        };
        assert!(agree, "{at}: {field}: {ours:?}, not {theirs:?}");
    }
    if number(&theirs["cv"]).is_some_and(f64::is_infinite) {
        assert_eq!(ours.cv, Some(f64::INFINITY), "{at}");
    }
}

fn check_runs(found: &Confidence, expected: &Value) {
    let tally = &found.tally;
    assert_eq!(expected["num_runs"], json!(tally.runs));
    assert_eq!(expected["num_successful_runs"], json!(tally.successful.len()));
    let failed: Vec<Value> = tally.failed.iter().map(|run| json!({ "label": run.label, "error": run.error })).collect();
    assert_eq!(expected["failed_runs"], json!(failed));
    assert_eq!(expected["metadata"]["run_labels"], json!(tally.successful));
    assert_eq!(expected["metadata"]["single_run"].as_bool().unwrap_or(false), tally.successful.len() == 1);
    let metrics = expected["metrics"].as_object().unwrap();
    assert_eq!(metrics.len(), found.metrics.len());
    for (key, across) in &found.metrics {
        check_across(key, across, &metrics[key]);
        assert_eq!(metrics[key]["unit"], across.unit.as_str(), "{key}");
    }
}

fn found(input: &Value) -> Result<Confidence, ConfidenceError> {
    let runs: Vec<RunOutcome> = input["runs"].as_array().unwrap().iter().map(outcome).collect();
    confidence(input["confidence_level"].as_f64().unwrap(), &runs)
}

#[test]
fn golden_confidence_of_metrics() {
    COMPARED_RUNS.run(
        |_| None,
        |case| match case["expected_error_kind"].as_str() {
            Some("all_runs_failed") => assert!(matches!(found(case), Err(ConfidenceError::AllRunsFailed(_)))),
            Some(_) => assert!(matches!(found(case), Err(ConfidenceError::InvalidLevel(_)))),
            None => check_runs(&found(case).unwrap(), &case["expected"]),
        },
    );
}

#[test]
fn golden_confidence_of_orchestration() {
    ORCHESTRATED_RUNS.run(
        |_| None,
        |case| match case["expected"]["error"].as_str() {
            // The text of the error is our own.
            Some(error) if error.starts_with("All runs failed") => {
                assert!(matches!(found(&case["input"]), Err(ConfidenceError::AllRunsFailed(_))));
            }
            Some(_) => assert!(matches!(found(&case["input"]), Err(ConfidenceError::InvalidLevel(_)))),
            None => check_runs(&found(&case["input"]).unwrap(), &case["expected"]),
        },
    );
}

#[test]
fn golden_confidence_of_one_statistic() {
    STATISTIC_OF_RUNS.run(
        |_| None,
        |case| {
            let run = |(at, value): (usize, &Value)| {
                let stats = Stats { avg: number(value), ..Stats::default() };
                let metric = RunMetric { tag: "x".to_owned(), unit: "ms".to_owned(), stats };
                RunOutcome::new(format!("run_{:04}", at + 1), Ok(vec![metric]))
            };
            let runs: Vec<RunOutcome> =
                case["input"]["values"].as_array().unwrap().iter().enumerate().map(run).collect();
            let found = confidence(case["input"]["confidence_level"].as_f64().unwrap(), &runs).unwrap();
            let [(key, across)] = &found.metrics[..] else { panic!("{:?}", found.metrics) };
            assert_eq!(key, "x_avg");
            check_across(key, across, &case["expected"]);
        },
    );
}

#[test]
fn metrics_are_sorted_by_tag_and_then_in_the_order_of_statistics() {
    let stats =
        Stats { avg: Some(1.0), min: Some(1.0), p99: Some(1.0), p5: Some(1.0), std: Some(1.0), ..Stats::default() };
    let metric = |tag: &str| RunMetric { tag: tag.to_owned(), unit: "ms".to_owned(), stats };
    let run = |label: &str| RunOutcome::new(label, Ok(vec![metric("b"), metric("a")]));
    let found = confidence(0.95, &[run("run_0001"), run("run_0002")]).unwrap();
    let keys: Vec<&str> = found.metrics.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["a_avg", "a_min", "a_p5", "a_p99", "a_std", "b_avg", "b_min", "b_p5", "b_p99", "b_std"]);
}

#[test]
fn what_only_one_of_several_runs_has_keeps_its_extremes_alone() {
    let run = |label: &str, tags: &[&str]| {
        let metric = |tag: &&str| RunMetric { tag: (*tag).to_owned(), unit: "ms".to_owned(), stats: Stats::of(3.0) };
        RunOutcome::new(label, Ok(tags.iter().map(metric).collect()))
    };
    let found = confidence(0.95, &[run("run_0001", &["a"]), run("run_0002", &["a", "b"])]).unwrap();
    let (_, lone) = &found.metrics[1];
    assert_eq!((lone.min, lone.max), (3.0, 3.0));
    let rest = [lone.mean, lone.std, lone.cv, lone.se, lone.ci_low, lone.ci_high, lone.t_critical];
    assert_eq!(rest, [None; 7]);
}
