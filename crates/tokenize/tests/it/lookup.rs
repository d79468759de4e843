//! Names on disk: paths, the hub cache, and the message when there is nothing.

use std::fs;
use std::path::PathBuf;

use aiperf_tokenize::lookup::hub_cache;
use aiperf_tokenize::{Lookup, TokenizeError, Tokenizer};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

fn golden(directory: &str) -> PathBuf {
    aiperf_golden::own_path(directory)
}

/// A hub cache with one snapshot an entry, `main` pointing at it.
fn cache(entries: &[&str]) -> TempDir {
    let cache = tempfile::tempdir().unwrap();
    for entry in entries {
        let folder = cache.path().join(entry);
        let snapshot = folder.join("snapshots").join("abc123");
        fs::create_dir_all(&snapshot).unwrap();
        fs::create_dir_all(folder.join("refs")).unwrap();
        fs::write(folder.join("refs/main"), "abc123\n").unwrap();
        fs::copy(golden("tiny-model/tokenizer.json"), snapshot.join("tokenizer.json")).unwrap();
    }
    cache
}

fn lookup(cache: &TempDir) -> Lookup {
    Lookup { hub_cache: Some(cache.path().to_owned()), revision: None }
}

fn refusal(name: &str, lookup: &Lookup) -> String {
    Tokenizer::load(name, lookup).unwrap_err().to_string()
}

#[test]
fn a_full_name_is_found_at_the_default_branch() {
    let cache = cache(&["models--org--Model-7B"]);
    assert_eq!(Tokenizer::load("org/Model-7B", &lookup(&cache)).unwrap().name(), "org/Model-7B");
    fs::write(cache.path().join("models--org--Model-7B/refs/main"), "another").unwrap();
    assert!(refusal("org/Model-7B", &lookup(&cache)).contains("revision 'main'"));
}

#[test]
fn a_short_name_is_found_when_only_one_entry_ends_with_it() {
    let cache = cache(&["models--org--Model-7B", "models--other--Model-7B-Chat"]);
    assert!(Tokenizer::load("model-7b", &lookup(&cache)).is_ok());
    assert!(matches!(Tokenizer::load("7b", &lookup(&cache)), Err(TokenizeError::NotFound { .. })));
}

#[test]
fn a_short_name_of_several_entries_names_them() {
    let cache = cache(&["models--a--tiny", "models--b--tiny"]);
    let message = refusal("tiny", &lookup(&cache));
    assert!(message.contains("a/tiny, b/tiny") && message.contains("try: --tokenizer a/tiny"), "{message}");
}

#[test]
fn an_unknown_name_lists_where_it_was_looked_for_and_the_way_out() {
    let cache = cache(&[]);
    let message = refusal("org/absent", &lookup(&cache));
    for part in ["'org/absent'", &cache.path().display().to_string(), "--tokenizer builtin", "hf download org/absent"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let nowhere = refusal("org/absent", &Lookup::default());
    assert!(nowhere.contains("HF_HUB_CACHE"), "{nowhere}");
    let path = refusal("./no/such/folder", &lookup(&cache));
    assert!(path.contains("./no/such/folder") && !path.contains("hub cache"), "{path}");
}

#[test]
fn a_revision_is_a_branch_a_tag_or_a_commit() {
    let cache = cache(&["models--org--tiny"]);
    fs::write(cache.path().join("models--org--tiny/refs/v1"), "abc123").unwrap();
    let load = |revision: &str| Tokenizer::load("org/tiny", &lookup(&cache).at(Some(revision)));
    for revision in ["main", "v1", "abc123"] {
        assert!(load(revision).is_ok(), "{revision}");
    }
    for revision in ["v2", "", "..", "../../models--org--tiny/snapshots/abc123", "/"] {
        let message = load(revision).unwrap_err().to_string();
        assert!(message.contains(&format!("revision '{revision}'")), "{message}");
    }
}

#[test]
fn every_encoding_of_tiktoken_is_there_without_a_file() {
    for name in ["o200k_base", "o200k_harmony", "cl100k_base", "p50k_base", "p50k_edit", "r50k_base"] {
        assert_eq!(Tokenizer::load(name, &Lookup::default()).unwrap().name(), name);
    }
}

#[test]
fn a_tokenizer_that_is_code_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tiktoken.model"), "").unwrap();
    let config = json!({"auto_map": {"AutoTokenizer": ["tokenization_x.XTokenizer", null]}});
    fs::write(folder.path().join("tokenizer_config.json"), config.to_string()).unwrap();
    let error = Tokenizer::load(folder.path().to_str().unwrap(), &Lookup::default()).unwrap_err();
    assert_eq!(error.title(), "Custom Tokenizer Code");
    let message = error.to_string();
    for part in ["tokenization_x.XTokenizer", "--tokenizer-trust-remote-code", "save_pretrained", "--tokenizer builtin"]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn a_rank_file_of_a_known_kind_is_a_tokenizer_by_folder_and_by_file() {
    let folder = tempfile::tempdir().unwrap();
    // Every byte, and one token of two.
    let bytes = (0..=u8::MAX).map(|byte| format!("{} {byte}\n", STANDARD.encode([byte])));
    let ranks: String = bytes.chain([format!("{} 256\n", STANDARD.encode("ab"))]).collect();
    fs::write(folder.path().join("tiktoken.model"), ranks).unwrap();
    let config = json!({
        "tokenizer_class": "TikTokenTokenizer",
        "auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", null]},
        "added_tokens_decoder": {"257": {"content": "[BOS]"}, "258": {"content": "[EOS]"}},
        "bos_token": "[BOS]", "eos_token": "[EOS]",
        "chat_template": "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}",
    });
    fs::write(folder.path().join("tokenizer_config.json"), config.to_string()).unwrap();
    for path in [folder.path().to_owned(), folder.path().join("tiktoken.model")] {
        let loaded = Tokenizer::load(path.to_str().unwrap(), &Lookup::default()).unwrap();
        assert_eq!(loaded.encode("abab c"), [256, 256, 32, 99]);
        assert_eq!(loaded.count("[BOS]"), 5, "no special token in a text");
        let messages = [aiperf_tokenize::Message::user("ab")];
        assert_eq!(loaded.count_chat(messages, true).unwrap().unwrap(), 2);
        assert_eq!((loaded.separator_id(), loaded.ordinary_ids().len()), (Some(257), 257));
        assert_eq!(loaded.special_tokens_per_prompt(), 0);
    }
    fs::write(folder.path().join("tiktoken.model"), "IQ==").unwrap();
    let broken = refusal(folder.path().to_str().unwrap(), &Lookup::default());
    assert!(broken.contains("tiktoken.model: not a tokenizer") && broken.contains("line 1"), "{broken}");
}

#[test]
fn a_directory_without_a_tokenizer_is_refused_with_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().to_str().unwrap();
    assert!(refusal(name, &Lookup::default()).contains("no tokenizer.json"));
    fs::write(folder.path().join("tokenizer.model"), "").unwrap();
    assert!(refusal(name, &Lookup::default()).contains("SentencePiece"));
}

#[test]
fn a_broken_tokenizer_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
    let message = refusal(folder.path().to_str().unwrap(), &Lookup::default());
    assert!(message.contains("tokenizer.json: not a tokenizer"), "{message}");
}

#[test]
fn the_first_variable_given_sets_the_hub_cache() {
    let all = [
        ("HF_HUB_CACHE", "/c", "/c"),
        ("HUGGINGFACE_HUB_CACHE", "/d", "/d"),
        ("HF_HOME", "/h", "/h/hub"),
        ("XDG_CACHE_HOME", "/x", "/x/huggingface/hub"),
        ("HOME", "/u", "/u/.cache/huggingface/hub"),
    ];
    let cache = |vars: &[(&str, &str, &str)]| {
        hub_cache(|name| vars.iter().find(|(other, ..)| *other == name).map(|(_, value, _)| value.into()))
    };
    for (from, (.., wanted)) in all.iter().enumerate() {
        assert_eq!(cache(&all[from..]), Some(PathBuf::from(wanted)));
    }
    assert_eq!(cache(&[]), None);
}

#[test]
fn padding_and_truncation_of_the_file_do_not_touch_counts() {
    let folder = tempfile::tempdir().unwrap();
    let mut json: Value = serde_json::from_slice(&fs::read(golden("tiny-model/tokenizer.json")).unwrap()).unwrap();
    json["truncation"] = json!({"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0});
    json["padding"] = json!({
        "strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": null,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "<s>"
    });
    let file = folder.path().join("tokenizer.json");
    fs::write(&file, json.to_string()).unwrap();
    let limited = Tokenizer::load(file.to_str().unwrap(), &Lookup::default()).unwrap();
    let plain = Tokenizer::load(golden("tiny-model").to_str().unwrap(), &Lookup::default()).unwrap();
    for text in ["a", "one two three four five six seven eight nine ten"] {
        assert_eq!(limited.count(text), plain.count(text));
    }
}

#[test]
fn a_path_at_which_there_is_nothing_is_not_looked_for_elsewhere() {
    let message = refusal("./nowhere", &lookup(&cache(&[])));
    assert!(message.contains("no such file or directory") && !message.contains("hf download"), "{message}");
}

#[test]
fn a_tokenizer_that_finds_no_tokens_in_any_text_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let words = |vocab: Value| {
        let file = json!({
            "version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"},
        });
        fs::write(folder.path().join("tokenizer.json"), file.to_string()).unwrap();
        Tokenizer::load(folder.path().to_str().unwrap(), &Lookup::default()).map(|tokenizer| tokenizer.count("a b"))
    };
    for vocab in [json!({}), json!({" ": 0})] {
        let message = words(vocab).unwrap_err().to_string();
        assert!(message.contains("no tokens in any text") && message.contains("try: "), "{message}");
    }
    assert_eq!(words(json!({"b": 0, "<unk>": 1})).unwrap(), 2);
}

#[test]
fn a_directory_in_place_of_the_file_has_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tokenizer.json")).unwrap();
    let message = refusal(folder.path().to_str().unwrap(), &Lookup::default());
    assert!(message.contains("tokenizer.json: not a file") && message.contains("try: "), "{message}");
}

#[test]
fn a_file_whose_steps_end_in_a_panic_is_refused_when_it_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(golden("tiny-model/tokenizer.json")).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    file["normalizer"] = json!({"type": "Replace", "pattern": {"String": ""}, "content": "aaaaaaaa"});
    fs::write(folder.path().join("tokenizer.json"), file.to_string()).unwrap();
    let message = refusal(folder.path().to_str().unwrap(), &Lookup::default());
    assert!(message.contains("do not work on a short text"), "{message}");
}
