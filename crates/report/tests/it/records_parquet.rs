//! Records as Parquet, beside the JSONL of the same records: every value is in both.

use crate::support;

use aiperf_metrics::{Metrics, RecordMetrics, RecordView, RunTraits};
use aiperf_plan::{ArtifactPlan, FileNames};
use aiperf_report::{Artifacts, IncompleteFile, OpenRecordFile, RecordRun, Written};
use aiperf_types::{
    CorrelationId, EndpointKind, Exchange, Measured, Nanos, Parsed, PhaseKind, RecordMeta, RequestError, Slo,
    SpecDecode, Uncertainty, Usage,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Map, Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::streamed::{Noise, phase, streamed};
use support::*;

fn failed(mut record: (RecordMeta, Measured), error: RequestError) -> (RecordMeta, Measured) {
    record.0.request_ack = None;
    record.1 = Measured { content: Vec::new(), http: None, usage: Usage::default(), error: Some(error), ..record.1 };
    record.1.tokens.output = None;
    record
}

/// Records of every kind, and one that writes nothing.
fn of_every_sort() -> Vec<(RecordMeta, Measured)> {
    let mut noise = Noise(7);
    let mut plain = |number: u64, chunks: u64| streamed(number, chunks, &mut noise);
    let mut warm = plain(0, 4);
    warm.0.phase = phase(PhaseKind::Warmup);
    warm.0.correlation_id = CorrelationId::Text("conversation \"1\" \u{fc}\n".into());
    let mut spec_decode = plain(1, 3);
    spec_decode.1.spec_decode = Some(Box::new(SpecDecode {
        mean_acceptance_length: Some(2.0),
        acceptance_histogram: [(0, 1), (2, 1)].into(),
        per_step_accepted: Some(vec![0, 2]),
        ..SpecDecode::default()
    }));
    let http = RequestError::coded(503, "Service Unavailable", "{\"error\": \"no \u{1f600}\"}");
    let chained = RequestError {
        code: None,
        kind: None,
        message: String::new(),
        cause: Some("because".into()),
        cause_chain: Some(vec!["Outer".into(), "Inner".into()]),
    };
    let unchained = RequestError { cause: None, cause_chain: Some(Vec::new()), ..chained.clone() };
    let mut cancelled = failed(plain(5, 0), RequestError::coded(499, "RequestCancellationError", "given up"));
    (cancelled.0.was_cancelled, cancelled.0.cancelled_at) = (true, Some(cancelled.0.request_end));
    let silent = (plain(6, 0).0, Measured::default());
    let mut late = plain(9, 5);
    late.0.credit_issued = None;
    late.1.receive_lag = Some(Nanos(1_000_001));
    let mut uncertain = plain(10, 5);
    uncertain.1.last_uncertainty = Uncertainty { width: Nanos(700_000), is_late: true, is_unstamped: true };
    vec![
        warm,
        spec_decode,
        failed(plain(2, 0), http),
        failed(plain(3, 0), chained),
        failed(plain(4, 0), unchained),
        cancelled,
        silent,
        plain(7, 1),
        plain(8, 300),
        late,
        uncertain,
    ]
}

fn run_with_objectives() -> RecordRun {
    let slo = Slo { tag: "request_latency".into(), threshold: 800.0 };
    let traits = RunTraits { slos: vec![slo], ..RunTraits::new(EndpointKind::Chat, true) };
    RecordRun { metrics: Arc::new(Metrics::for_run(traits)), ..record_run() }
}

fn plan(dir: &Path) -> ArtifactPlan {
    ArtifactPlan::new(dir, FileNames::new(None))
}

/// Writes records to every record file, sixteen at a time.
fn write(open: &mut [OpenRecordFile], run: &RecordRun, records: &[(RecordMeta, Measured)]) {
    let mut metrics = RecordMetrics::default();
    let (exchange, parsed) = (Exchange::default(), Parsed::default());
    for file in open {
        let mut encoder = (file.writing.encoder)();
        for batch in records.chunks(16) {
            let mut bytes = Vec::new();
            for (meta, measured) in batch {
                run.metrics.record(measured, &mut metrics);
                let metrics = &metrics;
                let view = RecordView { exchange: &exchange, parsed: &parsed, meta, measured, metrics, raw: None };
                encoder.encode(&view, &mut bytes);
            }
            file.writing.file.write_all(&bytes).unwrap();
        }
        file.writing.file.flush().unwrap();
    }
}

fn complete(artifacts: &Artifacts, plan: &ArtifactPlan, open: Vec<OpenRecordFile>) -> Written {
    let incomplete = open.into_iter().filter_map(|OpenRecordFile { name, path, writing }| {
        writing.complete.map(|complete| IncompleteFile { name, path, complete })
    });
    let block = json!({ "unit": "ms", "avg": 1.5e-7, "p50": 1.0, "count": 2 });
    let metrics = summary(vec![result("good_request_fraction", &block), result("request_latency", &block)]);
    let run = aiperf_report::RunResult { artifacts: plan.clone(), metrics, ..empty_run() };
    let first = artifacts.write_first(&run, Vec::new(), incomplete.collect());
    artifacts.write_rest(&run, first)
}

fn write_run(dir: &Path, run: &RecordRun, records: &[(RecordMeta, Measured)]) -> Written {
    let plan = plan(dir);
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let mut open = artifacts.open_record_files(run).unwrap();
    write(&mut open, run, records);
    complete(&artifacts, &plan, open)
}

fn parquet(dir: &Path) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(dir.join("records/profile_export.parquet")).unwrap()).unwrap()
}

fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => json!(value),
        Field::Long(value) => json!(value),
        Field::Double(value) => json!(value),
        Field::Str(text) => json!(text),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        other => panic!("{other:?}"),
    }
}

fn rows(dir: &Path) -> Vec<Map<String, Value>> {
    let rows = parquet(dir);
    rows.get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect())
        .collect()
}

/// A line of the JSONL as a row without its empty cells.
fn row_of(line: &str) -> Map<String, Value> {
    let line: Value = serde_json::from_str(line).unwrap();
    let mut row = line["metadata"].as_object().unwrap().clone();
    let metrics = line["metrics"].as_object().unwrap();
    row.extend(metrics.iter().map(|(tag, metric)| (tag.clone(), metric["value"].clone())));
    if let Some(reported) = line.get("spec_decode_acceptance") {
        row.insert("spec_decode_acceptance".into(), json!(reported.to_string()));
    }
    let measurement = line["measurement"].as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    row.extend(measurement.map(|(key, value)| (format!("measurement_{key}"), value.clone())));
    let error = line["error"].as_object().into_iter().flatten();
    row.extend(error.map(|(key, value)| (format!("error_{key}"), value.clone())));
    row
}

fn lines(dir: &Path) -> Vec<Map<String, Value>> {
    fs::read_to_string(dir.join("profile_export.jsonl")).unwrap().lines().map(row_of).collect()
}

fn without_nulls(rows: Vec<Map<String, Value>>) -> Vec<Map<String, Value>> {
    rows.into_iter().map(|row| row.into_iter().filter(|(_, value)| !value.is_null()).collect()).collect()
}

fn assert_same(dir: &Path) {
    let (found, expected) = (without_nulls(rows(dir)), lines(dir));
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "row {at}");
    }
}

#[test]
fn every_value_of_the_jsonl_is_in_a_column() {
    let dir = tempfile::tempdir().unwrap();
    let written = write_run(dir.path(), &run_with_objectives(), &of_every_sort());
    assert!(written.failures.is_empty(), "{:?}", written.failures);
    assert_same(dir.path());
    let labels: Vec<&str> = written.files.iter().map(|file| file.label).collect();
    assert!(labels.contains(&"Records Parquet"), "{labels:?}");
    let rows = rows(dir.path());
    assert_eq!(rows.len(), 10, "one record writes nothing");
    assert_eq!(rows[3]["error_cause_chain"], json!(["Outer", "Inner"]));
    assert_eq!(rows[4]["error_cause_chain"], json!([]));
    assert_eq!(rows[5]["error_cause_chain"], Value::Null);
    assert_eq!(rows[7]["good_request_count"], json!(0));
    assert!(rows[2]["error_isl"].is_number());
    let measurement = |row: usize| {
        ["receive_lag_ms", "first_width_ms", "last_width_ms", "late", "unstamped"]
            .map(|member| rows[row][&format!("measurement_{member}")].clone())
    };
    assert_eq!(measurement(7), [(); 5].map(|()| Value::Null), "an exact record");
    assert_eq!(measurement(8), [json!(1.000001), json!(0.0), json!(0.0), json!(false), json!(false)]);
    assert_eq!(measurement(9), [Value::Null, json!(0.0), json!(0.7), json!(true), json!(true)]);
}

#[test]
fn rows_keep_their_order_across_row_groups() {
    let dir = tempfile::tempdir().unwrap();
    let mut noise = Noise(3);
    let record = |number: u64| match streamed(number, number % 240, &mut noise) {
        record if number % 7 == 3 => failed(record, RequestError::coded(500, "Internal Server Error", "no")),
        record => record,
    };
    let records: Vec<_> = (0..6_000).map(record).collect();
    assert!(write_run(dir.path(), &run_with_objectives(), &records).failures.is_empty());
    assert!(parquet(dir.path()).num_row_groups() > 1);
    assert_same(dir.path());
}

#[test]
fn a_run_without_records_has_a_file_without_rows() {
    let dir = tempfile::tempdir().unwrap();
    assert!(write_run(dir.path(), &record_run(), &[]).failures.is_empty());
    assert!(rows(dir.path()).is_empty());
    assert!(parquet(dir.path()).metadata().file_metadata().schema().get_fields().len() > 50);
}

#[test]
fn units_and_the_results_of_the_run_are_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    write_run(dir.path(), &record_run(), &of_every_sort());
    let file = parquet(dir.path());
    let metadata = file.metadata().file_metadata().key_value_metadata().unwrap();
    let text = |key: &str| metadata.iter().find(|entry| entry.key == key).unwrap().value.clone().unwrap();
    let json = |key: &str| serde_json::from_str::<Value>(&text(key)).unwrap();
    assert_eq!(json("aiperf.units")["request_latency"], "ms");
    assert_eq!(json("aiperf.units")["request_start_ns"], "ns");
    assert_eq!(json("aiperf.units")["measurement_receive_lag_ms"], "ms");
    let summary: Value =
        serde_json::from_slice(&fs::read(dir.path().join("profile_export_aiperf.json")).unwrap()).unwrap();
    for tag in ["request_latency", "good_request_fraction"] {
        assert_eq!(json("aiperf.metrics")[tag], summary[tag]);
    }
    assert_eq!(text("aiperf.benchmark_id"), summary["benchmark_id"].as_str().unwrap());
    assert_eq!(text("aiperf.version"), summary["aiperf_version"].as_str().unwrap());
    assert_eq!(text("aiperf.schema_version"), "1.0");
}

/// The name of the file while the run is on.
fn temporary(dir: &Path) -> PathBuf {
    dir.join(format!("records/.profile_export.parquet.{}.tmp", std::process::id()))
}

fn temporaries(dir: &Path) -> usize {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".tmp")).count()
}

#[test]
fn until_the_run_is_summarised_the_file_has_another_name() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let mut open = artifacts.open_record_files(&record_run()).unwrap();
    write(&mut open, &record_run(), &of_every_sort());
    let folder = dir.path().join("records");
    assert!(!folder.join("profile_export.parquet").exists());
    assert_eq!(temporaries(&folder), 1);
    // Writing failed elsewhere, or the run was never summarised.
    drop(open);
    assert_eq!(temporaries(&folder), 0);
}

#[test]
fn what_a_killed_run_left_goes_before_the_next() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("records")).unwrap();
    // In the folder of the records, and where earlier versions wrote them.
    for folder in ["records", "."] {
        fs::write(dir.path().join(folder).join(".profile_export.parquet.1.tmp"), "PAR1").unwrap();
        fs::write(dir.path().join(folder).join("profile_export.parquet"), "PAR1").unwrap();
    }
    Artifacts::prepare(&plan(dir.path())).unwrap().remove_stale().unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn other_files_in_the_folder_of_the_records_stay() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("records");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("profile_export.parquet"), "PAR1").unwrap();
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    // A folder with the name of an earlier version's file belongs to the user.
    fs::create_dir(dir.path().join("profile_export.parquet")).unwrap();
    Artifacts::prepare(&plan(dir.path())).unwrap().remove_stale().unwrap();
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.txt"]);
    assert!(dir.path().join("profile_export.parquet").is_dir());
}

#[test]
fn a_file_in_the_place_of_the_folder_is_refused_before_anything_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("records"), "mine").unwrap();
    fs::write(dir.path().join("profile_export.jsonl"), "old").unwrap();
    let refused = Artifacts::prepare(&plan(dir.path())).unwrap_err().to_string();
    assert!(refused.contains("records is a file, and a folder of the run has that name"), "{refused}");
    assert!(refused.contains("try: --artifact-dir"), "{refused}");
    assert!(dir.path().join("profile_export.jsonl").is_file());
}

#[test]
fn a_deleted_file_fails_alone_with_one_error() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let mut open = artifacts.open_record_files(&record_run()).unwrap();
    write(&mut open, &record_run(), &of_every_sort());
    fs::remove_file(temporary(dir.path())).unwrap();
    let parquet = open.iter_mut().find(|file| file.name == "records_parquet").unwrap();
    assert_eq!(parquet.writing.file.flush().unwrap_err().kind(), std::io::ErrorKind::NotFound);
    let written = complete(&artifacts, &plan, open);
    let failed: Vec<&str> = written.failures.iter().map(|failure| failure.exporter).collect();
    assert_eq!(failed, ["records_parquet"]);
    assert!(dir.path().join("profile_export.jsonl").is_file());
    assert!(!dir.path().join("records/profile_export.parquet").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_when_rows_do_not_fit() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("records")).unwrap();
    std::os::unix::fs::symlink("/dev/full", temporary(dir.path())).unwrap();
    let mut noise = Noise(3);
    let records: Vec<_> = (0..40).map(|number| streamed(number, 100, &mut noise)).collect();
    let plan = plan(dir.path());
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let mut open = artifacts.open_record_files(&record_run()).unwrap();
    open.retain(|file| file.name == "records_parquet");
    let mut encoder = (open[0].writing.encoder)();
    let mut bytes = Vec::new();
    let run = record_run();
    let (exchange, parsed, mut metrics) = (Exchange::default(), Parsed::default(), RecordMetrics::default());
    for (meta, measured) in &records {
        run.metrics.record(measured, &mut metrics);
        let metrics = &metrics;
        encoder.encode(
            &RecordView { exchange: &exchange, parsed: &parsed, meta, measured, metrics, raw: None },
            &mut bytes,
        );
    }
    let file = &mut open[0].writing.file;
    let error = (0..10_000).find_map(|_| file.write_all(&bytes).and_then(|()| file.flush()).err()).unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(temporaries(dir.path()), 0);
}

/// For responses of 100 tokens, streamed one by one, the file has at most a quarter of the JSONL's size.
#[test]
fn a_file_of_streamed_responses_has_a_quarter_of_the_size() {
    let dir = tempfile::tempdir().unwrap();
    let mut noise = Noise(1);
    let records: Vec<_> = (0..3_000).map(|number| streamed(number, 100, &mut noise)).collect();
    write_run(dir.path(), &record_run(), &records);
    let [jsonl, parquet] = ["profile_export.jsonl", "records/profile_export.parquet"]
        .map(|name| fs::metadata(dir.path().join(name)).unwrap().len());
    let ratio = parquet as f64 / jsonl as f64;
    println!("JSONL {jsonl} bytes, Parquet {parquet} bytes: {ratio:.3}");
    assert!(ratio <= 0.25, "{ratio}");
}
