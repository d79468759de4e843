//! The same tokens as the library, for every shape of file that is read here.

use std::sync::LazyLock;

use aiperf_testkit::encoding::tokens_of;
use aiperf_testkit::tokenizer_json::tokenizer_json;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::ByteLevel;

/// Texts for each shape of file.
const CASES: u32 = 100;

const PATTERNS: &[&str] = &[
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // One that is not known by heart, with marks of its own.
    r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // One that leaves gaps.
    r"\p{N}{1,3}",
];

fn byte_level(use_regex: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex})
}

fn sequence(patterns: &[&str]) -> Value {
    let split = |pattern: &&str| json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
    let steps: Vec<Value> = patterns.iter().map(split).chain([byte_level(false)]).collect();
    json!({"type": "Sequence", "pretokenizers": steps})
}

fn added(id: usize, content: &str, special: bool, normalized: bool) -> Value {
    json!({
        "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": normalized, "special": special
    })
}

/// A file of a real vocabulary, its first tokens only so that merging has work to do.
fn file() -> Value {
    static MADE: LazyLock<Value> = LazyLock::new(|| tokenizer_json(&tokens_of("cl100k_base")[..4000]));
    let mut file = MADE.clone();
    file["added_tokens"] = json!([
        added(4000, "<|endoftext|>", true, false),
        added(4001, "<think>", false, false),
        added(4002, "<|end", true, false),
        added(4003, "qword", false, true),
        added(4004, "é!", false, true),
    ]);
    file
}

/// Every shape of file.
fn files() -> Vec<(String, Value)> {
    let base = file();
    let with = |path: &[&str], value: Value| {
        let mut file = base.clone();
        let mut at = &mut file;
        for key in path {
            at = &mut at[*key];
        }
        *at = value;
        file
    };
    let mut files: Vec<(String, Value)> = PATTERNS
        .iter()
        .map(|pattern| ((*pattern).to_owned(), with(&["pre_tokenizer"], sequence(&[pattern]))))
        .collect();
    files.push(("GPT-2".into(), with(&["pre_tokenizer"], byte_level(true))));
    files.push(("no pattern".into(), with(&["pre_tokenizer"], byte_level(false))));
    files.push((
        "several steps".into(),
        with(&["pre_tokenizer"], sequence(&[r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", PATTERNS[4]])),
    ));
    files.push(("composing".into(), with(&["normalizer"], json!({"type": "NFC"}))));
    files.push(("without merges for whole words".into(), with(&["model", "ignore_merges"], json!(true))));
    // Half of the merges are missing, so that many tokens of the vocabulary cannot be reached.
    let merges = base["model"]["merges"].as_array().unwrap();
    files.push(("unreachable tokens".into(), with(&["model", "merges"], json!(merges[..1500]))));
    let spaced: Vec<String> =
        merges.iter().map(|pair| format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap())).collect();
    files.push(("merges as one string each".into(), with(&["model", "merges"], json!(spaced))));
    files
}

fn snippet() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => "[a-z]{1,9}",
        2 => "[A-Z]{1,4}|[A-Z][a-z]{1,6}",
        2 => "[0-9]{1,5}",
        5 => " {1,3}",
        2 => "[\r\n\t\u{b}\u{c} ]{1,4}",
        3 => "[!-/:-@\\[-`{-~]{1,4}",
        2 => "'[sStTmMdD]|'[rRvV][eE]|'[lL][lL]|'[lrvx]|'\u{17f}",
        2 => "[à-ÿÀ-ß]{1,4}",
        2 => "e\u{301}!?|[ǅʰªº\u{300}\u{345}\u{5b0}]{1,3}",
        1 => "[\u{a0}\u{2003}\u{85}\u{3000}]{1,2}",
        1 => "[½²٣५Ⅷ]{1,4}",
        2 => "[一-龥ぁ-んァ-ヶ가-힣]{1,8}",
        1 => "[😀-😏🦀\u{200d}\u{fe0f}—“”…™]{1,3}",
        2 => "<\\|endoftext\\|>|<\\|end|<think>|qword|qwords|é!",
        1 => "[a-e]{60,200}",
        1 => "\\PC{1,6}",
    ];
    proptest::collection::vec(part, 1..20).prop_map(|parts| parts.concat())
}

#[test]
fn texts_have_the_same_tokens_as_with_the_library() {
    for (name, file) in files() {
        let json = file.to_string();
        let ours = ByteLevel::from_json(json.as_bytes()).unwrap_or_else(|| panic!("{name}: not read"));
        let theirs = tokenizers::Tokenizer::from_bytes(&json).unwrap();
        let mut runner = TestRunner::new(Config::with_cases(CASES));
        let agree = runner.run(&snippet(), |text| {
            let ids = theirs.encode_fast(text.as_str(), false).unwrap().get_ids().to_vec();
            prop_assert_eq!(ours.encode(&text), ids.clone(), "{}: {:?}", name, text);
            prop_assert_eq!(ours.count(&text), ids.len(), "{}: {:?}", name, text);
            prop_assert_eq!(ours.decode(&ids), theirs.decode(&ids, false).unwrap());
            Ok(())
        });
        if let Err(error) = agree {
            panic!("{error}");
        }
    }
}

#[test]
fn the_settings_of_a_file_are_read_alike() {
    let mut file = file();
    file["post_processor"] = json!({
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [],
        "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [4000], "tokens": ["<|endoftext|>"]}}
    });
    let ours = ByteLevel::from_json(file.to_string().as_bytes()).unwrap();
    let theirs = tokenizers::Tokenizer::from_bytes(file.to_string()).unwrap();
    assert_eq!(ours.special_tokens_per_prompt(), 1);
    assert_eq!(ours.vocabulary_size(), theirs.get_vocab_size(false));
    for token in ["<|endoftext|>", "Ġthe", "word", "Ā", "nothing such", "<think>"] {
        assert_eq!(ours.id_of(token), theirs.token_to_id(token), "{token}");
    }
    assert_eq!(ours.special_ids().collect::<Vec<_>>(), [4000, 4002]);
    assert!(ours.has(3999) && ours.has(4004) && !ours.has(4005));
}

#[test]
fn unusual_files_are_left_to_the_library() {
    let unusual: &[(&[&str], Value)] = &[
        (&["model", "type"], json!("WordPiece")),
        (&["model", "dropout"], json!(0.1)),
        (&["model", "end_of_word_suffix"], json!("</w>")),
        (&["model", "vocab", "Ā"], Value::Null),
        (&["model", "merges"], json!([["Ġ", "not there"]])),
        (&["normalizer"], json!({"type": "NFKC"})),
        (&["decoder"], Value::Null),
        (&["post_processor"], json!({"type": "Nothing"})),
        (&["pre_tokenizer"], json!({"type": "Whitespace"})),
        (&["pre_tokenizer"], json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})),
        (&["pre_tokenizer"], sequence(&[r"a(?=b)"])),
        (&["pre_tokenizer"], sequence(&[r"\p{N}*"])),
        (&["added_tokens"], json!([{"id": 4000, "content": "<mask>", "lstrip": true}])),
        (&["added_tokens"], json!([{"id": 9000, "content": "<mask>"}])),
        (&["added_tokens"], json!([{"id": u32::MAX, "content": "<mask>"}])),
    ];
    assert!(ByteLevel::from_json(file().to_string().as_bytes()).is_some());
    for (path, value) in unusual {
        let mut file = file();
        let mut at = &mut file;
        for key in *path {
            at = &mut at[*key];
        }
        *at = value.clone();
        if path.last() == Some(&"Ā") {
            file["model"]["vocab"].as_object_mut().unwrap().remove("Ā");
        }
        assert!(ByteLevel::from_json(file.to_string().as_bytes()).is_none(), "{path:?} {value}");
    }
}

#[test]
fn a_text_cut_before_a_blank_has_the_tokens_of_its_parts() {
    let mut cut = Vec::new();
    for (name, file) in files() {
        let ours = ByteLevel::from_json(file.to_string().as_bytes()).unwrap();
        if !ours.cuts_before_blanks() {
            continue;
        }
        let mut runner = TestRunner::new(Config::with_cases(CASES));
        let agree = runner.run(&(snippet(), snippet()), |(before, after)| {
            let (before, after) = (before.trim_end(), format!(" {after}"));
            let whole = ours.count(&format!("{before}{after}"));
            prop_assert_eq!(whole, ours.count(before) + ours.count(&after), "{}: {:?} {:?}", name, before, after);
            Ok(())
        });
        if let Err(error) = agree {
            panic!("{error}");
        }
        cut.push(name);
    }
    assert!(["GPT-2", "composing"].iter().all(|name| cut.iter().any(|cut| cut == name)), "{cut:?}");
    assert!(["no pattern", "several steps"].iter().all(|name| cut.iter().all(|cut| cut != name)), "{cut:?}");
}

#[test]
fn a_text_is_not_cut_where_an_added_token_may_lie() {
    for (content, cuts) in [("<a b>", false), ("a ", false), ("    ", true), (" a", true)] {
        let mut file = file();
        file["added_tokens"] = json!([added(4000, content, false, false)]);
        let ours = ByteLevel::from_json(file.to_string().as_bytes());
        let known = ours.unwrap_or_else(|| panic!("{content:?}: not read"));
        assert_eq!(known.cuts_before_blanks(), cuts, "{content:?}");
    }
}
