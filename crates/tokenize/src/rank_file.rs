//! Vocabularies in tiktoken's format, as some models have them in place of a `tokenizer.json`.
//!
//! Their repositories contain code to read them. aiperf never runs that code: all it holds is a pattern and a few special
//! tokens, which are listed here for each kind.

use std::path::{Path, PathBuf};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::bpe::split::{self, Splitter};
use crate::bpe::{Bpe, layout};

/// A kind of tokenizer whose vocabulary is a rank file.
#[derive(Debug)]
pub(crate) struct RankFileFormat {
    /// The class in the configuration.
    class: &'static str,
    file: &'static str,
    splitter: &'static Splitter,
    /// What its special tokens are called, by their place after the ranks and their id, where the configuration has
    /// none.
    special: fn(u32, u32) -> Option<String>,
    /// Whether the string of a special token in a text is taken for one.
    finds_specials: bool,
    /// Tokens that are added to one prompt.
    added: usize,
}

const KINDS: &[RankFileFormat] = &[
    // Kimi, by Moonshot.
    RankFileFormat {
        class: "TikTokenTokenizer",
        file: "tiktoken.model",
        splitter: &split::KIMI,
        special: |place, id| (place < 256).then(|| format!("<|reserved_token_{id}|>")),
        finds_specials: false,
        added: 0,
    },
    // The first Qwen.
    RankFileFormat {
        class: "QWenTokenizer",
        file: "qwen.tiktoken",
        splitter: &split::QWEN,
        special: |place, _| match place {
            0 => Some("<|endoftext|>".to_owned()),
            1 => Some("<|im_start|>".to_owned()),
            2 => Some("<|im_end|>".to_owned()),
            _ => (place < 208).then(|| format!("<|extra_{}|>", place - 3)),
        },
        finds_specials: true,
        added: 0,
    },
    // GLM-4: a prompt begins with [gMASK]<sop>.
    RankFileFormat {
        class: "ChatGLM4Tokenizer",
        file: "tokenizer.model",
        splitter: &split::CL100K,
        special: |_, _| None,
        finds_specials: true,
        added: 2,
    },
];

impl RankFileFormat {
    /// The kind that a configuration names, and its file in a folder.
    pub(crate) fn of(directory: &Path, config: &Value) -> Option<(&'static Self, PathBuf)> {
        let class = config.get("tokenizer_class")?.as_str()?;
        let kind = KINDS.iter().find(|kind| kind.class == class)?;
        Some((kind, directory.join(kind.file))).filter(|(_, file)| file.is_file())
    }
}

/// A vocabulary read from a rank file.
pub(crate) struct RankFile {
    kind: &'static RankFileFormat,
    bpe: Bpe,
    /// Ascending by id.
    specials: Vec<(String, u32)>,
    finder: AhoCorasick,
}

impl RankFile {
    /// From the text of a rank file, and the configuration beside it.
    pub(crate) fn new(kind: &'static RankFileFormat, ranks: &[u8], config: &Value) -> Result<Self, String> {
        let bpe = Bpe::new(&read_ranks(ranks)?, kind.splitter)?;
        let mut specials = named_tokens(config);
        let first = bpe.len() as u32;
        let unnamed = (0..).map_while(|place| Some(((kind.special)(place, first + place)?, first + place)));
        let unnamed: Vec<_> = unnamed.filter(|(_, id)| specials.iter().all(|(_, named)| named != id)).collect();
        specials.extend(unnamed);
        specials.sort_by_key(|(_, id)| *id);
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(specials.iter().map(|(text, _)| text.as_str()))
            .map_err(|error| error.to_string())?;
        Ok(Self { kind, bpe, specials, finder })
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        if self.kind.finds_specials { self.count_with_specials(text) } else { self.bpe.count(text) }
    }

    /// How many tokens a text has in which the strings of special tokens are those: a chat template writes them so.
    pub(crate) fn count_with_specials(&self, text: &str) -> usize {
        let mut total = 0;
        self.for_each_segment(text, |segment| {
            total += match segment {
                Segment::Text(text) => self.bpe.count(text),
                Segment::Special(_) => 1,
            };
        });
        total
    }

    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::with_capacity(text.len() / 4 + 1);
        if self.kind.finds_specials {
            self.for_each_segment(text, |segment| match segment {
                Segment::Text(text) => self.bpe.encode_into(text, &mut ids),
                Segment::Special(id) => ids.push(id),
            });
        } else {
            self.bpe.encode_into(text, &mut ids);
        }
        ids
    }

    /// Bytes that are no UTF-8, and ids that are no token, become U+FFFD.
    pub(crate) fn decode(&self, ids: &[u32]) -> String {
        let mut bytes = Vec::with_capacity(ids.len() * 5);
        for &id in ids {
            match self.token(id) {
                Some(token) => bytes.extend_from_slice(token),
                None => bytes.extend_from_slice("\u{fffd}".as_bytes()),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(crate) fn cuts_before_blanks(&self) -> bool {
        self.kind.splitter.cuts_before_blanks() && self.specials.iter().all(|(text, _)| !text.contains(' '))
    }

    pub(crate) fn id_of(&self, token: &str) -> Option<u32> {
        let special = self.specials.iter().find(|(text, _)| text == token).map(|(_, id)| *id);
        special.or_else(|| self.bpe.find(token.as_bytes()))
    }

    pub(crate) fn has(&self, id: u32) -> bool {
        self.token(id).is_some()
    }

    pub(crate) fn special_ids(&self) -> impl Iterator<Item = u32> {
        self.specials.iter().map(|(_, id)| *id)
    }

    pub(crate) fn vocabulary_size(&self) -> usize {
        self.specials.last().map_or(0, |(_, id)| *id as usize + 1).max(self.bpe.len())
    }

    pub(crate) fn special_tokens_per_prompt(&self) -> usize {
        self.kind.added
    }

    fn token(&self, id: u32) -> Option<&[u8]> {
        if let Ok(at) = self.specials.binary_search_by_key(&id, |(_, special)| *special) {
            return Some(self.specials[at].0.as_bytes());
        }
        let is_below = (id as usize) < self.bpe.len();
        is_below.then(|| self.bpe.token(id)).filter(|token| !token.is_empty())
    }

    fn for_each_segment(&self, text: &str, mut visit: impl FnMut(Segment<'_>)) {
        let mut at = 0;
        for found in self.finder.find_iter(text) {
            if found.start() > at {
                visit(Segment::Text(&text[at..found.start()]));
            }
            visit(Segment::Special(self.specials[found.pattern()].1));
            at = found.end();
        }
        if at < text.len() {
            visit(Segment::Text(&text[at..]));
        }
    }
}

/// A stretch of text between special tokens, or one of those.
enum Segment<'a> {
    Text(&'a str),
    Special(u32),
}

/// Special tokens that a configuration gives an id: `{"added_tokens_decoder": {"163584": {"content": "[BOS]"}}}`.
fn named_tokens(config: &Value) -> Vec<(String, u32)> {
    let named = config.get("added_tokens_decoder").and_then(Value::as_object).into_iter().flatten();
    let named = named.filter_map(|(id, token)| Some((token.get("content")?.as_str()?.to_owned(), id.parse().ok()?)));
    let is_possible = |(text, id): &(String, u32)| !text.is_empty() && (*id as usize) < layout::MOST_TOKENS;
    named.filter(is_possible).collect()
}

/// The tokens of a rank file by rank: one line a token, its bytes in base64 and its rank.
fn read_ranks(file: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut tokens: Vec<Vec<u8>> = Vec::new();
    for (number, line) in file.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let token = read_rank(line.trim_ascii_end());
        let (bytes, rank) = token.ok_or_else(|| format!("line {}: not a token in base64 and its rank", number + 1))?;
        if rank >= layout::MOST_TOKENS {
            return Err(format!("line {}: rank {rank} is beyond any vocabulary", number + 1));
        }
        if rank >= tokens.len() {
            tokens.resize(rank + 1, Vec::new());
        }
        tokens[rank] = bytes;
    }
    if tokens.is_empty() { Err("it is empty".to_owned()) } else { Ok(tokens) }
}

fn read_rank(line: &[u8]) -> Option<(Vec<u8>, usize)> {
    let at = line.iter().position(|byte| *byte == b' ')?;
    let rank = std::str::from_utf8(&line[at + 1..]).ok()?.parse().ok()?;
    Some((STANDARD.decode(&line[..at]).ok()?, rank))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::Encoding;
    use proptest::prelude::*;
    use serde_json::json;

    fn kind(class: &str) -> &'static RankFileFormat {
        KINDS.iter().find(|kind| kind.class == class).unwrap()
    }

    /// The ranks of a builtin vocabulary, as a file has them.
    fn ranks(name: &str) -> Vec<u8> {
        let encoding = Encoding::named(name).unwrap();
        let line = |id: u32| format!("{} {id}\n", STANDARD.encode(encoding.token(id)));
        encoding.ordinary_ids().map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn the_vocabulary_of_a_file_is_the_builtin_one() {
        let config = json!({"added_tokens_decoder": {"100300": {"content": "<|user|>"}}});
        let loaded = RankFile::new(kind("ChatGLM4Tokenizer"), &ranks("cl100k_base"), &config).unwrap();
        let builtin = Encoding::named("cl100k_base").unwrap();
        for text in ["Hello, world!  It's 12345 o'clock.\n\n x", "日本語と English 混合 🦀", ""] {
            assert_eq!(loaded.encode(text), builtin.encode(text), "{text}");
            assert_eq!(loaded.count(text), builtin.count(text), "{text}");
            assert_eq!(loaded.decode(&builtin.encode(text)), text);
        }
        assert_eq!(loaded.encode("a<|user|>b").len(), 3);
        assert_eq!(loaded.id_of("<|user|>"), Some(100_300));
        assert_eq!((loaded.vocabulary_size(), loaded.special_tokens_per_prompt()), (100_301, 2));
    }

    #[test]
    fn kimi_cuts_out_han_and_takes_the_strings_of_special_tokens_for_text() {
        let config = json!({"added_tokens_decoder": {"199999": {"content": "[EOS]"}}});
        let kimi = RankFile::new(kind("TikTokenTokenizer"), &ranks("o200k_base"), &config).unwrap();
        let pieces: Vec<&str> = split::KIMI.pieces("中文English混合 it's 1234").collect();
        assert_eq!(pieces, ["中文", "English", "混合", " it's", " ", "123", "4"]);
        assert!(kimi.count("[EOS]") > 1);
        assert_eq!(kimi.count_with_specials("a[EOS]b"), 3);
        assert_eq!((kimi.id_of("[EOS]"), kimi.id_of("<|reserved_token_200000|>")), (Some(199_999), Some(200_000)));
        assert_eq!(kimi.special_ids().count(), 256);
        assert_eq!(kimi.decode(&[199_999, 4_000_000]), "[EOS]\u{fffd}");
        assert_eq!(kimi.vocabulary_size(), 199_998 + 256);
    }

    #[test]
    fn kimi_gives_the_ids_that_tiktoken_gives_by_its_pattern() {
        let kimi = RankFile::new(kind("TikTokenTokenizer"), &ranks("o200k_base"), &Value::Null).unwrap();
        let golden: Value = serde_json::from_str(include_str!("../../golden/data/encodings/kimi.json")).unwrap();
        for case in golden["cases"].as_array().unwrap() {
            let ids: Vec<u32> = serde_json::from_value(case["ids"].clone()).unwrap();
            let text = case["text"].as_str().unwrap();
            assert_eq!(kimi.encode(text), ids, "{text}");
            assert_eq!(kimi.decode(&ids), text);
        }
    }

    #[test]
    fn a_line_that_is_no_rank_is_named() {
        let reason = |file: &str| RankFile::new(kind("QWenTokenizer"), file.as_bytes(), &Value::Null).err().unwrap();
        assert_eq!(reason("IQ== 0\nIg==\n"), "line 2: not a token in base64 and its rank");
        assert_eq!(reason("IQ== 99999999"), "line 1: rank 99999999 is beyond any vocabulary");
        assert_eq!(reason("IQ== 0\n"), "byte 0x00 is no token");
        assert_eq!(reason(""), "it is empty");
    }

    proptest! {
        #[test]
        fn no_file_is_too_strange(file in proptest::collection::vec(any::<u8>(), 0..200), lines in "([A-Za-z0-9+/=]{0,8} [0-9]{0,7}\n){0,9}") {
            let _ = read_ranks(&file);
            let _ = read_ranks(lines.as_bytes());
        }
    }
}
