//! Record lines compared with those of real runs.
//!
//! A golden line is turned back into measurements, its metrics are computed again, and the line is written again:
//! metadata, errors and the text of every number must be the same.

use crate::support;

use aiperf_golden::kinds::runs::RECORDS;
use aiperf_golden::{Tally, respelled};
use aiperf_metrics::{Metrics, RecordMetrics, RunTraits};
use aiperf_report::RecordLine;
use serde_json::Value;
use std::collections::BTreeMap;
use support::recorded::*;

/// Metrics that the reference does not have.
const OURS: &[&str] = &["http_req_tls_handshaking"];

/// Metrics of tokens that the reference also has for endpoints that produce none.
const NOT_OURS_WITHOUT_TOKENS: &[&str] = &["output_sequence_length"];

/// The metrics of a line by tag, each as its text.
fn metric_texts(line: &str) -> BTreeMap<&str, &str> {
    let metrics = line.split_once("\"metrics\":{").unwrap().1;
    // A failed record may have none.
    let Some(members) = metrics.strip_prefix('"') else { return BTreeMap::new() };
    let inner = members.split_once("}}").unwrap().0;
    inner.split("},\"").map(|member| member.split_once("\":{").unwrap()).collect()
}

/// Quotients may differ in their last digit, which depends on the order of operations; times may not.
fn is_nearly(ours: &str, theirs: &str) -> bool {
    let split = |text: &str| {
        let (value, unit) = text.strip_prefix("\"value\":").unwrap().split_once(",\"unit\":").unwrap();
        (value.parse::<f64>().ok(), unit.to_owned())
    };
    let ((our, our_unit), (their, their_unit)) = (split(ours), split(theirs));
    let is_quotient = !["\"ms\"", "\"KB\"", "\"tokens\"", "\"count\""].contains(&our_unit.as_str());
    let near = our.zip(their).is_some_and(|(our, their)| (our - their).abs() <= their.abs() * 4.0 * f64::EPSILON);
    our_unit == their_unit && is_quotient && near
}

/// The metadata alone.
fn metadata_text(line: &str) -> String {
    without_thread_names(line.split_once(",\"metrics\":").unwrap().0)
}

#[test]
fn golden_record_lines_are_written_as_they_were_read() {
    let mut tally = Tally::of(RECORDS);
    for file in RECORDS.whole_files() {
        let traits = traits_of(&file);
        for (at, line) in file.text.lines().enumerate() {
            tally.run(format!("{} line {}", file.name(), at + 1), || check_line(&traits, line));
        }
    }
    tally.finish();
}

fn check_line(traits: &RunTraits, theirs: &str) {
    let endpoint = traits.endpoint.traits();
    let without_tokens = !endpoint.produces_tokens && !endpoint.has_empty_output();
    let line: Value = serde_json::from_str(theirs).unwrap();
    let measured = measured_of(&line);
    let mut record = RecordMetrics::default();
    Metrics::for_run(traits.clone()).record(&measured, &mut record);
    let mut out = Vec::new();
    assert!(RecordLine::new("465e2a4541a2").write(&mut out, &meta_of(&line), &measured, &record));
    let ours = String::from_utf8(out).unwrap();
    assert_eq!(metadata_text(&ours), metadata_text(theirs));
    let (our_metrics, their_metrics) = (metric_texts(&ours), metric_texts(theirs));
    for (tag, text) in &their_metrics {
        if without_tokens && NOT_OURS_WITHOUT_TOKENS.contains(tag) {
            continue;
        }
        let our = our_metrics.get(tag).unwrap_or_else(|| panic!("{tag} is not in {ours}"));
        assert!(respelled(our) == respelled(text) || is_nearly(our, text), "{tag} is {our}, not {text}");
    }
    for tag in our_metrics.keys() {
        assert!(their_metrics.contains_key(tag) || OURS.contains(tag), "{tag} is in {ours}");
    }
    // An error that did not happen is null; the reference leaves it out.
    let error = |line: &str| line.rsplit_once(",\"error\":").map(|(_, error)| error.trim_end().to_owned());
    assert_eq!(error(&ours), error(theirs).or(Some("null}".into())));
}
