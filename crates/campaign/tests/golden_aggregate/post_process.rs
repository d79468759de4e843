//! What is made of a sweep.

use crate::recorded::{area, check_same, number, stats};
use aiperf_campaign::aggregate::post_process::{HANDLERS, made};
use aiperf_golden::has;
use aiperf_metrics::Stats;
use aiperf_plan::PostProcess;
use aiperf_report::aggregate::{AcrossRuns, CellMetrics, CellStats, SweepCell};
use serde_json::{Map, Value};

pub(crate) fn is_post_process(case: &Value) -> bool {
    case["handler"].is_string() && has(case, "input.aggregate.per_combination_metrics")
}

/// Metrics of several trials are named with their statistic.
fn is_of_trials(key: &str) -> bool {
    Stats::NAMES.iter().any(|stat| key.strip_suffix(stat).is_some_and(|tag| tag.ends_with('_')))
}

fn cell(given: &Value) -> SweepCell {
    let metrics = given["metrics"].as_object().unwrap();
    let metrics = match metrics.keys().all(|key| is_of_trials(key)) {
        true => CellMetrics::Several(metrics.iter().map(|(key, metric)| (key.clone(), across(metric))).collect()),
        false => {
            let one = |metric: &Value| CellStats { unit: "ms".to_owned(), stats: stats(metric) };
            CellMetrics::One(metrics.iter().map(|(key, metric)| (key.clone(), one(metric))).collect())
        }
    };
    SweepCell { label: String::new(), parameters: given["parameters"].as_object().unwrap().clone(), metrics }
}

fn across(metric: &Value) -> AcrossRuns {
    let mean = number(&metric["mean"]);
    let (std, cv, se, ci_low, ci_high, t_critical) = (None, None, None, None, None, None);
    let (min, max, unit) = (0.0, 0.0, "ms".to_owned());
    AcrossRuns { mean, std, min, max, cv, se, ci_low, ci_high, t_critical, unit }
}

#[test]
fn golden_post_process() {
    area("orchestration").run_cases("post-processing", is_post_process, |_| None, check);
}

fn check(case: &Value) {
    let cells = case["input"]["aggregate"]["per_combination_metrics"].as_array().unwrap();
    let cells: Vec<SweepCell> = cells.iter().map(cell).collect();
    let params: Map<String, Value> = case["input"]["params"].as_object().unwrap().clone();
    let handler = case["handler"].as_str().unwrap().to_owned();
    let made = made(&PostProcess { handler, params, output_filename: "made.json".to_owned() }, &cells);
    match (made, case["expected"].get("error")) {
        (Ok(made), None) => check_same("document", &made.document, &case["expected"]["ok"], &[]),
        // The words are ours; the handler is named.
        (Err(error), Some(_)) => assert!(error.contains(case["handler"].as_str().unwrap()), "{error}"),
        (made, _) => panic!("{:?}, not {}", made.map(|made| made.document), case["expected"]),
    }
}

#[test]
fn golden_post_process_has_a_case_of_every_handler() {
    if std::env::var_os("AIPERF_GOLDEN_DIR").is_some() {
        return;
    }
    let files = area("orchestration").files_of(is_post_process);
    for handler in HANDLERS {
        assert!(
            files.iter().flat_map(|file| file.cases()).any(|case| case["handler"] == handler.name),
            "{}",
            handler.name
        );
    }
}

#[test]
fn a_single_trial_is_judged_by_the_statistic_that_was_asked_for() {
    let metric = Stats { avg: Some(10.0), p50: Some(9.0), p99: Some(99.0), ..Stats::default() };
    let number = Stats::of(7.0);
    let stats = |stats| CellStats { unit: "ms".to_owned(), stats };
    let metrics = CellMetrics::One(vec![("latency".to_owned(), stats(metric)), ("rate".to_owned(), stats(number))]);
    assert_eq!(metrics.value("latency", "p99").map(|(value, _)| value), Some(99.0));
    // A distribution does not lend its mean for a percentile that it lacks; a single number is itself.
    assert_eq!(metrics.value("latency", "p95"), None);
    assert_eq!(metrics.value("rate", "p95").map(|(value, _)| value), Some(7.0));
}
