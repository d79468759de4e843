//! Byte-pair vocabularies inside the binary, by their tiktoken names.
//!
//! Text and ids are as tiktoken gives them with every special token allowed: the string of a special token inside a
//! text is one id, although a server may well take it as plain text.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use crate::bpe::{self, Builtin};

/// Name of [`DEFAULT`].
pub const BUILTIN: &str = "builtin";

/// A special token: its string and its id.
type Special = (&'static str, u32);

const O200K_SPECIALS: &[Special] = &[("<|endoftext|>", 199_999), ("<|endofprompt|>", 200_018)];

const CL100K_SPECIALS: &[Special] = &[
    ("<|endoftext|>", 100_257),
    ("<|fim_prefix|>", 100_258),
    ("<|fim_middle|>", 100_259),
    ("<|fim_suffix|>", 100_260),
    ("<|endofprompt|>", 100_276),
];

const HARMONY_SPECIALS: &[Special] = &[
    ("<|startoftext|>", 199_998),
    ("<|endoftext|>", 199_999),
    ("<|return|>", 200_002),
    ("<|constrain|>", 200_003),
    ("<|channel|>", 200_005),
    ("<|start|>", 200_006),
    ("<|end|>", 200_007),
    ("<|message|>", 200_008),
    ("<|call|>", 200_012),
    ("<|endofprompt|>", 200_018),
];

const R50K_SPECIALS: &[Special] = &[("<|endoftext|>", 50_256)];

const P50K_EDIT_SPECIALS: &[Special] =
    &[("<|endoftext|>", 50_256), ("<|fim_prefix|>", 50_281), ("<|fim_middle|>", 50_282), ("<|fim_suffix|>", 50_283)];

/// One vocabulary with its special tokens.
pub struct Encoding {
    pub name: &'static str,
    bpe: &'static Builtin,
    specials: &'static [Special],
    /// Ids with a special token `<|reserved_ID|>`.
    reserved: Range<u32>,
    end_of_text: u32,
}

impl Encoding {
    const fn new(name: &'static str, bpe: &'static Builtin, specials: &'static [Special], end_of_text: u32) -> Self {
        Self { name, bpe, specials, reserved: 0..0, end_of_text }
    }
}

/// Every vocabulary that tiktoken has a name for.
pub static ENCODINGS: [Encoding; 6] = [
    Encoding::new("o200k_base", &bpe::O200K, O200K_SPECIALS, 199_999),
    Encoding { reserved: 200_000..201_088, ..Encoding::new("o200k_harmony", &bpe::O200K, HARMONY_SPECIALS, 199_999) },
    Encoding::new("cl100k_base", &bpe::CL100K, CL100K_SPECIALS, 100_257),
    Encoding::new("p50k_base", &bpe::P50K, R50K_SPECIALS, 50_256),
    Encoding::new("p50k_edit", &bpe::P50K, P50K_EDIT_SPECIALS, 50_256),
    Encoding::new("r50k_base", &bpe::R50K, R50K_SPECIALS, 50_256),
];

/// What `builtin` means.
pub static DEFAULT: &Encoding = &ENCODINGS[0];

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Encoding").field(&self.name).finish()
    }
}

/// A stretch of text between special tokens, or one of those.
enum Segment<'a> {
    Text(&'a str),
    Special(u32),
}

impl Encoding {
    /// The encoding of a name, `builtin` included.
    pub fn named(name: &str) -> Option<&'static Encoding> {
        match name {
            BUILTIN => Some(DEFAULT),
            _ => ENCODINGS.iter().find(|encoding| encoding.name == name),
        }
    }

    /// Builds the token finder if there is none yet: some milliseconds.
    pub(crate) fn make_ready(&self) {
        std::sync::LazyLock::force(self.bpe);
    }

    /// How many tokens a text has.
    pub fn count(&self, text: &str) -> usize {
        let mut total = 0;
        self.for_each_segment(text, |segment| {
            total += match segment {
                Segment::Text(text) => self.bpe.count(text),
                Segment::Special(_) => 1,
            };
        });
        total
    }

    /// The tokens of a text.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::with_capacity(text.len() / 4 + 1);
        self.for_each_segment(text, |segment| match segment {
            Segment::Text(text) => self.bpe.encode_into(text, &mut ids),
            Segment::Special(id) => ids.push(id),
        });
        ids
    }

    /// The text of tokens; bytes that are no UTF-8, and ids that are no token, become U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> String {
        let mut bytes = Vec::with_capacity(ids.len() * 5);
        for &id in ids {
            if self.is_ordinary(id) {
                bytes.extend_from_slice(self.bpe.token(id));
            } else if let Some((text, _)) = self.specials.iter().find(|(_, special)| *special == id) {
                bytes.extend_from_slice(text.as_bytes());
            } else if self.reserved.contains(&id) {
                bytes.extend_from_slice(format!("<|reserved_{id}|>").as_bytes());
            } else {
                bytes.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
        String::from_utf8(bytes).unwrap_or_else(|invalid| String::from_utf8_lossy(invalid.as_bytes()).into_owned())
    }

    /// Ids that carry ordinary text, ascending.
    pub fn ordinary_ids(&self) -> impl Iterator<Item = u32> {
        (0..self.bpe.len() as u32).filter(|id| self.is_ordinary(*id))
    }

    /// The bytes of an ordinary token.
    #[cfg(test)]
    pub(crate) fn token(&self, id: u32) -> &[u8] {
        self.bpe.token(id)
    }

    fn is_ordinary(&self, id: u32) -> bool {
        (id as usize) < self.bpe.len() && !self.bpe.token(id).is_empty()
    }

    /// Ids of special tokens, in no order.
    pub fn special_ids(&self) -> impl Iterator<Item = u32> {
        let named = self.specials.iter().map(|(_, id)| *id);
        named.chain(self.reserved.clone().filter(|id| self.specials.iter().all(|(_, named)| named != id)))
    }

    /// Every id, special ones included, ascending.
    pub fn all_ids(&self) -> Vec<u32> {
        let all: BTreeSet<u32> = self.ordinary_ids().chain(self.special_ids()).collect();
        all.into_iter().collect()
    }

    /// Id that ends a text.
    pub fn end_of_text(&self) -> u32 {
        self.end_of_text
    }

    fn for_each_segment(&self, text: &str, mut visit: impl FnMut(Segment<'_>)) {
        let mut rest = text;
        let mut search_from = 0;
        while let Some(found) = rest[search_from..].find("<|") {
            let at = search_from + found;
            match self.special_at(&rest[at..]) {
                Some((length, id)) => {
                    if at > 0 {
                        visit(Segment::Text(&rest[..at]));
                    }
                    visit(Segment::Special(id));
                    rest = &rest[at + length..];
                    search_from = 0;
                }
                None => search_from = at + 2,
            }
        }
        if !rest.is_empty() {
            visit(Segment::Text(rest));
        }
    }

    /// The special token a text begins with: its length and id.
    fn special_at(&self, text: &str) -> Option<(usize, u32)> {
        if let Some((special, id)) = self.specials.iter().find(|(special, _)| text.starts_with(special)) {
            return Some((special.len(), *id));
        }
        if self.reserved.is_empty() {
            return None;
        }
        let digits = text.strip_prefix("<|reserved_")?.get(..6)?;
        let closed = text.get("<|reserved_".len() + 6..)?.starts_with("|>");
        let id = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())??;
        (closed && self.reserved.contains(&id)).then_some(("<|reserved_".len() + 6 + 2, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_special_token_in_a_text_is_one_id_and_decodes_to_itself() {
        for encoding in &ENCODINGS {
            for (text, id) in encoding.specials {
                let around = format!("a {text} b");
                let ids = encoding.encode(&around);
                assert!(ids.contains(id), "{}: {text}", encoding.name);
                assert_eq!(encoding.decode(&ids), around);
                assert_eq!(encoding.count(&around), ids.len());
                assert_eq!(encoding.count(text), 1);
            }
        }
    }

    /// The table of the specification: ids below, ordinary ones, special ones, the one that ends a text.
    #[test]
    fn every_encoding_has_the_ids_that_tiktoken_gives_it() {
        let of = |encoding: &Encoding| {
            let specials: Vec<u32> = encoding.special_ids().collect();
            let ordinary: Vec<u32> = encoding.ordinary_ids().collect();
            let below = specials.iter().chain(&ordinary).max().unwrap() + 1;
            (encoding.name, below, ordinary.len(), specials.len(), encoding.end_of_text())
        };
        assert_eq!(
            ENCODINGS.each_ref().map(of),
            [
                ("o200k_base", 200_019, 199_998, 2, 199_999),
                ("o200k_harmony", 201_088, 199_998, 1_090, 199_999),
                ("cl100k_base", 100_277, 100_256, 5, 100_257),
                ("p50k_base", 50_281, 50_280, 1, 50_256),
                ("p50k_edit", 50_284, 50_280, 4, 50_256),
                ("r50k_base", 50_257, 50_256, 1, 50_256),
            ]
        );
    }

    #[test]
    fn a_reserved_token_of_harmony_is_one_id() {
        let harmony = Encoding::named("o200k_harmony").unwrap();
        assert_eq!(harmony.encode("<|reserved_200013|>"), [200_013]);
        assert_eq!(harmony.encode("<|reserved_200018|>"), [200_018]);
        assert_eq!(harmony.decode(&[201_087]), "<|reserved_201087|>");
        assert!(harmony.count("<|reserved_201088|>") > 1);
        assert!(harmony.count("<|reserved_é0000|>") > 1);
        assert!(DEFAULT.count("<|reserved_200013|>") > 1);
    }

    #[test]
    fn an_opening_bracket_without_a_special_token_is_text() {
        for text in ["<|", "<|<|endoftext|", "<||endoftext|>", "a<|b|>c"] {
            assert_eq!(DEFAULT.decode(&DEFAULT.encode(text)), text);
            assert_eq!(DEFAULT.count(text), DEFAULT.encode(text).len());
        }
    }

    #[test]
    fn ids_that_are_no_token_decode_to_the_replacement_character() {
        assert_eq!(DEFAULT.decode(&[u32::MAX, 64]), "\u{fffd}a");
    }
}
