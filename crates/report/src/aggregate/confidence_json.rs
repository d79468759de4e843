//! Several runs of one benchmark as JSON: a block for each statistic of each metric.

use super::trials::{AcrossRuns, ConfidenceReport, RunTally};
use crate::format::json::Pretty;

/// Version of the document's layout.
const SCHEMA_VERSION: &str = "1.0";

/// The document.
pub fn confidence_json(report: &ConfidenceReport) -> Vec<u8> {
    let mut json = Pretty::default();
    json.begin_object();
    json.text("schema_version", SCHEMA_VERSION);
    json.text("aiperf_version", &report.version);
    json.key("metadata");
    json.begin_object();
    json.text("aggregation_type", "confidence");
    push_tally(&mut json, &report.tally);
    for (key, value) in &report.metadata() {
        json.key(key);
        json.value(value);
    }
    json.end_object();
    json.key("metrics");
    json.begin_object();
    for (key, across) in &report.metrics {
        json.key(key);
        push_across(&mut json, across);
    }
    json.end_object();
    report.verdicts.push(&mut json);
    json.end_object();
    json.finish()
}

fn push_across(json: &mut Pretty, across: &AcrossRuns) {
    json.begin_object();
    push_spread(json, across);
    json.number("se", across.se);
    json.number("ci_low", across.ci_low);
    json.number("ci_high", across.ci_high);
    json.number("t_critical", across.t_critical);
    json.text("unit", &across.unit);
    json.end_object();
}

/// The location and the spread of the values.
pub(super) fn push_spread(json: &mut Pretty, across: &AcrossRuns) {
    json.number("mean", across.mean);
    json.number("std", across.std);
    json.number("min", Some(across.min));
    json.number("max", Some(across.max));
    json.number("cv", across.cv);
}

/// How many runs there were, and which failed.
pub(super) fn push_tally(json: &mut Pretty, tally: &RunTally) {
    json.key("num_profile_runs");
    json.int(tally.runs);
    json.key("num_successful_runs");
    json.int(tally.successful.len());
    json.key("failed_runs");
    json.begin_list();
    for run in &tally.failed {
        json.begin_object();
        json.text("label", &run.label);
        json.text("error", &run.error);
        json.end_object();
    }
    json.end_list();
}
