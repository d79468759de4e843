//! When trials have converged.

use crate::golden_aggregate::recorded::number;
use aiperf_campaign::runs::convergence::{Trials, is_converged};
use aiperf_golden::kinds::orchestration::CONVERGENCE;
use aiperf_plan::{Convergence, ConvergenceMode};
use serde_json::Value;

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().filter_map(number).collect()
}

fn check(case: &Value) {
    let input = &case["input"];
    let mode = match input["mode"].as_str().unwrap() {
        "ci_width" => ConvergenceMode::CiWidth,
        "cv" => ConvergenceMode::Cv,
        "distribution" => ConvergenceMode::Distribution,
        other => panic!("{other}"),
    };
    let rule = Convergence {
        metric: "request_latency".into(),
        stat: "avg".into(),
        mode,
        threshold: input["threshold"].as_f64().unwrap(),
        min_runs: input["min_runs"].as_u64().unwrap() as u32,
    };
    let runs = |runs: &Value| runs.as_array().unwrap().iter().map(numbers).collect();
    let trials = Trials {
        values: input.get("values").map(numbers).unwrap_or_default(),
        requests: input.get("runs").map_or_else(Vec::new, runs),
    };
    let level = input["confidence_level"].as_f64().unwrap_or(0.95);
    assert_eq!(is_converged(&rule, level, &trials), case["expected"].as_bool().unwrap());
}

#[test]
fn golden_trials_end_when_the_reference_ends_them() {
    CONVERGENCE.run(|_| None, check);
}
