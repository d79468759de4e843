//! A comparison as JSON.

use super::{CompareReport, Failures, Judgement, LimitOutcome, Method, Pair, Row, RowVerdict};
use crate::format::json::Pretty;

/// Version of the document's layout.
const SCHEMA_VERSION: &str = "1.0";

/// The document.
pub fn compare_json(report: &CompareReport) -> Vec<u8> {
    let mut json = Pretty::default();
    json.begin_object();
    json.text("schema_version", SCHEMA_VERSION);
    json.text("aiperf_version", &report.version);
    json.number("confidence_level", Some(report.level));
    json.key("sides");
    json.begin_list();
    for side in &report.sides {
        json.begin_object();
        json.text("label", &side.label);
        json.text("path", &side.path);
        json.key("runs");
        json.int(side.runs);
        if let Some(records) = side.records {
            json.key("records");
            json.int(records);
        }
        if let Some(verdict) = side.verdicts.grade() {
            json.text("measurement_verdict", verdict.name());
        }
        side.verdicts.push(&mut json);
        json.end_object();
    }
    json.end_list();
    json.key("comparisons");
    json.begin_list();
    for pair in &report.pairs {
        push_pair(&mut json, report, pair);
    }
    json.end_list();
    json.key("notes");
    json.begin_list();
    for note in &report.notes {
        json.str(note);
    }
    json.end_list();
    json.end_object();
    json.finish()
}

fn push_pair(json: &mut Pretty, report: &CompareReport, pair: &Pair) {
    let (first, second) = report.labels(pair);
    json.begin_object();
    json.text("first", first);
    json.text("second", second);
    json.text(
        "method",
        match pair.method {
            Method::Records => "records",
            Method::Trials => "trials",
            Method::Summaries => "summaries",
        },
    );
    json.key("settings");
    json.begin_list();
    for setting in &pair.settings {
        json.begin_object();
        json.text("path", &setting.path);
        for (key, value) in [("first", &setting.first), ("second", &setting.second)] {
            if let Some(value) = value {
                json.text(key, value);
            }
        }
        json.end_object();
    }
    json.end_list();
    if let Some(failures) = &pair.failures {
        push_failures(json, failures);
    }
    json.key("metrics");
    json.begin_list();
    for row in &pair.rows {
        push_row(json, row);
    }
    json.end_list();
    json.key("limits");
    json.begin_list();
    for judgement in &pair.judgements {
        push_judgement(json, judgement);
    }
    json.end_list();
    json.end_object();
}

fn push_failures(json: &mut Pretty, failures: &Failures) {
    json.key("failures");
    json.begin_object();
    for (name, side) in [("first", failures.first), ("second", failures.second)] {
        json.key(name);
        json.begin_object();
        json.key("failed");
        json.int(side.failed);
        json.key("requests");
        json.int(side.requests);
        json.end_object();
    }
    json.number("p", Some(failures.p));
    json.number("p_corrected", failures.corrected_p);
    json.text("change", failures.change.name());
    json.end_object();
}

fn push_row(json: &mut Pretty, row: &Row) {
    let numbers = &row.numbers;
    json.begin_object();
    json.text("metric", &row.tag);
    json.text("stat", &row.stat);
    json.text("unit", &row.unit);
    json.text(
        "direction",
        match row.larger_is_better {
            Some(true) => "larger_is_better",
            Some(false) => "smaller_is_better",
            None => "neutral",
        },
    );
    json.number("first", Some(numbers.first));
    json.number("second", Some(numbers.second));
    json.number("difference", Some(numbers.difference));
    json.number("difference_percent", numbers.relative.map(|share| share * 100.0));
    push_numbers(json, "interval", numbers.interval);
    json.number("p", numbers.p);
    json.number("p_corrected", numbers.corrected_p);
    push_numbers(json, "effective_values", numbers.effective);
    push_numbers(json, "error_bounds", row.bounds);
    json.text("verdict", row.verdict.name());
    if let RowVerdict::Undecided(reason) = row.verdict {
        json.text("reason", reason.name());
    }
    json.end_object();
}

fn push_judgement(json: &mut Pretty, judgement: &Judgement) {
    json.begin_object();
    json.text("limit", &judgement.rule);
    json.text("outcome", judgement.outcome.name());
    if let LimitOutcome::Undecided(reason) = judgement.outcome {
        json.text("reason", reason.name());
    }
    if judgement.more_failures.is_some() {
        json.text("reason", "more_failures");
    }
    json.text("unit", &judgement.unit);
    json.number("first", Some(judgement.first));
    json.number("second", Some(judgement.second));
    json.number("difference_percent", judgement.relative.map(|share| share * 100.0));
    json.number("limit_value", Some(judgement.limit));
    push_numbers(json, "interval", judgement.interval);
    json.number("p", judgement.p);
    json.number("p_corrected", judgement.corrected_p);
    if judgement.bound > 0.0 {
        json.number("error_bound", Some(judgement.bound));
    }
    json.end_object();
}

/// An end that the data do not bound is null.
fn push_numbers(json: &mut Pretty, key: &str, pair: Option<(f64, f64)>) {
    let Some((first, second)) = pair else { return };
    json.key(key);
    json.begin_list();
    json.f64(first);
    json.f64(second);
    json.end_list();
}
