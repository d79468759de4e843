//! Several runs against golden data.

use aiperf_campaign::confidence::{AcrossRuns, ConfidenceError, RunMetric, RunOutcome, confidence};
use aiperf_golden::Area;
use aiperf_metrics::Stats;
use serde_json::Value;

fn area() -> Area {
    Area::of(env!("CARGO_MANIFEST_DIR"), "metrics")
}

fn is_comparison(case: &Value) -> bool {
    case["runs"].is_array() && case["confidence_level"].is_number()
}

/// A number, or one of the strings that stand for what JSON cannot say.
fn number(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        Some("nan") => Some(f64::NAN),
        _ => value.as_f64(),
    }
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0)
}

fn stats(given: &Value) -> Stats {
    let stat = |name: &str| number(&given[name]);
    Stats {
        avg: stat("avg"),
        min: stat("min"),
        max: stat("max"),
        sum: stat("sum"),
        p1: stat("p1"),
        p5: stat("p5"),
        p10: stat("p10"),
        p25: stat("p25"),
        p50: stat("p50"),
        p75: stat("p75"),
        p90: stat("p90"),
        p95: stat("p95"),
        p99: stat("p99"),
        std: stat("std"),
        count: given["count"].as_u64(),
    }
}

fn outcome(run: &Value) -> RunOutcome {
    let metrics = || {
        let given = run["metrics"].as_object().into_iter().flatten();
        given
            .map(|(tag, metric)| RunMetric {
                tag: tag.clone(),
                unit: metric["unit"].as_str().unwrap_or_default().to_owned(),
                stats: stats(metric),
            })
            .collect()
    };
    let result = match run["success"].as_bool() {
        Some(true) => Ok(metrics()),
        _ => Err(run["error"].as_str().unwrap_or_default().to_owned()),
    };
    RunOutcome { label: run["label"].as_str().unwrap_or_default().to_owned(), result }
}

fn check_across(at: &str, ours: &AcrossRuns, theirs: &Value) {
    // What only one of several runs has is reported as it is, without an interval; the reference reports nothing.
    let lone = number(&theirs["mean"]).is_some_and(f64::is_nan);
    let known = |name: &str| number(&theirs[name]).filter(|value| value.is_finite());
    let fields = [
        ("mean", Some(ours.mean), if lone { known("min") } else { known("mean") }),
        ("std", Some(ours.std), if lone { Some(0.0) } else { known("std") }),
        ("min", Some(ours.min), known("min")),
        ("max", Some(ours.max), known("max")),
        // Relative to the size of the mean, so never negative.
        ("cv", ours.cv, if lone { Some(0.0) } else { known("cv").map(f64::abs) }),
        ("se", Some(ours.se), if lone { Some(0.0) } else { known("se") }),
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
    assert_eq!(Some(ours.unit.as_str()), theirs["unit"].as_str(), "{at}");
}

#[test]
fn golden_files_that_nothing_here_reads_are_named() {
    area().tell_unread("campaign: metrics", &[is_comparison]);
}

#[test]
fn golden_confidence() {
    area().run_cases(
        "several runs",
        is_comparison,
        |_| None,
        |case| {
            let runs: Vec<RunOutcome> = case["runs"].as_array().unwrap().iter().map(outcome).collect();
            let found = confidence(case["confidence_level"].as_f64().unwrap(), &runs);
            match case["expected_error_kind"].as_str() {
                Some("all_runs_failed") => assert!(matches!(found, Err(ConfidenceError::AllRunsFailed(_)))),
                Some(_) => assert!(matches!(found, Err(ConfidenceError::InvalidLevel(_)))),
                None => {
                    let (found, expected) = (found.unwrap(), &case["expected"]);
                    assert_eq!(expected["num_runs"].as_u64(), Some(found.runs as u64));
                    assert_eq!(expected["num_successful_runs"].as_u64(), Some(found.successful.len() as u64));
                    assert_eq!(expected["failed_runs"].as_array().unwrap().len(), found.failed.len());
                    assert_eq!(expected["metadata"]["single_run"].as_bool().unwrap_or(false), found.single_run());
                    let metrics = expected["metrics"].as_object().unwrap();
                    assert_eq!(metrics.len(), found.metrics.len());
                    for (key, across) in &found.metrics {
                        check_across(key, across, &metrics[key]);
                    }
                }
            }
        },
    );
}
