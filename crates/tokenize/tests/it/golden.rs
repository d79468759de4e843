//! Every case of the golden files about tokenizers.

use std::path::{Path, PathBuf};

use aiperf_golden::kinds::datasets::{
    BUILTIN_IDS, BUILTIN_TEMPLATE_OVERHEADS, ENCODING_IDS, LOCAL_IDS, LOCAL_OVERHEADS, LOCAL_PROPERTIES,
    LOCAL_TEMPLATE, LOCAL_TOKENIZER, PLACEHOLDER_NAME,
};
use aiperf_golden::kinds::fixtures::TINY_MODEL;
use aiperf_golden::{Area, CaseList, GoldenFile, GoldenKind, Tally};
use aiperf_tokenize::{Lookup, Message, TemplateCost, Tokenizer, is_placeholder};
use serde_json::Value;

/// A kind of case about the tokenizer in a folder beside the file, and how it is checked.
type LocalKind = (&'static GoldenKind, fn(&Tokenizer, &Value));

const LOCAL_KINDS: &[LocalKind] = &[
    (LOCAL_IDS, check_ids),
    (LOCAL_PROPERTIES, check_properties),
    (LOCAL_OVERHEADS, |tokenizer, case| {
        assert_eq!(tokenizer.template_cost(), cost(&case[FOLDER_OVERHEADS]));
    }),
    (BUILTIN_TEMPLATE_OVERHEADS, |_, case| {
        assert_eq!(Tokenizer::builtin().template_cost(), cost(&case[BUILTIN_OVERHEADS]));
    }),
    (LOCAL_TEMPLATE, check_template),
];

const FOLDER_OVERHEADS: &str = "chat_template_overheads_fixed_wrap";
const BUILTIN_OVERHEADS: &str = "chat_template_overheads_builtin";

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

#[test]
fn golden_builtin_gives_the_ids_of_o200k_base() {
    let tokenizer = Tokenizer::builtin();
    BUILTIN_IDS.run(
        |_| None,
        |case| {
            let text = case["text"].as_str().unwrap();
            let expected = ids(&case["ids"]);
            assert_eq!(tokenizer.encode(text), expected, "{text:?}");
            assert_eq!(tokenizer.count(text) as u64, case["count"].as_u64().unwrap(), "{text:?}");
            assert_eq!(tokenizer.decode(&expected) == text, case["decode_equals_text"].as_bool().unwrap(), "{text:?}");
        },
    );
}

#[test]
fn golden_encodings_give_the_ids_of_tiktoken() {
    ENCODING_IDS.run(
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
    PLACEHOLDER_NAME.run(
        |_| None,
        |case| {
            let name = case["name"].as_str().unwrap();
            let reference = case["is_placeholder"].as_bool().unwrap();
            assert_eq!(is_placeholder(name), reference != words_decide_otherwise(name, reference), "{name}");
        },
    );
}

/// The tokenizer that a file's cases are about: in the only folder beside it that holds one, or in the one it names.
fn folder_beside(file: &CaseList) -> Option<PathBuf> {
    let documents = LOCAL_TOKENIZER.whole_files().into_iter();
    let folder = |file: GoldenFile| file.path.parent().map(Path::to_owned);
    let folders: Vec<PathBuf> =
        documents.filter(|file| file.file_name() == "tokenizer.json").filter_map(folder).collect();
    let about = file.content["about"].as_str().unwrap_or_default();
    let is_named = |folder: &&PathBuf| about.contains(&*folder.file_name().unwrap().to_string_lossy());
    folders.iter().find(is_named).or(folders.first().filter(|_| folders.len() == 1)).cloned()
}

#[test]
fn golden_local_directory_gives_the_ids_costs_and_template_of_transformers() {
    let mut tally = Tally::of(LOCAL_IDS);
    for (kind, check) in LOCAL_KINDS {
        tally.begin(kind);
        for file in kind.lists() {
            let Some(folder) = folder_beside(&file) else {
                file.cases().iter().for_each(|_| tally.skip("no folder with a tokenizer.json beside the cases"));
                continue;
            };
            let tokenizer = Tokenizer::load(folder.to_str().unwrap(), &Lookup::default()).unwrap();
            tally.run_lists(kind, &[file], |_| None, |case| check(&tokenizer, case));
        }
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
    let mut tally = Tally::of(TINY_MODEL);
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
