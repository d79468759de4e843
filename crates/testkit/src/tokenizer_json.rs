//! Tokenizers in Hugging Face's format: one that fails, and a full-sized vocabulary made from a builtin one.

use std::collections::HashMap;

use serde_json::{Value, json};

/// A `tokenizer.json` that the library loads and cannot use on every text. It knows the word `a`. On other words it
/// fails, because the unknown token is missing; on a text with a `Z` it panics.
pub const FRAGILE: &str = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": {"type": "Replace", "pattern": {"Regex": "(?=Z)"}, "content": "xy"},
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
    "post_processor": null, "decoder": null,
    "model": {"type": "WordLevel", "vocab": {"a": 0, "Ġa": 1}, "unk_token": "missing"}}"#;

/// The split pattern of Llama 3.
const LLAMA_3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The visible character that byte-level tokenizers write for a byte.
fn byte_char(byte: u8) -> char {
    let visible = |b: u8| matches!(b, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    match byte {
        b if visible(b) => b as char,
        b => {
            let before = (0..b).filter(|other| !visible(*other)).count() as u32;
            char::from_u32(256 + before).unwrap_or('?')
        }
    }
}

fn written(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| byte_char(*byte)).collect()
}

/// The two tokens that a token is merged from: the rest of its bytes if only lower ranks may merge.
fn parents<'a>(token: &'a [u8], rank: u32, ranks: &HashMap<&[u8], u32>) -> (&'a [u8], &'a [u8]) {
    let mut ends: Vec<usize> = (0..=token.len()).collect();
    while ends.len() > 3 {
        let lowest = (0..ends.len() - 2)
            .filter_map(|i| Some((*ranks.get(&token[ends[i]..ends[i + 2]])?, i)))
            .filter(|(found, _)| *found < rank)
            .min();
        match lowest {
            Some((_, i)) => ends.remove(i + 1),
            None => panic!("a token that cannot be merged"),
        };
    }
    (&token[..ends[1]], &token[ends[1]..])
}

/// `tokenizer.json` with some tokens of a builtin encoding.
pub fn tokenizer_json(tokens: &[Vec<u8>]) -> Value {
    let tokens: Vec<&[u8]> = tokens.iter().map(Vec::as_slice).collect();
    let ranks: HashMap<&[u8], u32> = tokens.iter().zip(0..).map(|(token, rank)| (*token, rank)).collect();
    let vocabulary: serde_json::Map<String, Value> =
        tokens.iter().zip(0..).map(|(token, id)| (written(token), json!(id))).collect();
    let merges: Vec<Value> = tokens
        .iter()
        .zip(0..)
        .filter(|(token, _)| token.len() > 1)
        .map(|(token, rank)| {
            let (left, right) = parents(token, rank, &ranks);
            json!([written(left), written(right)])
        })
        .collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": LLAMA_3}, "behavior": "Isolated", "invert": false},
                {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}
            ]
        },
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocabulary, "merges": merges
        }
    })
}
