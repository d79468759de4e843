//! Steps over the results of a sweep.

use crate::golden_aggregate::recorded::{check_same, number};
use aiperf_campaign::aggregate::post_process::{HANDLERS, Made, made};
use aiperf_golden::kinds::orchestration::POST_PROCESS;
use aiperf_golden::{has, is_own_root};
use aiperf_metrics::Stats;
use aiperf_plan::PostProcess;
use aiperf_report::aggregate::{AcrossRuns, CellMetrics, CellStats, RunVerdicts, SweepCell};
use serde_json::{Map, Value, json};

/// The metrics that a case asks for, each with its statistic.
fn asked(case: &Value) -> Vec<(String, String)> {
    let params = &case["input"]["params"];
    let filters = params["sla_filters"].as_array().into_iter().flatten();
    let pairs = filters.map(|filter| (&filter["metric_tag"], &filter["stat"])).chain([
        (&params["metric_tag"], &params["stat"]),
        (&params["x_metric"], &params["x_stat"]),
        (&params["y_metric"], &params["y_stat"]),
    ]);
    let texts = |(tag, stat): (&Value, &Value)| Some((tag.as_str()?.to_owned(), stat.as_str()?.to_owned()));
    pairs.filter_map(texts).collect()
}

/// A cell with the values that AIPerf reads of it. For a single trial, most of its handlers take the mean for every
/// statistic; ours take the statistic itself, which is tested below. Limits take the statistic in AIPerf too.
fn cell(given: &Value, case: &Value) -> SweepCell {
    let read = |(tag, stat): (String, String)| {
        let (flat, plain) = (&given["metrics"][format!("{tag}_{stat}")], &given["metrics"][&tag]);
        let mean = |block: &Value| number(&block["mean"]);
        let value = match case["handler"].as_str() {
            Some("sla_breach_knee") if !has(flat, "mean") => number(&plain[&stat]).or_else(|| mean(plain)),
            _ => mean(if has(flat, "mean") { flat } else { plain }),
        };
        Some((format!("{tag}_{stat}"), across(value?)))
    };
    let metrics = CellMetrics::Several(asked(case).into_iter().filter_map(read).collect());
    let (label, verdicts) = (String::new(), RunVerdicts::default());
    SweepCell { label, parameters: given["parameters"].as_object().unwrap().clone(), metrics, verdicts }
}

fn across(mean: f64) -> AcrossRuns {
    let mean = Some(mean);
    let (std, cv, se, ci_low, ci_high, t_critical) = (None, None, None, None, None, None);
    let (min, max, unit) = (0.0, 0.0, "ms".to_owned());
    AcrossRuns { mean, std, min, max, cv, se, ci_low, ci_high, t_critical, unit }
}

#[test]
fn golden_post_process() {
    let skip = |case: &Value| {
        let cells = case["input"]["aggregate"]["per_combination_metrics"].as_array().into_iter().flatten();
        let mut metrics = cells.flat_map(|cell| cell["metrics"].as_object().into_iter().flatten());
        let is_null = metrics.any(|(_, metric)| has(metric, "mean") && metric["mean"].is_null());
        is_null.then(|| "a mean that is none is no value, and so no row".to_owned())
    };
    POST_PROCESS.run(skip, check);
}

fn check(case: &Value) {
    let cells = case["input"]["aggregate"]["per_combination_metrics"].as_array().unwrap();
    let cells: Vec<SweepCell> = cells.iter().map(|given| cell(given, case)).collect();
    let params: Map<String, Value> = case["input"]["params"].as_object().unwrap().clone();
    let handler = case["handler"].as_str().unwrap().to_owned();
    let made = made(&PostProcess { handler, params, output_filename: "made.json".to_owned() }, &cells);
    match (made, case["expected"].get("error")) {
        (Ok(made), None) => check_same("document", &made.document, &case["expected"]["ok"], &[]),
        // The text is our own; the handler is named.
        (Err(error), Some(_)) => assert!(error.contains(case["handler"].as_str().unwrap()), "{error}"),
        (made, _) => panic!("{:?}, not {}", made.map(|made| made.document), case["expected"]),
    }
}

/// The answer and the warning for latencies at concurrencies, with a limit of 100.
fn concluded(points: &[(u64, f64)]) -> (String, Option<String>) {
    let made = knee(points, None);
    (made.answer.unwrap(), made.warning)
}

/// The same with a number of requests in each run.
fn knee(points: &[(u64, f64)], requests: Option<f64>) -> Made {
    let cell = |(concurrency, latency): &(u64, f64)| {
        let stats = Stats { p99: Some(*latency), ..Stats::of(*latency) };
        let metric = |tag: &str, unit: &str, stats| (tag.to_owned(), CellStats { unit: unit.to_owned(), stats });
        let count = requests.map(|count| metric("request_count", "requests", Stats::of(count)));
        let metrics = CellMetrics::One([metric("request_latency", "ms", stats)].into_iter().chain(count).collect());
        let parameters = Map::from_iter([("concurrency".to_owned(), (*concurrency).into())]);
        SweepCell { label: String::new(), parameters, metrics, verdicts: RunVerdicts::default() }
    };
    let params = json!({
        "swept_param": "phases.profiling.concurrency",
        "sla_filters": [{"metric_tag": "request_latency", "stat": "p99", "op": "lt", "threshold": 100.0}],
    });
    let (handler, output_filename) = ("sla_breach_knee".to_owned(), "sla_breach.json".to_owned());
    let wanted = PostProcess { handler, params: params.as_object().cloned().unwrap(), output_filename };
    made(&wanted, &points.iter().map(cell).collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_concurrency_above_the_number_of_requests_is_left_out_of_the_answer() {
    let found = knee(&[(1, 10.0), (16, 90.0), (100, 95.0), (1000, 99.0)], Some(20.0));
    assert_eq!(
        found.answer.unwrap(),
        "max_passing_concurrency: 16, the highest that was run: the limit is beyond it; left out, because so few requests \
         cannot reach this concurrency: 100 (20 requests), 1000 (20 requests); try: --request-count 1000 or more"
    );
    assert_eq!(found.document["max_passing_concurrency"], 16);
    let marks: Vec<Option<&Value>> =
        found.document["all_points"].as_array().unwrap().iter().map(|point| point.get("concurrency_reached")).collect();
    assert_eq!(marks, [None, None, Some(&json!(false)), Some(&json!(false))]);
    let none = knee(&[(100, 95.0)], Some(20.0));
    assert!(none.answer.unwrap().starts_with("max_passing_concurrency: none was reached; left out"));
    assert_eq!(none.document["max_passing_concurrency"], Value::Null);
}

#[test]
fn a_search_for_the_highest_load_within_limits_has_an_answer() {
    let (answer, warning) = concluded(&[(1, 10.0), (4, 90.0), (16, 250.0)]);
    assert_eq!(answer, "max_passing_concurrency: 4; the next, 16, fails: request_latency p99 is 250.00, not < 100.0");
    assert_eq!(warning, None);
    let (answer, _) = concluded(&[(1, 10.0), (4, 90.0)]);
    assert_eq!(answer, "max_passing_concurrency: 4, the highest that was run: the limit is beyond it");
    let (answer, _) = concluded(&[(1, 110.0), (4, 190.0)]);
    let why = "1 fails, request_latency p99 is 110.00, not < 100.0";
    assert_eq!(answer, format!("max_passing_concurrency: none passes: {why}"));
}

#[test]
fn a_light_load_that_fails_below_a_heavy_one_that_passes_is_named_as_a_contradiction() {
    let (answer, warning) = concluded(&[(1, 120.0), (4, 90.0), (16, 250.0)]);
    assert!(answer.starts_with("max_passing_concurrency: 4; the next, 16, fails"), "{answer}");
    let warning = warning.unwrap();
    assert!(
        warning.starts_with("concurrency 4 passes and 1 fails (request_latency p99 is 120.00, not < 100.0)"),
        "{warning}"
    );
}

#[test]
fn golden_post_process_has_a_case_of_every_handler() {
    if !is_own_root() {
        return;
    }
    let files = POST_PROCESS.lists();
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
    // A percentile that a distribution lacks is not replaced by its mean; a single number is its own percentile.
    assert_eq!(metrics.value("latency", "p95"), None);
    assert_eq!(metrics.value("rate", "p95").map(|(value, _)| value), Some(7.0));
}
