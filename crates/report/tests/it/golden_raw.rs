//! Raw lines and `outputs.json` compared with those of real runs.
//!
//! A golden line is turned back into its exchange and written again. A golden document is made again from the records
//! beside it, handed over in reverse order.

use crate::support;

use aiperf_golden::kinds::runs::{OUTPUTS, RAW_RECORDS, RECORDS};
use aiperf_golden::{GoldenFile, Tally, has};
use aiperf_metrics::{Metrics, RecordEncoder, RecordMetrics, RecordView};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{ArtifactPlan, FileNames};
use aiperf_report::{Artifacts, IncompleteFile, OpenRecordFile, RawLine, RecordRun};
use aiperf_types::{Exchange, Measured, MonoNs, Parsed, PhaseKind, RawBody, RawEvents, RawExchange, RawResponse};
use serde_json::Value;
use std::sync::Arc;
use support::recorded::*;
use support::*;

fn instant_of(response: &Value) -> MonoNs {
    MonoNs(response["perf_ns"].as_u64().unwrap())
}

fn response_of(line: &Value) -> RawResponse {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let responses = line["responses"].as_array().unwrap();
    let Some(first) = responses.first() else { return RawResponse::None };
    if has(first, "packets") {
        let mut events = RawEvents::default();
        for response in responses {
            events.begin(instant_of(response));
            for packet in response["packets"].as_array().unwrap() {
                events.push(packet["name"].as_str().unwrap(), packet["value"].as_str());
            }
        }
        return RawResponse::Events(events);
    }
    let body = RawBody::Text(text(&first["text"]));
    RawResponse::Body { at: instant_of(first), content_type: text(&first["content_type"]), body }
}

/// The body of the request, byte by byte.
fn payload_of(line: &str) -> String {
    let payload = line.rsplit_once(",\"payload\":").map(|(_, rest)| rest.strip_suffix('}').unwrap());
    payload.unwrap_or_default().to_owned()
}

fn check_raw(theirs: &str) {
    let line: Value = serde_json::from_str(theirs).unwrap();
    let text = |(name, value): (&String, &Value)| (name.clone(), value.as_str().unwrap().to_owned());
    let headers = line["request_headers"].as_object().map(|fields| fields.iter().map(text).collect());
    let raw = RawExchange { request_headers: headers, response: response_of(&line) };
    let exchange = Exchange {
        status: line["status"].as_u64().map(|status| status as u16),
        request_body: payload_of(theirs).into(),
        ..Exchange::default()
    };
    let measured = Measured {
        start: MonoNs(line["start_perf_ns"].as_u64().unwrap()),
        error: serde_json::from_value(line["error"].clone()).ok(),
        ..Measured::default()
    };
    let view = RecordView {
        exchange: &exchange,
        parsed: &Parsed::default(),
        meta: &meta_of(&line),
        measured: &measured,
        metrics: &RecordMetrics::default(),
        raw: Some(&raw),
    };
    let mut out = Vec::new();
    RawLine::new("465e2a4541a2", Arc::new(Redactor::default())).encode(&view, &mut out);
    let ours = String::from_utf8(out).unwrap();
    same_text(&without_thread_names(&ours), &format!("{}\n", without_thread_names(theirs)));
}

#[test]
fn golden_raw_lines_are_written_as_they_were_read() {
    let mut tally = Tally::of(RAW_RECORDS);
    for file in RAW_RECORDS.whole_files() {
        for (at, line) in file.text.lines().enumerate() {
            let is_binary = line.contains("\"raw_bytes\":");
            match is_binary {
                true => tally.skip("bytes are written by tests of their own"),
                false => tally.run(format!("{} line {}", file.name(), at + 1), || check_raw(line)),
            }
        }
    }
    tally.finish();
}

/// The document that is made of records.
fn outputs_of(records: &GoldenFile, texts: &Value) -> String {
    let dir = tempfile::tempdir().unwrap();
    let plan = ArtifactPlan { outputs: true, ..ArtifactPlan::new(dir.path(), FileNames::new(None)).without_records() };
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let metrics = Arc::new(Metrics::for_run(traits_of(records)));
    let run = RecordRun { metrics: metrics.clone(), ..record_run() };
    let [OpenRecordFile { name, path, writing }] = artifacts.open_record_files(&run).unwrap().try_into().ok().unwrap();
    let (mut encoder, mut file) = ((writing.encoder)(), writing.file);
    for line in records.text.lines().rev() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (meta, measured) = (meta_of(&line), measured_of(&line));
        let mut record = RecordMetrics::default();
        metrics.record(&measured, &mut record);
        let same = |entry: &&Value| entry["x_request_id"] == line["metadata"]["x_request_id"];
        let entry = texts["data"].as_array().unwrap().iter().find(same);
        assert_eq!(entry.is_some(), meta.phase.kind == PhaseKind::Profiling);
        let output_text = entry.and_then(|entry| entry["response_text"].as_str()).map(str::to_owned);
        let view = RecordView {
            exchange: &Exchange::default(),
            parsed: &Parsed { output_text, ..Parsed::default() },
            meta: &meta,
            measured: &measured,
            metrics: &record,
            raw: None,
        };
        let mut out = Vec::new();
        encoder.encode(&view, &mut out);
        file.write_all(&out).unwrap();
    }
    let incomplete = writing.complete.map(|complete| IncompleteFile { name, path: path.clone(), complete });
    let first = artifacts.write_first(&empty_run(), Vec::new(), incomplete.into_iter().collect());
    assert!(first.failures.is_empty());
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn golden_outputs_are_made_of_the_records_beside_them() {
    let mut tally = Tally::of(OUTPUTS);
    for outputs in OUTPUTS.whole_files() {
        let Some(records) = RECORDS.beside(&outputs) else {
            tally.skip("no records beside the outputs");
            continue;
        };
        tally.run(outputs.name(), || same_text(&outputs_of(&records, &outputs.json), &outputs.text));
    }
    tally.finish();
}
