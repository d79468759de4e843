//! Requests as servers receive them: forms, templates, headers, raw bodies.

use crate::bench::{Bench, answering, response};
use crate::dialects::rows::{PIXEL, run};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// A response of a server of an endpoint type.
fn reply_of(kind: &str) -> &'static str {
    match kind {
        "messages" => r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"yes"}]}"#,
        _ => r#"{"object":"chat.completion","choices":[{"message":{"content":"yes"}}]}"#,
    }
}

/// Heads and bodies of the requests of a run with these lines as its file, in order.
fn seen(kind: &str, lines: &str, args: &[&str], env: &[(&str, &str)]) -> Vec<(String, String)> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (kept, reply) = (seen.clone(), reply_of(kind));
    let address = answering(move |_, head, body| {
        kept.lock().unwrap().push((head.to_owned(), body.to_owned()));
        response("200 OK", "application/json", reply)
    });
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("lines.jsonl");
    std::fs::write(&file, lines.replace("PIXEL", PIXEL)).unwrap();
    let count = if args.contains(&"--request-count") {
        vec![]
    } else {
        vec!["--request-count".to_owned(), lines.lines().count().to_string()]
    };
    let count: Vec<&str> = count.iter().map(String::as_str).collect();
    let bench = Bench::bare()
        .with(&["--model", "m", "--url", &address, "--tokenizer", "builtin", "--endpoint-type", kind])
        .with(&["--ui", "none", "--no-server-metrics", "--no-gpu-telemetry"])
        .with(&count)
        .with(&["--input-file", file.to_str().unwrap()])
        .with(args);
    let run = run(env.iter().fold(bench, |bench, (name, value)| bench.env(name, value)));
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[test]
fn a_payload_is_sent_unchanged_by_any_type() {
    let line = r#"{"b":[1, 2.50],"messages":[],"a":{"é":null}}"#;
    let sent = seen("chat", line, &["--custom-dataset-type", "raw_payload", "--extra-inputs", "x:1"], &[]);
    assert_eq!(sent[0].1, r#"{"b":[1,2.5],"messages":[],"a":{"é":null}}"#);
}

#[test]
fn members_of_a_line_win_over_extra_inputs() {
    let line = r#"{"text": "a", "extra": {"temperature": 1, "stop": ["."]}}"#;
    let sent = seen("chat", line, &["--extra-inputs", "temperature:0", "--extra-inputs", "seed:7"], &[]);
    let body = r#"{"messages":[{"role":"user","content":"a"}],"model":"m","stream":false,"temperature":1,"seed":7,"stop":["."]}"#;
    assert_eq!(sent[0].1, body);
}

#[test]
fn content_may_always_be_parts() {
    let parts = [("AIPERF_ENDPOINT_FORCE_CONTENT_PARTS", "true")];
    let sent = seen("chat", r#"{"text": "a"}"#, &[], &parts);
    assert!(sent[0].1.contains(r#""content":[{"type":"text","text":"a"}]"#), "{}", sent[0].1);
}

#[test]
fn limits_have_the_configured_name() {
    let line = r#"{"text": "a", "output_length": 5}"#;
    assert!(seen("chat", line, &[], &[])[0].1.contains(r#""max_completion_tokens":5"#));
    assert!(seen("chat", line, &["--use-legacy-max-tokens"], &[])[0].1.contains(r#""max_tokens":5"#));
}

#[test]
fn a_session_is_named_in_the_configured_header() {
    let sent = seen("chat", r#"{"text": "a"}"#, &["--session-header", "X-My-Session"], &[]);
    assert!(sent[0].0.contains("X-My-Session: ") && !sent[0].0.contains("X-Correlation-ID"), "{}", sent[0].0);
    let variable = [("AIPERF_HTTP_X_SMG_ROUTING_KEY_FROM_CORRELATION_ID", "true")];
    assert!(seen("chat", r#"{"text": "a"}"#, &[], &variable)[0].0.contains("X-SMG-Routing-Key: "));
}

#[test]
fn messages_requests_use_their_own_key_header() {
    let sent = seen("messages", r#"{"text": "a"}"#, &["--api-key", "k"], &[]);
    let head = &sent[0].0;
    for field in ["x-api-key: k\r\n", "anthropic-version: 2023-06-01\r\n"] {
        assert!(head.contains(field), "{head}");
    }
    assert!(!head.to_ascii_lowercase().contains("authorization"), "{head}");
    let others = seen("chat", r#"{"text": "a"}"#, &["--api-key", "k"], &[]);
    assert!(others[0].0.contains("Authorization: Bearer k\r\n"), "{}", others[0].0);
}

#[test]
fn lines_are_sent_in_order_and_then_again_from_the_start() {
    let lines = "{\"text\": \"a\"}\n{\"text\": \"b\"}\n";
    let sent = seen("chat", lines, &["--request-count", "5"], &[]);
    let has_first: Vec<bool> = sent.iter().map(|(_, body)| body.contains(r#""content":"a""#)).collect();
    assert_eq!(has_first, [true, false, true, false, true]);
}
