//! Golden data of single records: every metric of a record, and its form in a record export.

use crate::support;

use aiperf_golden::kinds::metrics::{EXPORTED_RECORD, RECORD_METRICS};
use aiperf_metrics::{BaseValue, Metrics, RecordMetrics, Value as Shown};
use aiperf_types::RequestError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use support::{close, each_case, measured, number, omitted, traits};

fn base_values(record: &RecordMetrics) -> BTreeMap<&'static str, Vec<f64>> {
    let flat = |value: BaseValue<'_>| match value {
        BaseValue::Int(value) => vec![value as f64],
        BaseValue::Float(value) => vec![value],
        BaseValue::Gaps(gaps) => gaps.iter().map(|&gap| gap as f64).collect(),
    };
    record.base().map(|(metric, value)| (metric.tag, flat(value))).collect()
}

fn flat(value: Shown<'_>) -> Vec<f64> {
    match value {
        Shown::Int(value) => vec![value as f64],
        Shown::Float(value) => vec![value],
        Shown::List(values) => values.to_vec(),
    }
}

fn flat_json(value: &Value) -> Vec<f64> {
    match value.as_array() {
        Some(values) => values.iter().filter_map(number).collect(),
        None => number(value).into_iter().collect(),
    }
}

fn same(one: &[f64], other: &[f64]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| close(*one, *other))
}

/// Where the specification goes beyond the reference: such metrics are not compared.
fn decided_otherwise(tag: &str, ours: Option<&Vec<f64>>, theirs: Option<&Vec<f64>>) -> bool {
    match (tag, ours, theirs) {
        // Embeddings and rankings have 0 tokens here, because the client counts.
        ("output_sequence_length", Some(zero), None) => zero == &[0.0],
        // The first request sent counts, even if it failed.
        ("min_request_timestamp", Some(_), None) => true,
        // Any of the three differences counts, not only prompt and completion together.
        ("usage_discrepancy_count", Some(_), None) => true,
        // Zero is a latency.
        ("credit_drop_latency", Some(zero), None) => zero == &[0.0],
        _ => false,
    }
}

/// Fails with all faults of a case.
fn assert_no_faults(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("; "));
}

fn check_error(case: &Value, error: Option<&RequestError>) {
    let expected = &case["expected"];
    assert_eq!(error.is_none(), expected["valid"].as_bool().unwrap(), "whether it is valid");
    if let Some(error) = error {
        assert_eq!(expected["error"]["message"].as_str(), Some(error.message.as_str()));
        assert_eq!(expected["error"]["type"].as_str(), error.kind.as_deref());
        assert_eq!(expected["error"]["code"].as_i64(), error.code);
    }
}

#[test]
fn golden_record_metrics() {
    each_case(RECORD_METRICS, |case| {
        let mut record = RecordMetrics::default();
        let m = measured(&case["record"]);
        let metrics = Metrics::for_run(traits(&case["config"]));
        metrics.record(&m, &mut record);
        let expected = &case["expected"];
        check_error(case, m.error.as_ref());
        let end = m.start_wall.0 + m.end.since(m.start).0;
        assert_eq!(Some(end), expected["request_end_ns"].as_u64());

        let omit = omitted(case);
        let ours = base_values(&record);
        let theirs: BTreeMap<&str, Vec<f64>> = expected["metrics_base"]
            .as_object()
            .unwrap()
            .iter()
            .filter(|(tag, _)| !omit.contains(&tag.as_str()))
            .map(|(tag, value)| (tag.as_str(), flat_json(value)))
            .collect();
        let mut faults = Vec::new();
        let tags: BTreeSet<&str> = ours.keys().chain(theirs.keys()).copied().collect();
        for tag in tags {
            let (ours, theirs) = (ours.get(tag), theirs.get(tag));
            let agree = matches!((ours, theirs), (Some(ours), Some(theirs)) if same(ours, theirs));
            if !agree && !decided_otherwise(tag, ours, theirs) {
                faults.push(format!("{tag}: {ours:?}, not {theirs:?}"));
            }
        }
        let shown: Vec<&str> = record.iter().map(|(metric, _)| metric.tag).collect();
        let exported: Vec<&str> =
            expected["exported_tags"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let missing = exported.iter().filter(|tag| !omit.contains(tag) && !shown.contains(tag));
        faults.extend(missing.map(|tag| format!("{tag} is not exported")));
        faults.extend(shown.iter().filter(|tag| !exported.contains(tag)).map(|tag| format!("{tag} is exported")));
        assert_no_faults(&faults);
    });
}

#[test]
fn golden_record_export_values() {
    each_case(EXPORTED_RECORD, |case| {
        let mut record = RecordMetrics::default();
        let metrics = Metrics::for_run(traits(&case["config"]));
        metrics.record(&measured(&case["record"]), &mut record);
        let expected = case["expected_exported"].as_object().unwrap();
        let shown: BTreeMap<&str, (Vec<f64>, &str, bool)> = record
            .iter()
            .map(|(metric, value)| (metric.tag, (flat(value), metric.display.name(), matches!(value, Shown::Int(_)))))
            .collect();
        let mut faults = Vec::new();
        for (tag, theirs) in expected {
            // Images, audio and videos have no length in tokens.
            let endpoint = metrics.traits().endpoint.traits();
            if tag == "output_sequence_length" && !endpoint.produces_tokens && !endpoint.has_empty_output() {
                continue;
            }
            let Some((values, unit, integer)) = shown.get(tag.as_str()) else {
                faults.push(format!("{tag} is missing"));
                continue;
            };
            let as_written = theirs["value"].as_number().is_none_or(|written| *integer != written.is_f64());
            if !same(values, &flat_json(&theirs["value"])) || theirs["unit"].as_str() != Some(*unit) || !as_written {
                faults.push(format!("{tag}: {values:?} {unit}, not {theirs}"));
            }
        }
        faults.extend(shown.keys().filter(|tag| !expected.contains_key(**tag)).map(|tag| format!("{tag} is exported")));
        assert_no_faults(&faults);
    });
}
