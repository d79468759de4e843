//! Record lines, for any response.

use aiperf_metrics::{Metrics, RecordMetrics, RunTraits, Value};
use aiperf_report::RecordLine;
use aiperf_types::{
    ContentMark, CorrelationId, EndpointKind, Measured, MonoNs, Nanos, PhaseId, PhaseKind, RecordMeta, RequestError,
    SpecDecode, TokenCounts, Uncertainty, WallNs,
};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

fn meta(conversation: &str) -> RecordMeta {
    RecordMeta {
        session_num: 3,
        request_id: 1,
        correlation_id: CorrelationId::Uuid(u128::MAX),
        conversation_id: conversation.into(),
        turn_index: 0,
        credit_issued: None,
        request_start: WallNs(10),
        request_ack: None,
        request_end: WallNs(20),
        worker: 0,
        record_thread: 0,
        phase: Arc::new(PhaseId {
            index: 0,
            profiling_index: None,
            name: "warm \"up\"".into(),
            kind: PhaseKind::Warmup,
        }),
        was_cancelled: false,
        cancelled_at: None,
    }
}

fn record(measured: &Measured) -> RecordMetrics {
    let mut record = RecordMetrics::default();
    Metrics::for_run(RunTraits::new(EndpointKind::Chat, true)).record(measured, &mut record);
    record
}

fn line(meta: &RecordMeta, measured: &Measured, record: &RecordMetrics) -> Option<String> {
    let mut out = b"before ".to_vec();
    let written = RecordLine::new("465e2a4541a2").write(&mut out, meta, measured, record);
    let text = String::from_utf8(out).unwrap();
    let line = text.strip_prefix("before ").unwrap();
    assert_eq!(line.is_empty(), !written);
    written.then(|| line.to_owned())
}

fn cancelled() -> Measured {
    Measured {
        error: Some(RequestError::coded(499, "RequestCancellationError", "Request cancelled by external signal")),
        ..Measured::default()
    }
}

#[test]
fn the_servers_data_on_speculative_decoding_is_written() {
    let reported = SpecDecode {
        mean_acceptance_length: Some(2.0),
        draft_acceptance_rate: Some(0.5),
        acceptance_histogram: [(0, 1), (2, 1)].into(),
        num_accepted_draft_tokens: Some(2),
        num_draft_tokens: Some(4),
        num_spec_steps: Some(2),
        num_spec_tokens: Some(2),
        completion_tokens: Some(7),
        per_step_accepted: Some(vec![0, 2]),
        per_step_drafted: None,
    };
    let measured = Measured { spec_decode: Some(Box::new(reported)), ..cancelled() };
    let line = line(&meta("a"), &measured, &RecordMetrics::default()).unwrap();
    let line: Json = serde_json::from_str(&line).unwrap();
    let expected = r#"{"engine":"vllm","mean_acceptance_length":2.0,"draft_acceptance_rate":0.5,"acceptance_histogram":{"0":1,"2":1},"num_accepted_draft_tokens":2,"num_draft_tokens":4,"num_spec_steps":2,"num_spec_tokens":2,"completion_tokens":7,"per_step_accepted":[0,2]}"#;
    assert_eq!(line["spec_decode_acceptance"].to_string(), expected);
    let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["metadata", "metrics", "spec_decode_acceptance", "error"]);
}

#[test]
fn a_cancelled_request_has_its_time_and_its_error() {
    let meta = RecordMeta { was_cancelled: true, cancelled_at: Some(WallNs(20)), ..meta("session_000003") };
    let line = line(&meta, &cancelled(), &RecordMetrics::default()).unwrap();
    insta::assert_snapshot!(line.trim_end());
}

/// A stream of two chunks.
fn streamed() -> Measured {
    let mark = |at| ContentMark { at: MonoNs(at), output: true, reasoning: false };
    let content = vec![mark(20_000_000), mark(30_000_000)];
    Measured { start: MonoNs(10_000_000), end: MonoNs(30_000_000), content, ..Measured::default() }
}

fn measurement(measured: &Measured) -> Option<String> {
    let line: Json = serde_json::from_str(&line(&meta("a"), measured, &record(measured)).unwrap()).unwrap();
    line.get("measurement").map(Json::to_string)
}

#[test]
fn an_exact_record_reports_nothing_of_its_measurement() {
    let uncertain = Uncertainty { width: Nanos(0), is_late: true, is_unstamped: true };
    for receive_lag in [None, Some(Nanos(0)), Some(Nanos(1_000_000))] {
        let measured = Measured { receive_lag, first_uncertainty: uncertain, ..streamed() };
        assert_eq!(measurement(&measured), None);
    }
}

#[test]
fn a_record_that_was_read_late_or_is_uncertain_reports_by_how_much_and_why() {
    let of = |receive_lag, first_uncertainty, last_uncertainty| {
        measurement(&Measured { receive_lag, first_uncertainty, last_uncertainty, ..streamed() }).unwrap()
    };
    let (exact, width) = (Uncertainty::default(), Nanos(2_500_000));
    let lagging = r#"{"receive_lag_ms":1.5,"first_width_ms":0.0,"last_width_ms":0.0,"late":false,"unstamped":false}"#;
    assert_eq!(of(Some(Nanos(1_500_000)), exact, exact), lagging);
    let late = Uncertainty { width, is_late: true, ..exact };
    let first = r#"{"receive_lag_ms":0.25,"first_width_ms":2.5,"last_width_ms":0.0,"late":true,"unstamped":false}"#;
    assert_eq!(of(Some(Nanos(250_000)), late, exact), first);
    let unstamped = Uncertainty { width, is_unstamped: true, ..exact };
    let last = r#"{"receive_lag_ms":null,"first_width_ms":0.0,"last_width_ms":2.5,"late":false,"unstamped":true}"#;
    assert_eq!(of(None, exact, unstamped), last);
    let both = r#"{"receive_lag_ms":null,"first_width_ms":2.5,"last_width_ms":2.5,"late":true,"unstamped":true}"#;
    assert_eq!(of(None, late, unstamped), both);
}

#[test]
fn a_failed_record_has_no_instant_that_could_be_uncertain() {
    let uncertain = Uncertainty { width: Nanos(5), ..Uncertainty::default() };
    let failed = Measured { first_uncertainty: uncertain, last_uncertainty: uncertain, ..cancelled() };
    assert_eq!(measurement(&failed), None);
    let lagging = Measured { receive_lag: Some(Nanos(2_000_000)), ..failed };
    let expected = r#"{"receive_lag_ms":2.0,"first_width_ms":0.0,"last_width_ms":0.0,"late":false,"unstamped":false}"#;
    assert_eq!(measurement(&lagging).as_deref(), Some(expected));
}

#[test]
fn an_empty_record_has_no_line() {
    assert_eq!(line(&meta("a"), &Measured::default(), &RecordMetrics::default()), None);
}

#[test]
fn ids_are_version_4_uuids() {
    let line = line(&meta("a"), &cancelled(), &RecordMetrics::default()).unwrap();
    assert!(line.contains(r#""x_request_id":"00000000-0000-4000-8000-000000000001""#), "{line}");
    assert!(line.contains(r#""x_correlation_id":"ffffffff-ffff-4fff-bfff-ffffffffffff""#), "{line}");
}

#[test]
fn threads_of_a_run_have_names_of_their_own_that_stay() {
    let names = |benchmark_id: &str| -> Vec<(String, String)> {
        let mut writer = RecordLine::new(benchmark_id);
        let read = |number: u16| {
            let mut out = Vec::new();
            let meta = RecordMeta { worker: number, record_thread: number, ..meta("a") };
            writer.write(&mut out, &meta, &cancelled(), &RecordMetrics::default());
            let line: Json = serde_json::from_slice(&out).unwrap();
            let name = |key: &str| line["metadata"][key].as_str().unwrap().to_owned();
            (name("worker_id"), name("record_processor_id"))
        };
        (0..300).map(read).collect()
    };
    let first = names("465e2a4541a2");
    let mut distinct: Vec<_> = first.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 300);
    assert_eq!(first, names("465e2a4541a2"));
    assert_ne!(first, names("465e2a4541a3"));
}

fn any_error() -> impl Strategy<Value = RequestError> {
    let texts = prop::collection::vec(any::<String>(), 0..3);
    (any::<Option<i64>>(), any::<Option<String>>(), any::<String>(), any::<Option<String>>(), prop::option::of(texts))
        .prop_map(|(code, kind, message, cause, cause_chain)| RequestError { code, kind, message, cause, cause_chain })
}

proptest! {
    #[test]
    fn a_line_reads_back_as_what_was_written(
        conversation: String,
        numbers: [u64; 4],
        ids: [u128; 2],
        gaps in prop::collection::vec(0..10_000_000_000u64, 0..40),
        input in 0..100_000u64,
        output in 0..100_000u64,
        error in prop::option::of(any_error()),
    ) {
        let [start, end, ack, session] = numbers;
        let meta = RecordMeta {
            session_num: session,
            request_id: ids[0],
            correlation_id: CorrelationId::Uuid(ids[1]),
            request_start: WallNs(start),
            request_ack: Some(WallNs(ack)),
            request_end: WallNs(end),
            ..meta(&conversation)
        };
        let mut at = 1_000;
        let content = gaps.iter().map(|gap| {
            at += gap;
            ContentMark { at: MonoNs(at), output: true, reasoning: false }
        });
        let measured = Measured {
            start: MonoNs(1_000),
            content: content.collect(),
            tokens: TokenCounts { input: Some(input), output: Some(output), ..TokenCounts::default() },
            error: error.clone(),
            ..Measured::default()
        };
        let record = record(&measured);
        let written = line(&meta, &measured, &record);
        prop_assert_eq!(written.is_some(), error.is_some() || record.iter().count() > 0);
        let Some(text) = written else { return Ok(()) };
        prop_assert_eq!(text.matches('\n').count(), 1);
        let read: Json = serde_json::from_str(&text).unwrap();
        let metrics: Map<String, Json> = record
            .iter()
            .map(|(metric, value)| {
                let value = match value {
                    Value::Int(value) => json!(value),
                    Value::Float(value) => json!(value),
                    Value::List(values) => json!(values),
                };
                (metric.tag.to_owned(), json!({ "value": value, "unit": metric.display.name() }))
            })
            .collect();
        prop_assert_eq!(&read["metrics"], &Json::Object(metrics));
        prop_assert_eq!(&read["error"], &json!(error));
        prop_assert_eq!(&read["metadata"]["conversation_id"], &json!(conversation));
        prop_assert_eq!(&read["metadata"]["session_num"], &json!(session));
        prop_assert_eq!(&read["metadata"]["request_end_ns"], &json!(end));
        prop_assert_eq!(&read["metadata"]["phase_name"], &json!("warm \"up\""));
    }
}
