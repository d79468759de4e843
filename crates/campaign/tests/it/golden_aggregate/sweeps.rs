//! The cells of a sweep, the best of them, and their limits.

use crate::golden_aggregate::recorded::{check_same, outcome};
use aiperf_campaign::aggregate::{Cell, SweepRules, SweepRun, cells, sweep};
use aiperf_golden::kinds::orchestration::SWEEP_ANALYSIS;
use aiperf_report::aggregate::sweep_json::sweep_json;
use serde_json::{Map, Value, json};

fn run(given: &Value) -> SweepRun {
    let label = given["variation_label"].as_str().unwrap().to_owned();
    let values = given["variation_values"].as_object().unwrap().clone();
    SweepRun { cell: Cell { directory: label.clone(), label, values }, outcome: outcome(given) }
}

#[test]
fn golden_sweep_analysis() {
    SWEEP_ANALYSIS.run(|_| None, check);
}

fn check(case: &Value) {
    let (input, expected) = (&case["input"], &case["expected"]);
    let runs: Vec<SweepRun> = input["runs"].as_array().unwrap().iter().map(run).collect();
    let plan = SweepRules {
        sweep_mode: "repeated".to_owned(),
        confidence_level: input["confidence_level"].as_f64().unwrap(),
        trials: cells(&runs).iter().map(|cell| cell.runs.len()).max().unwrap(),
        sla_filters: serde_json::from_value(input["sla_filters"].clone()).unwrap_or_default(),
        pareto_axes: None,
    };
    let found = sweep(&plan, &runs).unwrap();
    let ours: Value = serde_json::from_slice(&sweep_json(&found)).unwrap();
    let metadata: Map<String, Value> = ours["metadata"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, _)| expected["metadata"].get(key).is_some())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    check_same("metadata", &Value::Object(metadata), &expected["metadata"], &[]);
    let cells = "per_combination_metrics";
    check_same(cells, &ours[cells], &expected[cells], &["metrics"]);
    if plan.trials > 1 {
        for key in ["best_configurations", "pareto_optimal"] {
            check_same(key, &ours[key], &expected[key], &[]);
        }
    } else {
        // AIPerf finds none if each cell has one trial.
        assert_eq!((&expected["best_configurations"], &expected["pareto_optimal"]), (&json!({}), &json!([])));
        check_single(&ours, plan.sla_filters.is_empty());
    }
}

/// Checks the best cells of a sweep of one trial each, by a comparison of all cells.
fn check_single(ours: &Value, has_no_filters: bool) {
    let of = |cell: &Value, tag: &str, stat: &str| cell["metrics"][tag][stat].as_f64().unwrap();
    let cells = ours["per_combination_metrics"].as_array().unwrap();
    let points: Vec<(f64, f64)> = cells
        .iter()
        .map(|cell| (of(cell, "time_to_first_token", "p99"), of(cell, "request_throughput", "avg")))
        .collect();
    let most = points.iter().map(|(_, y)| *y).fold(0.0, f64::max);
    let least = points.iter().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
    assert_eq!(ours["best_configurations"]["best_throughput"]["metric"], json!(most));
    assert_eq!(ours["best_configurations"]["best_latency_p99"]["metric"], json!(least));
    let front = ours["pareto_optimal"].as_array().unwrap();
    for (cell, (x, y)) in cells.iter().zip(&points) {
        let is_beaten = points.iter().any(|(ox, oy)| ox <= x && oy >= y && (ox < x || oy > y));
        // A filter of these cases names a metric that does not exist: no cell meets it.
        assert_eq!(front.contains(&cell["parameters"]), has_no_filters && !is_beaten, "{cell}");
    }
}
