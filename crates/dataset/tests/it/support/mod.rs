//! Tokenizers of every kind.
#![allow(dead_code, reason = "each test uses some of it")]

use aiperf_tokenize::{Lookup, Tokenizer};

pub(crate) fn local(directory: &str) -> Tokenizer {
    let path = aiperf_golden::own_path(directory);
    Tokenizer::load(path.to_str().unwrap(), &Lookup::default()).unwrap()
}

/// A tokenizer from the parts of a `tokenizer.json` that matter.
fn made_of(model: &str, rest: &str) -> Tokenizer {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokenizer.json");
    let json = format!(
        r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"post_processor":null,{rest},"model":{model}}}"#
    );
    std::fs::write(&file, json).unwrap();
    Tokenizer::load(file.to_str().unwrap(), &Lookup::default()).unwrap()
}

fn vocabulary<'a>(tokens: impl IntoIterator<Item = &'a str>) -> String {
    let entries: Vec<String> = tokens.into_iter().enumerate().map(|(id, token)| format!("{token:?}:{id}")).collect();
    format!("{{{}}}", entries.join(","))
}

const LETTERS: [&str; 26] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w",
    "x", "y", "z",
];

/// Lower case, words split into letters, everything else unknown, like BERT's.
pub(crate) fn wordpiece() -> Tokenizer {
    let continued: Vec<String> = LETTERS.iter().map(|letter| format!("##{letter}")).collect();
    let tokens =
        ["[UNK]", ".", ",", "the", "so", "now"].into_iter().chain(LETTERS).chain(continued.iter().map(String::as_str));
    made_of(
        &format!(
            r###"{{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{}}}"###,
            vocabulary(tokens)
        ),
        r###""normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
        "pre_tokenizer":{"type":"BertPreTokenizer"},"decoder":{"type":"WordPiece","prefix":"##","cleanup":true}"###,
    )
}

/// Pieces by probability, with a space before the text, like T5's.
pub(crate) fn unigram() -> Tokenizer {
    let words = ["▁the", "▁so", "▁now", "▁", ".", ","].into_iter().chain(LETTERS);
    let entries: Vec<String> = words.enumerate().map(|(id, token)| format!("[{token:?},-{}.5]", 2 + id % 7)).collect();
    made_of(
        &format!(r#"{{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],{}]}}"#, entries.join(",")),
        r#""normalizer":null,
        "pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
        "decoder":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}"#,
    )
}

/// Knows four letters and drops the rest.
pub(crate) fn genome() -> Tokenizer {
    made_of(
        &format!(
            r#"{{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"vocab":{},"merges":["A C","G T"]}}"#,
            vocabulary(["A", "C", "G", "T", "AC", "GT"])
        ),
        r#""normalizer":null,"pre_tokenizer":null,"decoder":{"type":"Fuse"}"#,
    )
}

/// Cannot make an odd number of tokens: every word has two.
pub(crate) fn pairs_only() -> Tokenizer {
    made_of(
        &format!(r#"{{"type":"WordLevel","unk_token":"?","vocab":{}}}"#, vocabulary(["?", "x", "y"])),
        r#""normalizer":{"type":"Replace","pattern":{"Regex":"[^ ]"},"content":"x y "},
        "pre_tokenizer":{"type":"WhitespaceSplit"},"decoder":null"#,
    )
}
