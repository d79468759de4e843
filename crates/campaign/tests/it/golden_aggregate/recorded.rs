//! Golden values as ours, and their comparison.

use aiperf_campaign::aggregate::{RunMetric, RunOutcome};
use aiperf_metrics::Stats;
use serde_json::{Map, Value};

/// A number, or one of the forms for numbers that JSON does not have.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value.as_str().or_else(|| value.get("$float")?.as_str()) {
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        Some("nan") => Some(f64::NAN),
        _ => value.as_f64(),
    }
}

pub(crate) fn close(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0)
}

pub(crate) fn stats(given: &Value) -> Stats {
    let stat = |name: &str| number(&given[name]);
    Stats {
        // Documents of post-processing call it the mean.
        avg: stat("avg").or_else(|| stat("mean")),
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

/// The metrics of a run, in their order.
pub(crate) fn metrics(given: &Map<String, Value>) -> Vec<RunMetric> {
    let metric = |(tag, metric): (&String, &Value)| {
        let unit = metric["unit"].as_str()?.to_owned();
        Some(RunMetric { tag: tag.clone(), unit, stats: stats(metric) })
    };
    given.iter().filter_map(metric).collect()
}

/// A run of a case.
pub(crate) fn outcome(run: &Value) -> RunOutcome {
    let result = match run["success"].as_bool().unwrap_or(true) {
        true => Ok(metrics(run["metrics"].as_object().unwrap())),
        false => Err(run["error"].as_str().unwrap_or_default().to_owned()),
    };
    RunOutcome::new(run["label"].as_str().unwrap_or_default(), result)
}

/// Checks that a document has the same content: numbers within rounding, floats as floats, members in the same order
/// except those below `unordered`, which have no order in AIPerf.
pub(crate) fn check_same(at: &str, ours: &Value, theirs: &Value, unordered: &[&str]) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let keys = |members: &Map<String, Value>| {
                let mut keys: Vec<String> = members.keys().cloned().collect();
                if unordered.iter().any(|name| at.ends_with(name)) {
                    keys.sort();
                }
                keys
            };
            assert_eq!(keys(ours), keys(theirs), "{at}");
            for (key, theirs) in theirs {
                check_same(&format!("{at}.{key}"), &ours[key], theirs, unordered);
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len(), "{at}");
            for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                check_same(&format!("{at}[{index}]"), ours, theirs, unordered);
            }
        }
        (Value::Number(ours), Value::Number(theirs)) => {
            let agree = close(ours.as_f64().unwrap(), theirs.as_f64().unwrap());
            assert!(agree && (ours.is_f64() || !theirs.is_f64()), "{at}: {ours}, not {theirs}");
        }
        _ => assert_eq!(ours, theirs, "{at}"),
    }
}
