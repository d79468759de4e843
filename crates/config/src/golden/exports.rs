//! `golden/exports` and `golden/endpoints`: names, folders, the command line, and what is redacted.

use super::parsers::{unknown_extension, words};
use super::{cases, list, texts};
use crate::command_line;
use crate::export::artifact_subdir;
use crate::sections::envelope::Benchmark;
use crate::setting::{Reader, Setting};
use crate::tree::{Node, Origin};
use aiperf_plan::FileNames;
use aiperf_plan::redact::{self, is_sensitive_header};
use serde_json::{Value, json};

#[test]
fn golden_artifact_folders_are_named_as_recorded() {
    let data = cases("exports", "artifact_dir_names.json");
    for case in list(&data["cases"]) {
        let input = &case["input"];
        let models: Vec<Value> = list(&input["models"]).iter().map(|name| json!({"name": name})).collect();
        let body = json!({"models": {"items": models}, "endpoint": {"type": input["endpoint_type"]}, "phases": [input["phase"]]});
        let mut reader = Reader::default();
        let benchmark = Benchmark::read(&Node::from_json(&body, &Origin::Rule), "", &mut reader).unwrap();
        assert_eq!(reader.problems, []);
        assert_eq!(artifact_subdir(&benchmark).map(Value::from), Some(case["expected"].clone()));
    }
    println!("{} folders", list(&data["cases"]).len());
}

#[test]
fn golden_command_lines_are_shown_as_recorded_but_for_quotes() {
    let data = cases("exports", "cli_command.json");
    for case in list(&data["cases"]) {
        let args = texts(&case["input"]);
        let (found, wanted) = (words(&command_line::shown(&args)), words(case["expected"].as_str().unwrap()));
        assert_eq!(found.len(), wanted.len(), "{case}");
        for (found, wanted) in found.iter().zip(&wanted) {
            // Arguments stay as typed, where the reference shows its own name for the value.
            let coerced = ["True", "False", "None"].contains(&wanted.as_str());
            assert!(found == wanted || (coerced && args.contains(found)), "{found} for {wanted}");
        }
    }
    println!("{} command lines", list(&data["cases"]).len());
}

#[test]
fn golden_file_names_follow_the_prefix() {
    let data = cases("exports", "file_names.json");
    let mut decided = 0;
    for case in list(&data["cases"]) {
        let prefix = case["input"]["prefix"].as_str();
        if prefix.is_some_and(unknown_extension) {
            decided += 1;
            continue;
        }
        let names = FileNames::new(prefix);
        for (key, name) in [
            ("csv", names.summary_csv),
            ("json", names.summary_json),
            ("timeslices_csv", names.timeslices_csv),
            ("timeslices_json", names.timeslices_json),
            ("records_jsonl", names.records_jsonl),
            ("raw_jsonl", names.raw_jsonl),
            ("console_txt", names.console_txt),
        ] {
            assert_eq!(case["expected"][key], name, "{prefix:?}");
        }
    }
    println!("{} prefixes, {decided} changed by decision", list(&data["cases"]).len());
}

#[test]
fn golden_sensitive_headers_are_known() {
    let data = cases("exports", "redact_header_names.json");
    for case in list(&data["cases"]) {
        assert_eq!(is_sensitive_header(case["input"].as_str().unwrap()), case["expected"], "{case}");
    }
    println!("{} names", list(&data["cases"]).len());
}

#[test]
fn golden_texts_lose_their_secrets() {
    let data = cases("exports", "redact_string.json");
    for case in list(&data["cases"]) {
        assert_eq!(redact::text(case["input"].as_str().unwrap()), case["expected"].as_str().unwrap());
    }
    println!("{} texts", list(&data["cases"]).len());
}

#[test]
fn golden_headers_urls_and_texts_are_redacted_as_recorded() {
    let data = cases("endpoints", "redaction.json");
    for case in list(&data["cases"]) {
        let input = &case["input"];
        let found: Value = match case["kind"].as_str().unwrap() {
            "headers" => input
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| {
                    (name.clone(), if is_sensitive_header(name) { "<redacted>".into() } else { value.clone() })
                })
                .collect::<serde_json::Map<_, _>>()
                .into(),
            "url" => redact::url(input.as_str().unwrap()).into(),
            _ => redact::text(input.as_str().unwrap()).into(),
        };
        assert_eq!(found, case["expected"]);
    }
    println!("{} cases", list(&data["cases"]).len());
}
