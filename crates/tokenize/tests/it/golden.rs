//! Every case of the golden files about tokenizers.

use std::path::{Path, PathBuf};

use aiperf_golden::{Area, File, Shape, Tally, has};
use aiperf_tokenize::{Lookup, Message, TemplateCost, Tokenizer, is_placeholder};
use serde_json::Value;

const BUILTIN: Shape = |case| has(case, "text") && has(case, "ids") && has(case, "decode_equals_text");
const ENCODING: Shape = |case| has(case, "encoding") && has(case, "text") && has(case, "ids");
const PLACEHOLDER: Shape = |case| has(case, "name") && case["is_placeholder"].is_boolean();
/// What a tokenizer in a folder beside the file gives.
const LOCAL: Shape = |case| LOCAL_KINDS.iter().any(|(shape, _)| shape(case));

/// A kind of case about such a tokenizer, and how it is checked.
type LocalKind = (Shape, fn(&Tokenizer, &Value));

const LOCAL_KINDS: &[LocalKind] = &[
    (|case| has(case, "ids") && has(case, "decoded"), check_ids),
    (|case| has(case, "properties.ordinary_id_count"), check_properties),
    (
        |case| has(case, FOLDER_OVERHEADS),
        |tokenizer, case| {
            assert_eq!(tokenizer.template_cost(), cost(&case[FOLDER_OVERHEADS]));
        },
    ),
    (
        |case| has(case, BUILTIN_OVERHEADS),
        |_, case| {
            assert_eq!(Tokenizer::builtin().template_cost(), cost(&case[BUILTIN_OVERHEADS]));
        },
    ),
    (|case| has(case, "messages") && has(case, "rendered"), check_template),
];

const FOLDER_OVERHEADS: &str = "chat_template_overheads_fixed_wrap";
const BUILTIN_OVERHEADS: &str = "chat_template_overheads_builtin";

fn area() -> Area {
    Area::of("datasets")
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

#[test]
fn golden_files_that_nothing_here_reads_are_named() {
    area().print_unread("tokenize: datasets", &[BUILTIN, PLACEHOLDER, LOCAL]);
}

#[test]
fn golden_builtin_gives_the_ids_of_o200k_base() {
    let tokenizer = Tokenizer::builtin();
    let mut tally = Tally::new("builtin vocabulary");
    tally.run_files(
        &area().files_of(BUILTIN),
        BUILTIN,
        |_| None,
        |case| {
            let text = case["text"].as_str().unwrap();
            let expected = ids(&case["ids"]);
            assert_eq!(tokenizer.encode(text), expected, "{text:?}");
            assert_eq!(tokenizer.count(text) as u64, case["count"].as_u64().unwrap(), "{text:?}");
            assert_eq!(tokenizer.decode(&expected) == text, case["decode_equals_text"].as_bool().unwrap(), "{text:?}");
        },
    );
    tally.finish();
}

#[test]
fn golden_encodings_give_the_ids_of_tiktoken() {
    let mut tally = Tally::new("encodings of tiktoken");
    let area = Area::of("encodings");
    tally.run_files(
        &area.files_of(ENCODING),
        ENCODING,
        |_| None,
        |case| {
            let (name, text) = (case["encoding"].as_str().unwrap(), case["text"].as_str().unwrap());
            let tokenizer = Tokenizer::load(name, &Lookup::default()).unwrap();
            let expected = ids(&case["ids"]);
            assert_eq!(tokenizer.encode(text), expected, "{name}: {text:?}");
            assert_eq!(tokenizer.count(text), expected.len(), "{name}: {text:?}");
            assert_eq!(tokenizer.decode(&expected), text, "{name}");
        },
    );
    tally.finish();
}

/// Whether words decide otherwise than letters do. The reference takes `latest-model` for a
/// placeholder, because of the letters `test-model`, and `test_llm` for none.
fn words_decide_otherwise(name: &str, is_placeholder: bool) -> bool {
    const WORDS: &[&str] = &["test", "mock", "fake", "dummy", "example", "sample", "placeholder"];
    const PAIRS: &[&str] = &["test-model", "your-model", "my-model", "model-name", "model-id"];
    let name = name.to_lowercase().replace('_', "-");
    let is_word = name.split('-').any(|word| WORDS.contains(&word));
    let are_words = |pair: &str| {
        name.match_indices(pair).any(|(at, _)| {
            let (before, after) = (&name[..at], &name[at + pair.len()..]);
            let after = after.strip_prefix('s').unwrap_or(after);
            (before.is_empty() || before.ends_with('-')) && (after.is_empty() || after.starts_with('-'))
        })
    };
    if is_placeholder { !is_word && !PAIRS.iter().any(|pair| are_words(pair)) } else { is_word && !is_path(&name) }
}

fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || name.starts_with(['.', '~'])
}

#[test]
fn golden_placeholder_names_get_the_builtin_tokenizer() {
    let mut tally = Tally::new("placeholder names");
    tally.run_files(
        &area().files_of(PLACEHOLDER),
        PLACEHOLDER,
        |_| None,
        |case| {
            let name = case["name"].as_str().unwrap();
            let reference = case["is_placeholder"].as_bool().unwrap();
            assert_eq!(is_placeholder(name), reference != words_decide_otherwise(name, reference), "{name}");
        },
    );
    tally.finish();
}

/// The tokenizer that a file's cases are about: in the only folder beside it that holds one, or in the one it names.
fn folder_beside(file: &File) -> Option<PathBuf> {
    let folders: Vec<PathBuf> =
        area().paths().into_iter().filter(|path| path.join("tokenizer.json").is_file()).collect();
    let about = file.content["about"].as_str().unwrap_or_default();
    let is_named = |folder: &&PathBuf| about.contains(&*folder.file_name().unwrap().to_string_lossy());
    folders.iter().find(is_named).or(folders.first().filter(|_| folders.len() == 1)).cloned()
}

#[test]
fn golden_local_directory_gives_the_ids_costs_and_template_of_transformers() {
    let mut tally = Tally::new("tokenizers of a folder");
    for file in area().files_of(LOCAL) {
        let Some(folder) = folder_beside(&file) else {
            file.cases().iter().for_each(|_| tally.skip("no folder with a tokenizer.json beside the cases"));
            continue;
        };
        let tokenizer = Tokenizer::load(folder.to_str().unwrap(), &Lookup::default()).unwrap();
        tally.run_files(
            &[file],
            LOCAL,
            |_| None,
            |case| {
                LOCAL_KINDS.iter().filter(|(shape, _)| shape(case)).for_each(|(_, check)| check(&tokenizer, case));
            },
        );
    }
    tally.finish();
}

fn check_ids(tokenizer: &Tokenizer, case: &Value) {
    let text = case["text"].as_str().unwrap();
    let expected = ids(&case["ids"]);
    assert_eq!(tokenizer.encode(text), expected, "{text:?}");
    assert_eq!(tokenizer.count(text), expected.len(), "{text:?}");
    assert_eq!(tokenizer.decode(&expected), case["decoded"].as_str().unwrap());
}

fn check_properties(tokenizer: &Tokenizer, case: &Value) {
    let expected = &case["properties"];
    let ordinary = tokenizer.ordinary_ids();
    assert_eq!(ordinary.len() as u64, expected["ordinary_id_count"].as_u64().unwrap());
    assert!(ids(&expected["all_special_ids"]).iter().all(|special| !ordinary.contains(special)));
    assert_eq!(tokenizer.separator_id(), expected["separator_id"].as_u64().map(|id| id as u32));
    let added = tokenizer.special_tokens_per_prompt() as u64;
    assert_eq!(added, expected["special_tokens_per_prompt"].as_u64().unwrap());
}

fn check_template(tokenizer: &Tokenizer, case: &Value) {
    let rendered = tokenizer.apply_chat_template(&case["messages"], true).unwrap().unwrap();
    assert_eq!(rendered, case["rendered"].as_str().unwrap());
    let count = tokenizer.count_chat(&case["messages"], true).unwrap().unwrap() as u64;
    assert_eq!(count, case["template_token_count"].as_u64().unwrap());
}

fn cost(value: &Value) -> TemplateCost {
    let [fixed, per_message] = ids(value)[..] else { panic!("two numbers expected: {value}") };
    TemplateCost { fixed: fixed as usize, per_message: per_message as usize }
}

/// The tokenizer of a folder, loaded by the folder's name and by the file's.
fn loaded(folder: &Path) -> [Tokenizer; 2] {
    let lookup = Lookup::default();
    [folder.to_owned(), folder.join("tokenizer.json")]
        .map(|path| Tokenizer::load(path.to_str().unwrap(), &lookup).unwrap())
}

#[test]
fn golden_model_folders_load_by_folder_and_by_file() {
    let mut tally = Tally::new("model folders");
    let folder = Area::of("tiny-model").folder().to_owned();
    if folder.join("tokenizer.json").is_file() {
        tally.run(folder.display().to_string(), || {
            let [by_folder, by_file] = loaded(&folder);
            let text = "The model answers in tokens.";
            assert_eq!(by_folder.decode(&by_folder.encode(text)), text);
            assert_eq!(by_folder.encode(text), by_file.encode(text));
            let messages = [Message::user("hello")];
            let rendered = by_folder.apply_chat_template(messages, true).unwrap().unwrap();
            assert!(rendered.contains("hello"), "{rendered}");
            assert_eq!(by_file.apply_chat_template(messages, true).unwrap().unwrap(), rendered);
        });
    }
    tally.finish();
}

#[test]
fn the_model_that_comes_with_this_crate_has_its_template_and_adds_no_token() {
    for tokenizer in loaded(&aiperf_golden::own_path("tiny-model")) {
        assert_eq!(tokenizer.special_tokens_per_prompt(), 0);
        let rendered = tokenizer.apply_chat_template([Message::user("hello")], true).unwrap().unwrap();
        assert_eq!(rendered, "<|user|>hello<|assistant|>");
    }
}
