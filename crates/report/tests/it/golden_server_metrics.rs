//! Server metrics files compared with golden data.

use crate::support;

use aiperf_golden::kinds::servers::WATCHED_RUN;
use aiperf_golden::{GoldenFile, Tally};
use aiperf_observe::{Samples, Scrape, ServerMetrics};
use aiperf_report::server_metrics::csv::write_server_metrics_csv;
use aiperf_report::server_metrics::json::write_server_metrics_json;
use aiperf_report::server_metrics::parquet::write_server_metrics_parquet;
use aiperf_report::{RunResult, scrape_line};
use parquet::basic::{LogicalType, Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::ColumnDescriptor;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use support::observed::*;
use support::*;

/// Runs a check on every golden run of which there is such a file.
fn each_run(file_kind: &str, skip: fn(&Value) -> Option<&'static str>, check: impl Fn(&GoldenFile)) {
    let mut tally = Tally::of(WATCHED_RUN);
    for file in watched_runs() {
        let nothing = file.json["expected"][file_kind].is_null().then_some("the reference wrote nothing");
        match nothing.or_else(|| skip(&file.json)) {
            Some(reason) => tally.skip(reason),
            None => tally.run(file.name(), || check(&file)),
        }
    }
    tally.finish();
}

/// Why the result of pages here differs from that of the reference.
fn done_better(golden: &Value) -> Option<&'static str> {
    let refused = golden["expected"]["disabled_on_parse_error"].as_array();
    if refused.is_some_and(|refused| !refused.is_empty()) {
        return Some("decision: a malformed line costs that line, not the endpoint");
    }
    let is_marked = |mark: &str| golden[mark] == true;
    if is_marked("seed_conflict") {
        return Some("section 14: slices shorter than the time between pages");
    }
    is_marked("quirk").then_some("section 15: a weakness of the reference")
}

fn json_of(run: &RunResult) -> Value {
    let mut text = Vec::new();
    let observed = run.server_metrics.as_ref().unwrap();
    write_server_metrics_json(&mut text, run, &observed.metrics).unwrap();
    let mut document: Value = serde_json::from_slice(&text).unwrap();
    document.as_object_mut().unwrap().remove("input_config");
    document
}

fn csv_of(run: &RunResult) -> String {
    let mut text = Vec::new();
    write_server_metrics_csv(&mut text, run.server_metrics.as_ref().unwrap()).unwrap();
    String::from_utf8(text).unwrap()
}

/// The tables of a golden file: the reference puts comments before them, on which readers fail.
fn tables(csv: &str) -> String {
    csv.split_inclusive('\n').skip_while(|line| line.starts_with('#')).collect()
}

#[test]
fn golden_statistics_are_written_as_json() {
    each_run(
        "json",
        |_| None,
        |file| {
            let expected = &file.json["expected"]["json"];
            // As text: the order of keys counts.
            let ours = serde_json::to_string_pretty(&json_of(&run_of_document(&file.json))).unwrap();
            same_text(&ours, &serde_json::to_string_pretty(expected).unwrap());
        },
    );
}

#[test]
fn golden_statistics_are_written_as_csv() {
    each_run(
        "csv",
        |_| None,
        |file| {
            let expected = tables(file.json["expected"]["csv"].as_str().unwrap());
            same_text(&csv_of(&run_of_document(&file.json)), &expected);
        },
    );
}

/// Series that the reference keeps of undeclared metrics: only the last of several label sets. Here all are kept.
fn is_kept_by_reference(golden: &Value, name: &str, labels: &[(&str, &str)]) -> bool {
    let metric = &golden["expected"]["json"]["metrics"][name];
    if metric["type"] != "unknown" || metric["description"] != "" {
        return true;
    }
    let is_it = |series: &Value| {
        let theirs = series["labels"].as_object().into_iter().flatten();
        theirs.map(|(name, value)| (name.as_str(), value.as_str().unwrap())).eq(labels.iter().copied())
    };
    metric["series"].as_array().unwrap().iter().any(is_it)
}

/// The result of the pages of a golden file, without what section 15 adds: more label sets (4), numbers of resets (2),
/// more units (14).
fn watched(golden: &Value) -> RunResult {
    let mut run = watch(golden);
    let mut observed = Arc::into_inner(run.server_metrics.take().unwrap()).unwrap();
    let document = &golden["expected"]["json"];
    let ServerMetrics { metrics, warmup_metrics, .. } = &mut observed.metrics;
    for (metrics, theirs) in [(metrics, &document["metrics"]), (warmup_metrics, &document["warmup_metrics"])] {
        for metric in metrics {
            metric.unit = metric.unit.filter(|_| theirs[&*metric.name].get("unit").is_some());
            metric.series.retain(|series| is_kept_by_reference(golden, &metric.name, &pairs(&series.labels)));
            metric.series.iter_mut().for_each(|series| series.resets = 0);
        }
    }
    RunResult { server_metrics: Some(Arc::new(observed)), ..run }
}

fn pairs(labels: &[(Arc<str>, Arc<str>)]) -> Vec<(&str, &str)> {
    labels.iter().map(|(name, value)| (&**name, &**value)).collect()
}

/// Golden data without empty slices and buckets, which carry nothing (15.11, 15.16).
fn without_empties(value: &Value) -> Value {
    let is_empty = |key: &str, value: &Value| match key {
        "timeslices" => value.as_array().is_some_and(Vec::is_empty),
        "buckets" => value.as_object().is_some_and(Map::is_empty),
        _ => false,
    };
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(key, value)| !is_empty(key, value));
            Value::Object(members.map(|(key, value)| (key.clone(), without_empties(value))).collect())
        }
        Value::Array(items) => items.iter().map(without_empties).collect(),
        other => other.clone(),
    }
}

#[test]
fn golden_pages_come_to_json() {
    each_run("json", done_better, |file| {
        let expected = without_empties(&file.json["expected"]["json"]);
        same_json(&json_of(&watched(&file.json)), &expected);
    });
}

#[test]
fn golden_pages_come_to_csv() {
    each_run("csv", done_better, |file| {
        let expected = tables(file.json["expected"]["csv"].as_str().unwrap());
        same_text(&csv_of(&watched(&file.json)), &expected);
    });
}

/// A page as the reference writes it: without the servers' descriptions of themselves, and without 15.4.
fn as_reference_keeps_it(golden: &Value, mut scrape: Scrape) -> Scrape {
    scrape.families.retain(|family| !family.name.ends_with("_info"));
    for family in &mut scrape.families {
        if let Samples::Scalars(samples) = &mut family.samples {
            samples.retain(|sample| is_kept_by_reference(golden, &family.name, &pairs(&sample.labels)));
        }
    }
    scrape
}

#[test]
fn golden_pages_come_to_lines() {
    each_run("jsonl", done_better, |file| {
        // The reference leaves duplicates out.
        let unique = scrapes(&file.json).into_iter().filter(|scrape| !scrape.is_duplicate);
        let mut text = Vec::new();
        unique.for_each(|scrape| scrape_line(&mut text, &as_reference_keeps_it(&file.json, scrape)));
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        same_json(&Value::Array(lines), &file.json["expected"]["jsonl"]);
    });
}

fn type_name(column: &ColumnDescriptor) -> &'static str {
    match (column.physical_type(), column.logical_type_ref()) {
        (Type::BYTE_ARRAY, Some(LogicalType::String)) => "string",
        (Type::INT64, None) => "int64",
        (Type::DOUBLE, None) => "double",
        other => panic!("{other:?}"),
    }
}

fn cell(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Str(text) => text.as_str().into(),
        Field::Long(value) => (*value).into(),
        Field::Double(value) => (*value).into(),
        other => panic!("{other:?}"),
    }
}

/// The content of a Parquet file.
struct ReadBack {
    columns: Vec<(String, &'static str)>,
    metadata: BTreeMap<String, String>,
    rows: Vec<Vec<Value>>,
}

fn read_back(run: &RunResult) -> ReadBack {
    let mut bytes = Vec::new();
    write_server_metrics_parquet(&mut bytes, run, run.server_metrics.as_ref().unwrap()).unwrap();
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let facts = file.metadata().file_metadata();
    let columns = facts.schema_descr().columns();
    let pairs = facts.key_value_metadata().unwrap().iter();
    let rows = file.get_row_iter(None).unwrap();
    ReadBack {
        columns: columns.iter().map(|column| (column.name().to_owned(), type_name(column))).collect(),
        metadata: pairs.map(|pair| (pair.key.clone(), pair.value.clone().unwrap())).collect(),
        rows: rows.map(|row| row.unwrap().get_column_iter().map(|(_, field)| cell(field)).collect()).collect(),
    }
}

impl ReadBack {
    fn column(&self, name: &str) -> usize {
        self.columns.iter().position(|(known, _)| known == name).unwrap()
    }

    /// Without labels that have the name of another column: the reference drops them; here they are kept, because they
    /// distinguish series.
    fn without_renamed_labels(mut self) -> Self {
        let names: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let is_renamed =
            |name: &String| name.strip_prefix("label_").is_some_and(|label| names.iter().any(|known| known == label));
        let kept: Vec<bool> = names.iter().map(|name| !is_renamed(name)).collect();
        let mut keep = kept.iter();
        self.columns.retain(|_| *keep.next().unwrap());
        for row in &mut self.rows {
            let mut keep = kept.iter();
            row.retain(|_| *keep.next().unwrap());
        }
        self
    }
}

#[test]
fn golden_pages_come_to_parquet() {
    each_run("parquet", done_better, |file| {
        let (golden, expected) = (&file.json, &file.json["expected"]["parquet"]);
        let mut ours = read_back(&watched(golden));
        let keys: Vec<&str> = ours.metadata.keys().map(String::as_str).collect();
        assert_eq!(serde_json::json!(keys), expected["metadata_keys"]);
        let all_columns = ours.columns.len();
        ours = ours.without_renamed_labels();
        // Columns (15.15) and series (15.4) that the reference does not have are counted too.
        let is_bare = |metric: &Value| metric["type"] == "unknown" && metric["description"] == "";
        let has_bare = golden["expected"]["json"]["metrics"].as_object().unwrap().values().any(is_bare);
        let has_more_columns = all_columns != ours.columns.len();
        for (key, value) in expected["metadata"].as_object().unwrap() {
            let is_more = match key.as_str() {
                "aiperf.label_columns" | "aiperf.label_count" => has_more_columns,
                "aiperf.metric_count" | "aiperf.metric_type_counts" => has_bare,
                _ => false,
            };
            if !is_more {
                assert_eq!(ours.metadata[key], value.as_str().unwrap(), "{key}");
            }
        }
        assert_eq!(serde_json::json!(ours.columns), expected["columns"]);
        let (name, unit) = (ours.column("metric_name"), ours.column("unit"));
        let labels = ours.column("timestamp_ns") + 1..ours.column("value");
        let names: Vec<&str> = ours.columns.iter().map(|(name, _)| name.as_str()).collect();
        let is_kept = |row: &Vec<Value>| {
            let labels: Vec<(&str, &str)> =
                labels.clone().filter_map(|at| Some((names[at], row[at].as_str()?))).collect();
            is_kept_by_reference(golden, row[name].as_str().unwrap(), &labels)
        };
        let mut rows: Vec<Vec<Value>> = ours.rows.iter().filter(|row| is_kept(row)).cloned().collect();
        let theirs = expected["rows"].as_array().unwrap();
        // 15.14 knows more units.
        rows.iter_mut()
            .zip(theirs)
            .filter(|(_, their)| their[unit].is_null())
            .for_each(|(row, _)| row[unit] = Value::Null);
        same_json(&serde_json::json!(rows), &expected["rows"]);
    });
}
