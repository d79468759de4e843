//! Bad input is refused before anything is sent, with the flag or with file and line.

use crate::bench::quick;
use crate::dialects::rows::{PIXEL, Server, run};

/// Runs with these lines as its file: refused, with nothing sent. Returns the message.
fn refusal(kind: &str, lines: &str, args: &[&str]) -> String {
    let server = Server::start(quick());
    let file = server.write("lines.jsonl", &lines.replace("PIXEL", PIXEL));
    let run = run(server.bench_of(kind, "").with(&["--input-file", &file]).with(args));
    let message = run.stderr();
    assert_eq!(run.code(), Some(2), "{kind}: {message}");
    assert!(server.stop().is_empty(), "{kind}: something was sent");
    message
}

#[test]
fn a_line_that_the_type_cannot_carry_is_named_by_its_number() {
    let cases = [
        ("completions", "{\"text\": \"a\"}\n{\"text\": \"b\", \"image\": \"PIXEL\"}\n", ":2", "image"),
        ("cohere_rankings", "\n{\"text\": \"no query\"}\n", ":2", "query"),
        ("image_edit", "{\"text\": \"no image\"}\n", ":1", "image"),
        ("image_retrieval", "{\"text\": \"no image\"}\n", ":1", "image"),
        ("audio_transcription", "{\"text\": \"no audio\"}\n", ":1", "audio"),
        ("messages", "{\"text\": \"a\", \"audio\": \"wav,AAAA\"}\n", ":1", "audio"),
    ];
    for (kind, lines, place, what) in cases {
        let message = refusal(kind, lines, &[]);
        assert!(message.contains(&format!("lines.jsonl{place}")) && message.contains(what), "{kind}: {message}");
    }
}

#[test]
fn raw_bodies_need_payloads() {
    let message = refusal("raw", "{\"text\": \"a\"}\n", &[]);
    assert!(message.contains("raw_payload"), "{message}");
}

#[test]
fn templates_and_expressions_that_cannot_be_read_are_refused() {
    let lines = "{\"text\": \"a\"}\n";
    let message = refusal("template", lines, &["--extra-inputs", r#"{"payload_template": "{\"a\": {{ text|}}"}"#]);
    assert!(message.contains("template"), "{message}");
    let message = refusal("template", lines, &["--extra-inputs", r#"{"payload_template": "{{ text }}"}"#]);
    assert!(message.contains("JSON") && message.contains("lines.jsonl:1"), "{message}");
    let template = r#"{"payload_template": "{\"a\": {{ text|tojson }}}", "response_field": "a[["}"#;
    let message = refusal("template", lines, &["--extra-inputs", template]);
    assert!(message.contains("response_field") && message.contains("a[["), "{message}");
    let message = refusal("template", lines, &[]);
    assert!(message.contains("template"), "{message}");
}

#[test]
fn content_types_that_a_type_does_not_take_are_refused() {
    let lines = "{\"text\": \"a\", \"image\": \"PIXEL\"}\n";
    let message = refusal("image_edit", lines, &["--request-content-type", "application/json"]);
    assert!(message.contains("--request-content-type"), "{message}");
    let message = refusal("chat", lines, &["--request-content-type", "multipart/form-data"]);
    assert!(message.contains("--request-content-type"), "{message}");
}
