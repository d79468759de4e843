//! Bad input is refused before anything is sent, by flag or by file and line.

use crate::bench::quick;
use crate::dialects::rows::{PIXEL, Server, run};

/// Runs with a file of these lines: refused, with nothing sent. Gives what it said.
fn refusal(kind: &str, lines: &str, args: &[&str]) -> String {
    let server = Server::start(quick());
    let file = server.write("lines.jsonl", &lines.replace("PIXEL", PIXEL));
    let run = run(server.bench_of(kind, "").with(&["--input-file", &file]).with(args));
    let said = run.stderr();
    assert_eq!(run.code(), Some(2), "{kind}: {said}");
    assert!(server.stop().is_empty(), "{kind}: something was sent");
    said
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
        let said = refusal(kind, lines, &[]);
        assert!(said.contains(&format!("lines.jsonl{place}")) && said.contains(what), "{kind}: {said}");
    }
}

#[test]
fn raw_bodies_need_payloads() {
    let said = refusal("raw", "{\"text\": \"a\"}\n", &[]);
    assert!(said.contains("raw_payload"), "{said}");
}

#[test]
fn templates_and_expressions_that_cannot_be_read_are_refused() {
    let lines = "{\"text\": \"a\"}\n";
    let said = refusal("template", lines, &["--extra-inputs", r#"{"payload_template": "{\"a\": {{ text|}}"}"#]);
    assert!(said.contains("template"), "{said}");
    let said = refusal("template", lines, &["--extra-inputs", r#"{"payload_template": "{{ text }}"}"#]);
    assert!(said.contains("JSON") && said.contains("lines.jsonl:1"), "{said}");
    let template = r#"{"payload_template": "{\"a\": {{ text|tojson }}}", "response_field": "a[["}"#;
    let said = refusal("template", lines, &["--extra-inputs", template]);
    assert!(said.contains("response_field") && said.contains("a[["), "{said}");
    let said = refusal("template", lines, &[]);
    assert!(said.contains("template"), "{said}");
}

#[test]
fn content_types_that_a_type_does_not_take_are_refused() {
    let lines = "{\"text\": \"a\", \"image\": \"PIXEL\"}\n";
    let said = refusal("image_edit", lines, &["--request-content-type", "application/json"]);
    assert!(said.contains("--request-content-type"), "{said}");
    let said = refusal("chat", lines, &["--request-content-type", "multipart/form-data"]);
    assert!(said.contains("--request-content-type"), "{said}");
}
