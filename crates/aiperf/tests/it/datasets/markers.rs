//! Markers that keep requests out of a server's cache.

use crate::datasets::recorded::{Recorded, chat, chat_as};
use aiperf_tokenize::Tokenizer;
use serde_json::Value;
use std::collections::BTreeSet;

fn few<'a>(target: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    let counts = ["--num-dataset-entries", "3", "--request-count", "6", "--random-seed", "3", "--isl", "40"];
    [&counts[..], &["--cache-bust", target], args].concat()
}

fn is_marker(text: &str) -> bool {
    let digits = text.strip_prefix("[rid:").and_then(|rest| rest.strip_suffix(']'));
    digits.is_some_and(|digits| digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// The text of one message of each request.
fn contents(recorded: &Recorded, index: usize) -> Vec<String> {
    let text = |body: &&Value| body["messages"][index]["content"].as_str().unwrap().to_owned();
    recorded.bodies().iter().map(text).collect()
}

#[test]
fn every_session_has_a_marker_of_its_own_and_requests_stay_as_long() {
    for (target, is_prefix) in [("first_turn_prefix", true), ("first_turn_suffix", false), ("system_prefix", true)] {
        let recorded = chat(&few(target, &[])).good();
        let texts = recorded.texts();
        let split = |text: &String| {
            let (before, after) = if is_prefix { text.split_once("\n\n") } else { text.rsplit_once("\n\n") }.unwrap();
            if is_prefix { (before.to_owned(), after.to_owned()) } else { (after.to_owned(), before.to_owned()) }
        };
        let (markers, prompts): (Vec<String>, Vec<String>) = texts.iter().map(split).unzip();
        assert!(markers.iter().all(|marker| is_marker(marker)), "{markers:?}");
        assert_eq!(markers.iter().collect::<BTreeSet<_>>().len(), 6);
        assert_eq!(prompts[..3], prompts[3..], "the dataset goes round");
        let tokenizer = Tokenizer::builtin();
        for (record, text) in recorded.run.records().iter().zip(&texts) {
            let count = record["metrics"]["input_sequence_length"]["value"].as_u64().unwrap();
            assert_eq!(count, tokenizer.count(text) as u64);
            // The token count of a marker is known on average. Its letters are random, and so is its count.
            assert!((34..=48).contains(&count), "{target}: {count}");
        }
        let lengths: Vec<&str> = recorded.heads().iter().filter_map(|head| content_length(head)).collect();
        assert_eq!(lengths.len(), 6);
    }
}

fn content_length(head: &str) -> Option<&str> {
    head.lines().find(|line| line.to_ascii_lowercase().starts_with("content-length:"))
}

#[test]
fn a_marked_system_message_is_as_long_as_asked() {
    let recorded = chat(&few("system_suffix", &["--shared-system-prompt-length", "50"])).good();
    let (systems, users) = (contents(&recorded, 0), contents(&recorded, 1));
    let tokenizer = Tokenizer::builtin();
    for (system, user) in systems.iter().zip(&users) {
        let (text, marker) = system.rsplit_once("\n\n").unwrap();
        assert!(is_marker(marker), "{system}");
        assert_eq!((tokenizer.count(text), tokenizer.count(user)), (50 - 12, 40));
    }
    assert_eq!(systems.iter().collect::<BTreeSet<_>>().len(), 6);
}

#[test]
fn turns_of_a_session_share_its_marker_and_are_counted_with_it() {
    let recorded = chat(&few("first_turn_prefix", &["--conversation-turn-mean", "3"])).good();
    let firsts = contents(&recorded, 0);
    assert_eq!((firsts[0] == firsts[1], firsts[1] == firsts[2], firsts[2] == firsts[3]), (true, true, false));
    let tokenizer = Tokenizer::builtin();
    for (record, body) in recorded.run.records().iter().zip(recorded.bodies()) {
        let messages = body["messages"].as_array().unwrap();
        let texts: Vec<&str> = messages.iter().map(|message| message["content"].as_str().unwrap()).collect();
        let count = record["metrics"]["input_sequence_length"]["value"].as_u64().unwrap();
        assert_eq!(count, tokenizer.count(&texts.join(" ")) as u64, "{messages:?}");
    }
}

#[test]
fn the_warm_up_has_markers_and_profiling_has_none() {
    let warmup = ["--warmup-request-count", "2", "--system-prompt", "Be brief."];
    let recorded = chat(&few("warmup_isolation_system", &warmup)).good();
    let systems = contents(&recorded, 0);
    assert_eq!(systems.len(), 8);
    assert!(systems[..2].iter().all(|text| text == "[warmup]\n\nBe brief."), "{systems:?}");
    assert!(systems[2..].iter().all(|text| text == "Be brief."), "{systems:?}");
}

#[test]
fn messages_of_several_parts_get_a_part() {
    let recorded = chat(&few("first_turn_suffix", &["--prompt-batch-size", "2"])).good();
    for body in recorded.bodies() {
        let parts = body["messages"][0]["content"].as_array().unwrap();
        assert_eq!(parts.len(), 3, "{parts:?}");
        assert!(is_marker(parts[2]["text"].as_str().unwrap()), "{parts:?}");
    }
}

#[test]
fn raw_records_name_the_marker_and_inputs_show_none() {
    let recorded = chat(&few("first_turn_prefix", &["--export-level", "raw"])).good();
    let raw = recorded.run.text("profile_export_raw.jsonl");
    let lines: Vec<Value> = raw.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 6);
    for line in &lines {
        let marker = line["cache_bust_marker"].as_str().unwrap();
        assert_eq!(line["cache_bust_target"], "first_turn_prefix");
        assert!(line["payload"]["messages"][0]["content"].as_str().unwrap().starts_with(marker));
    }
    let inputs = recorded.run.text("inputs.json");
    assert!(!inputs.contains("[rid:"), "{inputs}");
}

#[test]
fn invalid_markers_are_refused_by_name() {
    for (args, named) in [
        (&["--cache-bust", "first_turn_prefix", "--endpoint-type", "completions"][..], "--cache-bust"),
        (&["--cache-bust", "warmup_isolation_system"], "needs a system prompt"),
        (&["--cache-bust", "everywhere"], "--cache-bust"),
    ] {
        let message = chat(args).refused();
        assert!(message.contains(named), "{args:?}: {message}");
    }
}

#[test]
fn a_marker_for_a_missing_warm_up_gives_a_note() {
    let stderr = chat(&few("warmup_isolation_first_turn", &[])).good().run.stderr();
    assert!(stderr.contains("--cache-bust warmup_isolation_first_turn has no effect"), "{stderr}");
}

#[test]
fn rows_of_files_are_marked_too() {
    let recorded = chat_as(|bench| {
        let rows = bench.dir.path().join("rows.jsonl");
        std::fs::write(&rows, "{\"text\": \"Who are you?\"}\n").unwrap();
        bench
            .with(&["--input-file", rows.to_str().unwrap(), "--request-count", "2"])
            .with(&["--cache-bust", "first_turn_prefix"])
    })
    .good();
    let texts = recorded.texts();
    assert!(texts.iter().all(|text| text.ends_with("]\n\nWho are you?")), "{texts:?}");
    assert_ne!(texts[0], texts[1]);
}
