//! Raw requests and responses, and generated texts.

use crate::bench::{Bench, Run, answering, quick, response, serve};
use serde_json::Value;
use std::collections::BTreeMap;

const EVERYTHING: &[&str] = &["--export-level", "raw", "--export-outputs-json"];

fn raw_lines(run: &Run) -> Vec<Value> {
    run.text("profile_export_raw.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn outputs(run: &Run) -> Vec<Value> {
    let text = run.text("outputs.json");
    assert!(
        text.starts_with("{\n  \"schema_version\": \"1.0\",\n  \"data\": [\n    {\n      \"session_num\": 0,"),
        "{text}"
    );
    let document: Value = serde_json::from_str(&text).unwrap();
    document["data"].as_array().unwrap().clone()
}

/// Lines or entries by the id of their request.
fn by_request<'a>(all: &'a [Value], id: fn(&'a Value) -> &'a Value) -> BTreeMap<&'a str, &'a Value> {
    all.iter().map(|one| (id(one).as_str().unwrap(), one)).collect()
}

fn id_of(line: &Value) -> &Value {
    &line["metadata"]["x_request_id"]
}

/// The data of every message of a line.
fn data_of(line: &Value) -> Vec<&str> {
    let responses = line["responses"].as_array().unwrap();
    let packets = responses.iter().flat_map(|response| response["packets"].as_array().unwrap());
    packets.filter(|packet| packet["name"] == "data").map(|packet| packet["value"].as_str().unwrap()).collect()
}

/// The text of a chat stream.
fn text_of(line: &Value) -> String {
    let content = |data: &&str| {
        let chunk: Value = serde_json::from_str(data).unwrap_or_default();
        chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned()
    };
    data_of(line).iter().map(content).collect()
}

#[test]
fn a_stream_is_kept_message_by_message_beside_its_record() {
    let sim = serve(quick());
    let run = Bench::of(&sim.url())
        .with(&["--streaming", "--concurrency", "3", "--request-count", "12", "--warmup-request-count", "4"])
        .with(EVERYTHING)
        .run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let (lines, records, outputs) = (raw_lines(&run), run.records(), outputs(&run));
    assert_eq!((lines.len(), records.len(), outputs.len()), (16, 16, 12));
    let records = by_request(&records, id_of);
    let generated = by_request(&outputs, |entry| &entry["x_request_id"]);
    let inputs: Value = serde_json::from_str(&run.text("inputs.json")).unwrap();
    let sessions = inputs["data"].as_array().unwrap();
    for line in &lines {
        let record = records[id_of(line).as_str().unwrap()];
        assert_eq!(line["metadata"], record["metadata"]);
        assert_eq!((&line["status"], line.get("error")), (&200.into(), None));
        let data = data_of(line);
        assert_eq!(data.last(), Some(&"[DONE]"));
        let mut instants = line["responses"].as_array().unwrap().iter().map(|one| one["perf_ns"].as_u64().unwrap());
        assert!(instants.clone().is_sorted() && instants.next() > line["start_perf_ns"].as_u64());
        let session = sessions.iter().find(|one| one["session_id"] == line["metadata"]["conversation_id"]).unwrap();
        assert_eq!(line["payload"], session["payloads"][0]);
        assert_eq!(line["request_headers"]["X-Request-ID"], *id_of(line));
        let entry = generated.get(id_of(line).as_str().unwrap());
        assert_eq!(entry.is_some(), line["metadata"]["benchmark_phase"] == "profiling");
        if let Some(entry) = entry {
            assert_eq!(entry["response_text"].as_str(), Some(text_of(line).as_str()));
            let metrics = entry["metrics"].as_object().unwrap();
            assert_eq!(metrics.len(), 6);
            for (tag, value) in metrics {
                assert_eq!(*value, record["metrics"][tag]["value"], "{tag}");
            }
        }
    }
    let order: Vec<u64> = outputs.iter().map(|entry| entry["session_num"].as_u64().unwrap()).collect();
    assert_eq!(order, (0..12).collect::<Vec<_>>());
    let stdout = run.stdout();
    assert!(stdout.contains("Raw Records: ") && stdout.contains("Outputs JSON: "), "{stdout}");
    assert!(
        std::fs::read_dir(run.path(""))
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().ends_with(".tmp") })
    );
}

#[test]
fn a_whole_body_is_kept_as_text() {
    let sim = serve(quick());
    let run = Bench::of(&sim.url()).with(&["--request-count", "4"]).with(EVERYTHING).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let outputs = outputs(&run);
    let generated = by_request(&outputs, |entry| &entry["x_request_id"]);
    for line in raw_lines(&run) {
        let [response] = line["responses"].as_array().unwrap().as_slice() else { panic!("{line}") };
        assert_eq!(response["content_type"], "application/json");
        let body: Value = serde_json::from_str(response["text"].as_str().unwrap()).unwrap();
        let entry = generated[id_of(&line).as_str().unwrap()];
        assert_eq!(body["choices"][0]["message"]["content"], entry["response_text"]);
    }
}

#[test]
fn sessions_that_are_parsed_during_the_run_have_all_their_turns() {
    let sim = serve(quick());
    let run = Bench::of(&sim.url())
        .with(&["--streaming", "--conversation-num", "4", "--conversation-turn-mean", "3", "--concurrency", "2"])
        .with(EVERYTHING)
        .run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let (lines, outputs) = (raw_lines(&run), outputs(&run));
    assert_eq!((lines.len(), outputs.len()), (12, 12));
    let key = |entry: &Value| (entry["session_num"].as_u64().unwrap(), entry["turn_index"].as_u64().unwrap());
    assert!(outputs.iter().map(key).is_sorted());
    for line in &lines {
        assert_eq!(data_of(line).last(), Some(&"[DONE]"));
        let turn = line["metadata"]["turn_index"].as_u64().unwrap() as usize;
        assert_eq!(line["payload"]["messages"].as_array().unwrap().len(), 2 * turn + 1, "{line}");
    }
}

#[test]
fn failed_requests_keep_the_received_part() {
    let chunk = r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"}}]}"#;
    let respond = move |number: usize, _: &str, _: &str| match number % 4 {
        0 => response("500 Internal Server Error", "application/json", "{\"error\":\"busy\"}"),
        1 => response("200 OK", "text/event-stream", &format!(": hello\n\ndata: {chunk}\n\ndata: [DONE]\n\n")),
        // Cut off within its second message.
        2 => {
            let whole = response("200 OK", "text/event-stream", &format!("data: {chunk}\n\ndata: {chunk}\n\n"));
            whole[..whole.len() - 20].to_owned()
        }
        _ => String::new(),
    };
    let run = Bench::of(&format!("http://{}", answering(respond)))
        .with(&["--streaming", "--request-count", "4", "--concurrency", "1"])
        .with(EVERYTHING)
        .run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let mut lines = raw_lines(&run);
    lines.sort_by_key(|line| line["metadata"]["session_num"].as_u64());
    let summaries: Vec<(Option<u64>, usize, bool, bool)> = lines
        .iter()
        .map(|line| {
            let responses = line["responses"].as_array().unwrap().len();
            (line["status"].as_u64(), responses, line["error"].is_object(), line["payload"].is_object())
        })
        .collect();
    assert_eq!(
        summaries,
        [(Some(500), 0, true, true), (Some(200), 3, false, true), (Some(200), 1, true, true), (None, 0, true, true)]
    );
    assert_eq!(lines[1]["responses"][0]["packets"][0]["name"], "comment");
    let texts: Vec<Value> = outputs(&run).iter().map(|entry| entry["response_text"].clone()).collect();
    assert_eq!(texts, [Value::Null, "Hi".into(), "Hi".into(), Value::Null]);
}
