//! The content of a `tokenizer.json`, and whether it is of the kind read here.
//!
//! Vocabulary and merges, the bulk of the file, go straight into one buffer of bytes without a string each.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use unicode_normalization_alignments::is_nfc;

use super::ByteLevel;
use super::added::{AddedToken, AddedTokens};
use super::alphabet::push_bytes;
use super::vocabulary::{Entry, Vocabulary};
use crate::bpe::split::Splitter;
use crate::library;

#[derive(Deserialize)]
struct File<'a> {
    added_tokens: Vec<AddedToken>,
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    #[serde(borrow)]
    post_processor: Option<&'a RawValue>,
    decoder: Option<Value>,
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type")]
    kind: Option<String>,
    dropout: Option<f64>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    ignore_merges: bool,
    vocab: Tokens,
    merges: Merges,
}

/// The tokenizer of a file, if it is byte-level BPE with nothing unusual about it.
pub(super) fn read(json: &[u8]) -> Option<ByteLevel> {
    // Checked once as a whole, not string by string.
    let file: File<'_> = serde_json::from_str(std::str::from_utf8(json).ok()?).ok()?;
    let model = file.model;
    let unused = |text: Option<String>| text.is_none_or(|text| text.is_empty());
    let plain = model.kind.as_deref() == Some("BPE")
        && model.dropout.is_none_or(|dropout| dropout == 0.0)
        && unused(model.continuing_subword_prefix)
        && unused(model.end_of_word_suffix)
        && kind(file.decoder.as_ref()?) == "ByteLevel";
    if !plain {
        return None;
    }
    let composes = match file.normalizer.as_ref().map(kind) {
        None => false,
        Some("NFC") => true,
        Some(_) => return None,
    };
    let splitters = splitters(file.pre_tokenizer.as_ref()?)?;
    let special_tokens_per_prompt = match file.post_processor {
        Some(raw) => library::special_tokens_added_by(raw.get())?,
        None => 0,
    };
    let mut vocabulary = Vocabulary::new(model.vocab.arena, &model.vocab.entries, model.ignore_merges)?;
    if !vocabulary.set_merges(&model.merges.arena, &model.merges.pairs) {
        return None;
    }
    are_simple(&file.added_tokens, &vocabulary).then_some(())?;
    let added = AddedTokens::new(&file.added_tokens)?;
    Some(ByteLevel { added, vocabulary, splitters, composes, special_tokens_per_prompt })
}

fn kind(part: &Value) -> &str {
    part["type"].as_str().unwrap_or_default()
}

/// Whether every added token is just a text with an id, and the id is the one that the text has anyway or a new one.
fn are_simple(tokens: &[AddedToken], vocabulary: &Vocabulary) -> bool {
    let mut next = vocabulary.len() as u32;
    tokens.iter().all(|token| {
        let expected = vocabulary.id_of(&token.content).unwrap_or(next);
        next = next.max(token.id.saturating_add(1));
        token.id == expected
            && !(token.single_word || token.lstrip || token.rstrip || token.content.is_empty())
            && is_nfc(&token.content)
    })
}

/// The splitters of a pre-tokenizer that ends in bytes.
fn splitters(pre_tokenizer: &Value) -> Option<Vec<Splitter>> {
    let single = std::slice::from_ref(pre_tokenizer);
    let steps = pre_tokenizer["pretokenizers"].as_array().map_or(single, Vec::as_slice);
    let (last, before) = steps.split_last()?;
    if kind(last) != "ByteLevel" || last["add_prefix_space"] != false {
        return None;
    }
    let mut splitters: Vec<Splitter> = before.iter().map(splitter).collect::<Option<_>>()?;
    // A file without a pattern is cut by GPT-2's.
    if last["use_regex"] != false {
        splitters.push(Splitter::gpt2());
    }
    Some(splitters)
}

fn splitter(step: &Value) -> Option<Splitter> {
    let isolates = kind(step) == "Split" && step["behavior"] == "Isolated" && step["invert"] == false;
    Splitter::new(step["pattern"]["Regex"].as_str().filter(|_| isolates)?)
}

/// Tokens in one buffer.
struct Tokens {
    arena: Vec<u8>,
    entries: Vec<Entry>,
}

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TokensVisitor)
    }
}

struct TokensVisitor;

impl<'de> Visitor<'de> for TokensVisitor {
    type Value = Tokens;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tokens and their ids")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tokens, A::Error> {
        let mut tokens = Tokens { arena: Vec::new(), entries: Vec::new() };
        while let Some((bytes, is_bytes)) = map.next_key_seed(Append(&mut tokens.arena))? {
            tokens.entries.push(Entry { bytes, id: map.next_value()?, is_bytes });
        }
        Ok(tokens)
    }
}

/// Pairs in one buffer: both parts, and where the left one ends.
struct Merges {
    arena: Vec<u8>,
    pairs: Vec<(Range<usize>, usize)>,
}

impl<'de> Deserialize<'de> for Merges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(MergesVisitor)
    }
}

struct MergesVisitor;

impl<'de> Visitor<'de> for MergesVisitor {
    type Value = Merges;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("pairs of tokens")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Merges, A::Error> {
        let mut merges = Merges { arena: Vec::new(), pairs: Vec::new() };
        while let Some(pair) = seq.next_element_seed(Pair(&mut merges.arena))? {
            merges.pairs.push(pair);
        }
        Ok(merges)
    }
}

/// Appends one string to a buffer.
struct Append<'a>(&'a mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for Append<'_> {
    type Value = (Range<usize>, bool);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Append<'_> {
    type Value = (Range<usize>, bool);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token")
    }

    fn visit_str<E: Error>(self, token: &str) -> Result<Self::Value, E> {
        let begin = self.0.len();
        let is_bytes = push_bytes(token, self.0);
        Ok((begin..self.0.len(), is_bytes))
    }
}

/// Appends one merge, which is `"a b"` or `["a", "b"]`.
struct Pair<'a>(&'a mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for Pair<'_> {
    type Value = (Range<usize>, usize);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Pair<'_> {
    type Value = (Range<usize>, usize);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("two tokens")
    }

    fn visit_str<E: Error>(self, pair: &str) -> Result<Self::Value, E> {
        let (left, right) = pair.split_once(' ').ok_or_else(|| E::custom("one token where two are expected"))?;
        let begin = self.0.len();
        let bytes = push_bytes(left, self.0);
        let middle = self.0.len();
        if !bytes || !push_bytes(right, self.0) {
            return Err(E::custom("a merge that is not of bytes"));
        }
        Ok((begin..self.0.len(), middle))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let left = seq.next_element_seed(Append(self.0))?;
        let right = seq.next_element_seed(Append(self.0))?;
        match (left, right, seq.next_element::<serde::de::IgnoredAny>()?) {
            (Some((left, true)), Some((right, true)), None) => Ok((left.start..right.end, left.end)),
            _ => Err(A::Error::custom("two tokens of bytes are expected")),
        }
    }
}
