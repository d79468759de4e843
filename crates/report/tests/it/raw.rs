//! Raw lines and `outputs.json`, for any request and response.

use crate::support;

use aiperf_metrics::{RecordEncoder, RecordMetrics, RecordView};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{ArtifactPlan, FileNames};
use aiperf_report::{Artifacts, IncompleteFile, OpenRecordFile, RawLine, RecordRun};
use aiperf_types::{
    Body, CorrelationId, Exchange, Failure, Measured, MonoNs, Parsed, PhaseId, PhaseKind, RawBody, RawEvents,
    RawExchange, RawResponse, RecordMeta, RequestError, WallNs,
};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use support::*;

const SECRET: &str = "sk-live-1234567";

fn redactor() -> Arc<Redactor> {
    Arc::new(Redactor::new([SECRET.to_owned(), "EMPTY".to_owned()]))
}

fn meta(session_num: u64, turn_index: u32, kind: PhaseKind) -> RecordMeta {
    RecordMeta {
        session_num,
        request_id: 1,
        correlation_id: CorrelationId::Uuid(2),
        conversation_id: "a".into(),
        turn_index,
        credit_issued: None,
        request_start: WallNs(10),
        request_ack: None,
        request_end: WallNs(20),
        worker: 0,
        record_thread: 0,
        phase: Arc::new(PhaseId { index: 0, profiling_index: None, name: "p".into(), kind }),
        was_cancelled: false,
        cancelled_at: None,
    }
}

/// The text of a raw line.
fn line(exchange: &Exchange, raw: &RawExchange, error: Option<RequestError>) -> String {
    let measured = Measured { start: MonoNs(7), error, ..Measured::default() };
    let view = RecordView {
        exchange,
        parsed: &Parsed::default(),
        meta: &meta(0, 0, PhaseKind::Warmup),
        measured: &measured,
        metrics: &RecordMetrics::default(),
        raw: Some(raw),
    };
    let mut out = Vec::new();
    RawLine::new("465e2a4541a2", redactor()).encode(&view, &mut out);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.find('\n'), Some(text.len() - 1), "{text}");
    text
}

/// The member for the body of a request.
fn payload(body: impl Into<Body>) -> String {
    let exchange = Exchange { request_body: body.into(), ..Exchange::default() };
    let text = line(&exchange, &RawExchange::default(), None);
    let _: Value = serde_json::from_str(&text).unwrap();
    text.split_once(",\"payload\":").unwrap().1.strip_suffix("}\n").unwrap().to_owned()
}

#[test]
fn a_line_has_its_members_in_order_and_leaves_out_what_there_was_not() {
    let keys = |text: String| -> Vec<String> {
        let line: Value = serde_json::from_str(&text).unwrap();
        line.as_object().unwrap().keys().cloned().collect()
    };
    let exchange = Exchange { status: Some(200), request_body: "{}".into(), ..Exchange::default() };
    let raw = RawExchange { request_headers: Some(Vec::new()), response: RawResponse::None };
    let error = Some(RequestError::coded(499, "RequestCancellationError", "cut"));
    let all = ["metadata", "start_perf_ns", "request_headers", "status", "responses", "error", "payload"];
    assert_eq!(keys(line(&exchange, &raw, error)), all);
    let never_sent = Exchange { failure: Some(Failure::NeverBegun), ..Exchange::default() };
    let text = line(&never_sent, &RawExchange::default(), None);
    assert!(text.contains("\"start_perf_ns\":7,\"responses\":[]}"), "{text}");
    assert_eq!(keys(text), ["metadata", "start_perf_ns", "responses"]);
}

#[test]
fn a_body_of_json_is_spliced_in_byte_by_byte() {
    for body in ["{\"a\" : 1.50,\"b\":\"\\u00e9 é\",\"a\":null}", "[]", "\"text\"", "{\"role\":\"EMPTY\"}"] {
        assert_eq!(payload(body), body);
    }
    assert_eq!(payload(Body::new(vec!["{\"a\":".into(), "1}".into()])), "{\"a\":1}");
    assert_eq!(payload("{\r\n\t\"a\": \"b\\n\"\n}"), "{  \t\"a\": \"b\\n\" }", "one line stays one line");
}

#[test]
fn a_body_that_is_no_json_is_a_string_and_one_that_is_no_text_is_base64() {
    let form = "--x\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nhi\r\n--x--\r\n";
    assert_eq!(serde_json::from_str::<Value>(&payload(form)).unwrap(), form);
    // A form as JSON is not what was sent.
    let both = Body::with_payload(vec![form.into()], "{\"prompt\":\"hi\"}".into());
    assert_eq!(serde_json::from_str::<Value>(&payload(both)).unwrap(), form);
    assert_eq!(payload(&b"\xff\xfe"[..]), "{\"raw_bytes\":\"//4=\"}");
}

#[test]
fn secrets_are_hidden_in_bodies_of_every_form() {
    for body in [
        format!("{{\"api_key\":\"{SECRET}\",\"n\":1}}").into_bytes(),
        format!("{{\"prompt\":\"say {SECRET} twice: {SECRET}\"}}").into_bytes(),
        format!("--x\r\n\r\n{SECRET}\r\n--x--").into_bytes(),
        [b"\xff", SECRET.as_bytes()].concat(),
        [b"\xff..", SECRET.as_bytes(), b"\xff"].concat(),
    ] {
        let shown = payload(body.clone());
        assert!(shown.contains("<redacted>") && !shown.contains(SECRET), "{shown}");
        assert!(!shown.contains("c2stbGl2ZS0xMjM0NTY3"), "{shown}");
    }
    let named = payload("{\"api_key\":\"short\",\"prompt\":\"EMPTY\"}");
    assert_eq!(named, "{\"api_key\":\"<redacted>\",\"prompt\":\"EMPTY\"}");
}

#[test]
fn a_secret_that_is_a_part_of_json_leaves_a_string() {
    let redactor = Arc::new(Redactor::new(["\":\"value-1234".to_owned()]));
    let exchange = Exchange { request_body: "{\"a\":\"value-1234\"}".into(), ..Exchange::default() };
    let view = RecordView {
        exchange: &exchange,
        parsed: &Parsed::default(),
        meta: &meta(0, 0, PhaseKind::Profiling),
        measured: &Measured::default(),
        metrics: &RecordMetrics::default(),
        raw: Some(&RawExchange::default()),
    };
    let mut out = Vec::new();
    RawLine::new("1", redactor).encode(&view, &mut out);
    let line: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(line["payload"], "{\"a<redacted>\"}");
}

#[test]
fn responses_are_messages_or_one_body() {
    let responses = |response: RawResponse| {
        let raw = RawExchange { response, ..RawExchange::default() };
        let line: Value = serde_json::from_str(&line(&Exchange::default(), &raw, None)).unwrap();
        line["responses"].to_string()
    };
    let mut events = RawEvents::default();
    events.begin(MonoNs(3));
    events.push("event", Some("x"));
    events.push("data", None);
    events.begin(MonoNs(4));
    events.push("data", Some("{\"a\": 1}"));
    assert_eq!(
        responses(RawResponse::Events(events)),
        r#"[{"perf_ns":3,"packets":[{"name":"event","value":"x"},{"name":"data","value":null}]},{"perf_ns":4,"packets":[{"name":"data","value":"{\"a\": 1}"}]}]"#
    );
    let body = |body, content_type: &str| RawResponse::Body { at: MonoNs(9), content_type: content_type.into(), body };
    assert_eq!(
        responses(body(RawBody::Text("é\n".into()), "text/plain")),
        r#"[{"perf_ns":9,"text":"é\n","content_type":"text/plain"}]"#
    );
    assert_eq!(
        responses(body(RawBody::Bytes(vec![0, 1, 2, 255]), "image/png")),
        r#"[{"perf_ns":9,"raw_bytes":"AAEC/w==","content_type":"image/png"}]"#
    );
}

#[test]
fn a_stream_that_is_cut_is_marked_as_such() {
    for is_cut in [true, false] {
        let mut events = RawEvents::default();
        events.is_cut = is_cut;
        let raw = RawExchange { response: RawResponse::Events(events), ..RawExchange::default() };
        let line: Value = serde_json::from_str(&line(&Exchange::default(), &raw, None)).unwrap();
        assert_eq!(line.get("responses_cut"), is_cut.then_some(&Value::Bool(true)));
    }
}

/// A record for `outputs.json`.
struct Output {
    meta: RecordMeta,
    thought: &'static str,
    output: &'static str,
    failure: Option<Failure>,
}

fn output(session_num: u64, turn: u32, output: &'static str) -> Output {
    Output { meta: meta(session_num, turn, PhaseKind::Profiling), thought: "", output, failure: None }
}

/// Writes records, and returns the content of the file, if there is one.
fn outputs(dir: &Path, records: &[Output]) -> Option<Value> {
    let plan = ArtifactPlan { outputs: true, ..ArtifactPlan::new(dir, FileNames::new(None)).without_records() };
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let run = RecordRun { redactor: redactor(), ..record_run() };
    let [OpenRecordFile { name, path, writing }] = artifacts.open_record_files(&run).unwrap().try_into().ok().unwrap();
    let (mut encoder, mut file) = ((writing.encoder)(), writing.file);
    for Output { meta, thought, output, failure } in records {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let parsed = Parsed { output_text: text(output), reasoning_text: text(thought), ..Parsed::default() };
        let view = RecordView {
            exchange: &Exchange { failure: failure.clone(), ..Exchange::default() },
            parsed: &parsed,
            meta,
            measured: &Measured::default(),
            metrics: &RecordMetrics::default(),
            raw: None,
        };
        let mut out = Vec::new();
        encoder.encode(&view, &mut out);
        file.write_all(&out).unwrap();
    }
    file.flush().unwrap();
    let complete = writing.complete.unwrap();
    let incomplete = vec![IncompleteFile { name, path: path.clone(), complete }];
    let first = artifacts.write_first(&empty_run(), Vec::new(), incomplete);
    let written = artifacts.write_rest(&empty_run(), first);
    assert!(written.failures.is_empty());
    assert_eq!(written.files.iter().any(|file| file.label == "Outputs JSON"), path.exists());
    std::fs::read(path).ok().map(|bytes| serde_json::from_slice(&bytes).unwrap())
}

#[test]
fn outputs_are_in_the_order_of_requests_with_reasoning_and_output() {
    let dir = tempfile::tempdir().unwrap();
    let mut records = vec![output(1, 1, "c"), output(12, 0, "d"), output(1, 0, "b"), output(0, 0, "")];
    records[2].thought = "hm ";
    records[3].failure = Some(Failure::Disconnected);
    let document = outputs(dir.path(), &records).unwrap();
    let texts: Vec<&Value> = document["data"].as_array().unwrap().iter().map(|entry| &entry["response_text"]).collect();
    assert_eq!(texts, [&Value::Null, &json!("hm b"), &json!("c"), &json!("d")]);
    assert_eq!(document["data"][0]["metrics"], json!({}));
}

#[test]
fn a_run_that_captured_nothing_has_no_outputs() {
    let dir = tempfile::tempdir().unwrap();
    let warmup = Output { meta: meta(0, 0, PhaseKind::Warmup), ..output(0, 0, "a") };
    let cut_off = Output { failure: Some(Failure::CutOff), ..output(1, 0, "a") };
    assert_eq!(outputs(dir.path(), &[warmup, cut_off]), None);
    assert_eq!(outputs(dir.path(), &[]), None);
}

#[test]
fn a_secret_that_the_server_echoed_is_not_in_the_outputs() {
    let dir = tempfile::tempdir().unwrap();
    let document = outputs(dir.path(), &[output(0, 0, "your key is sk-live-1234567")]).unwrap();
    assert_eq!(document["data"][0]["response_text"], "your key is <redacted>");
}
