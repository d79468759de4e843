//! Every case of the golden files of this area.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use aiperf_tokenize::{Lookup, Message, TemplateCost, Tokenizer, is_placeholder};
use serde_json::Value;

const AREA: &str = "datasets";

/// (name, what we say, why it is not what the reference says).
const PLACEHOLDERS_DECIDED_OTHERWISE: &[(&str, bool, &str)] =
    &[("latest-model", false, "words are compared, not letters: `latest` is not `test`")];

fn folder() -> PathBuf {
    match std::env::var_os("AIPERF_GOLDEN_DIR") {
        Some(root) => Path::new(&root).join(AREA),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(AREA),
    }
}

fn cases(file: &str) -> Vec<Value> {
    let path = folder().join(file);
    let Ok(text) = fs::read_to_string(&path) else {
        println!("{}: no such file, 0 cases", path.display());
        return Vec::new();
    };
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let cases = document["cases"].take().as_array().unwrap().clone();
    println!("{file}: {} cases", cases.len());
    cases
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

#[test]
fn golden_builtin_gives_the_ids_of_o200k_base() {
    let tokenizer = Tokenizer::builtin();
    for case in cases("tokenizer_builtin.json") {
        let text = case["text"].as_str().unwrap();
        let expected = ids(&case["ids"]);
        assert_eq!(tokenizer.encode(text), expected, "{text:?}");
        assert_eq!(tokenizer.count(text) as u64, case["count"].as_u64().unwrap(), "{text:?}");
        assert_eq!(tokenizer.decode(&expected) == text, case["decode_equals_text"].as_bool().unwrap(), "{text:?}");
    }
}

#[test]
fn golden_placeholder_names_get_the_builtin_tokenizer() {
    for case in cases("fake_model_names.json") {
        let name = case["name"].as_str().unwrap();
        let decided = PLACEHOLDERS_DECIDED_OTHERWISE.iter().find(|(exception, ..)| *exception == name);
        let expected = decided.map_or_else(|| case["is_placeholder"].as_bool().unwrap(), |(_, ours, _)| *ours);
        assert_eq!(is_placeholder(name), expected, "{name}");
    }
}

#[test]
fn golden_local_directory_gives_the_ids_costs_and_template_of_transformers() {
    let cases = cases("tokenizer_local_dir.json");
    if cases.is_empty() {
        return;
    }
    let directory = folder().join("tiny_hf_tokenizer").display().to_string();
    let tokenizer = Tokenizer::load(&directory, &Lookup::default()).unwrap();
    for case in cases {
        check_local_case(&tokenizer, &case);
    }
}

fn check_local_case(tokenizer: &Tokenizer, case: &Value) {
    let kind = case.as_object().unwrap().keys().next().unwrap().as_str();
    match kind {
        "text" => {
            let text = case["text"].as_str().unwrap();
            let expected = ids(&case["ids"]);
            assert_eq!(tokenizer.encode(text), expected, "{text:?}");
            assert_eq!(tokenizer.count(text), expected.len(), "{text:?}");
            assert_eq!(tokenizer.decode(&expected), case["decoded"].as_str().unwrap());
        }
        "properties" => {
            let expected = &case["properties"];
            let ordinary = tokenizer.ordinary_ids();
            assert_eq!(ordinary.len() as u64, expected["ordinary_id_count"].as_u64().unwrap());
            assert!(ids(&expected["all_special_ids"]).iter().all(|special| !ordinary.contains(special)));
            assert_eq!(tokenizer.separator_id(), expected["separator_id"].as_u64().map(|id| id as u32));
            let added = tokenizer.special_tokens_per_prompt() as u64;
            assert_eq!(added, expected["special_tokens_per_prompt"].as_u64().unwrap());
        }
        "chat_template_overheads_fixed_wrap" => assert_eq!(tokenizer.template_cost(), cost(&case[kind])),
        "chat_template_overheads_builtin" => assert_eq!(Tokenizer::builtin().template_cost(), cost(&case[kind])),
        "messages" => {
            let rendered = tokenizer.apply_chat_template(&case["messages"], true).unwrap().unwrap();
            assert_eq!(rendered, case["rendered"].as_str().unwrap());
            let count = tokenizer.count_chat(&case["messages"], true).unwrap().unwrap() as u64;
            assert_eq!(count, case["template_token_count"].as_u64().unwrap());
        }
        other => panic!("a kind of case this test does not know: {other}"),
    }
}

fn cost(value: &Value) -> TemplateCost {
    let [fixed, per_message] = ids(value)[..] else { panic!("two numbers expected: {value}") };
    TemplateCost { fixed: fixed as usize, per_message: per_message as usize }
}

#[test]
fn golden_tiny_model_loads_from_its_directory_and_from_its_file() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny-model");
    let lookup = Lookup::default();
    for path in [directory.clone(), directory.join("tokenizer.json")] {
        let tokenizer = Tokenizer::load(path.to_str().unwrap(), &lookup).unwrap();
        let text = "The model answers in tokens.";
        assert_eq!(tokenizer.decode(&tokenizer.encode(text)), text);
        assert_eq!(tokenizer.special_tokens_per_prompt(), 0);
        let said = [Message::user("hello")];
        let rendered = tokenizer.apply_chat_template(said, true).unwrap().unwrap();
        assert_eq!(rendered, "<|user|>hello<|assistant|>");
    }
}
