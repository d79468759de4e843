//! Golden data of single records: every metric a record has, and how a record export shows it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod support;

use aiperf_metrics::{BaseValue, Metrics, RecordMetrics, Value as Shown};
use serde_json::Value;
use std::collections::BTreeMap;
use support::{cases, close, measured, name, number, omitted, traits};

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

/// Where the specification goes beyond the reference: what to take out of both sides before they are compared.
fn decided_otherwise(tag: &str, ours: Option<&Vec<f64>>, theirs: Option<&Vec<f64>>) -> bool {
    match (tag, ours, theirs) {
        // A count that is zero in every run is left out.
        ("context_overflow_count", None, Some(zero)) => zero == &[0.0],
        // The first request sent counts, whatever became of it.
        ("min_request_timestamp", Some(_), None) => true,
        // Any of the three differences counts, not only prompt and completion together.
        ("usage_discrepancy_count", Some(_), None) => true,
        // Zero is a latency.
        ("credit_drop_latency", Some(zero), None) => zero == &[0.0],
        _ => false,
    }
}

#[test]
fn golden_record_metrics() {
    let mut record = RecordMetrics::default();
    for case in cases("record_metrics.json") {
        let m = measured(&case["record"]);
        let metrics = Metrics::for_run(traits(&case["config"]));
        metrics.record(&m, &mut record);
        let expected = &case["expected"];
        assert_eq!(m.error.is_none(), expected["valid"].as_bool().unwrap(), "{}", name(&case));
        if let Some(error) = &m.error {
            assert_eq!(expected["error"]["message"].as_str(), Some(error.message.as_str()), "{}", name(&case));
            assert_eq!(expected["error"]["type"].as_str(), error.kind.as_deref(), "{}", name(&case));
            assert_eq!(expected["error"]["code"].as_i64(), error.code, "{}", name(&case));
        }
        let end = m.start_wall.0 + m.end.since(m.start).0;
        assert_eq!(Some(end), expected["request_end_ns"].as_u64(), "{}", name(&case));

        let omit = omitted(&case);
        let ours = base_values(&record);
        let theirs: BTreeMap<&str, Vec<f64>> = expected["metrics_base"]
            .as_object()
            .unwrap()
            .iter()
            .filter(|(tag, _)| !omit.contains(&tag.as_str()))
            .map(|(tag, value)| (tag.as_str(), flat_json(value)))
            .collect();
        for tag in ours.keys().chain(theirs.keys()) {
            let (ours, theirs) = (ours.get(tag), theirs.get(tag));
            let agree = matches!((ours, theirs), (Some(ours), Some(theirs)) if same(ours, theirs));
            assert!(agree || decided_otherwise(tag, ours, theirs), "{}: {tag}: {ours:?}, not {theirs:?}", name(&case));
        }

        let shown: Vec<&str> = record.iter().map(|(metric, _)| metric.tag).collect();
        let exported = expected["exported_tags"].as_array().unwrap().iter().filter_map(Value::as_str);
        for tag in exported.clone().filter(|tag| !omit.contains(tag)) {
            assert!(shown.contains(&tag), "{}: {tag} is not exported", name(&case));
        }
        for tag in &shown {
            assert!(exported.clone().any(|known| known == *tag), "{}: {tag} is exported", name(&case));
        }
    }
}

#[test]
fn golden_record_export_values() {
    let mut record = RecordMetrics::default();
    for case in cases("record_export_values.json") {
        let metrics = Metrics::for_run(traits(&case["config"]));
        metrics.record(&measured(&case["record"]), &mut record);
        let expected = case["expected_exported"].as_object().unwrap();
        let shown: BTreeMap<&str, (Vec<f64>, &str, bool)> = record
            .iter()
            .map(|(metric, value)| (metric.tag, (flat(value), metric.display.name(), matches!(value, Shown::Int(_)))))
            .collect();
        for (tag, theirs) in expected {
            // Without tokens there is no sequence length, whatever else asks for it.
            if tag == "output_sequence_length" && !metrics.traits().endpoint.traits().produces_tokens {
                continue;
            }
            let (values, unit, integer) = shown.get(tag.as_str()).unwrap_or_else(|| panic!("{}: {tag}", name(&case)));
            assert!(same(values, &flat_json(&theirs["value"])), "{}: {tag}: {values:?}", name(&case));
            assert_eq!(Some(*unit), theirs["unit"].as_str(), "{}: {tag}", name(&case));
            if let Some(written) = theirs["value"].as_number() {
                assert_eq!(*integer, !written.is_f64(), "{}: {tag} as {written}", name(&case));
            }
        }
        for tag in shown.keys() {
            assert!(expected.contains_key(*tag), "{}: {tag} is exported", name(&case));
        }
    }
}
