//! Tokens that are found in the text before anything else, special ones among them.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};
use serde::Deserialize;

use super::alphabet::push_bytes;

/// An added token as the file gives it.
#[derive(Deserialize)]
pub(super) struct AddedToken {
    pub(super) id: u32,
    pub(super) content: String,
    #[serde(default)]
    pub(super) single_word: bool,
    #[serde(default)]
    pub(super) lstrip: bool,
    #[serde(default)]
    pub(super) rstrip: bool,
    #[serde(default)]
    pub(super) normalized: bool,
    #[serde(default)]
    pub(super) special: bool,
}

/// A stretch of text without added tokens, or one of those.
pub(super) enum Segment<'a> {
    Text(&'a str),
    Token(u32),
}

pub(super) struct AddedTokens {
    /// Those looked for in the text as it is.
    pub(super) exact: Finder,
    /// Those looked for in the text after its characters have been composed.
    pub(super) composed: Finder,
    ids: HashMap<String, u32>,
    bytes: HashMap<u32, Vec<u8>>,
    special: Vec<u32>,
}

impl AddedTokens {
    pub(super) fn new(tokens: &[AddedToken]) -> Option<Self> {
        let finder = |normalized| {
            Finder::new(
                tokens.iter().filter(|token| token.normalized == normalized).map(|token| (&*token.content, token.id)),
            )
        };
        let bytes_of = |token: &AddedToken| {
            let mut bytes = Vec::new();
            push_bytes(&token.content, &mut bytes);
            (token.id, bytes)
        };
        Some(Self {
            exact: finder(false)?,
            composed: finder(true)?,
            ids: tokens.iter().map(|token| (token.content.clone(), token.id)).collect(),
            bytes: tokens.iter().map(bytes_of).collect(),
            special: tokens.iter().filter(|token| token.special).map(|token| token.id).collect(),
        })
    }

    pub(super) fn id_of(&self, content: &str) -> Option<u32> {
        self.ids.get(content).copied()
    }

    pub(super) fn bytes(&self, id: u32) -> Option<&[u8]> {
        self.bytes.get(&id).map(Vec::as_slice)
    }

    /// Whether one has a blank after anything that is none: it may lie across the beginning of a text.
    pub(super) fn have_inner_blanks(&self) -> bool {
        self.ids.keys().any(|content| content.trim_start_matches(' ').contains(' '))
    }

    pub(super) fn special_ids(&self) -> impl Iterator<Item = u32> {
        self.special.iter().copied()
    }
}

/// Finds tokens in a text, the leftmost first and of those the longest.
pub(super) struct Finder {
    automaton: Option<AhoCorasick>,
    ids: Vec<u32>,
    /// Which bytes a token begins with: few, so that most texts need no more than a look at these.
    begins: [bool; 256],
}

impl Finder {
    fn new<'a>(tokens: impl Iterator<Item = (&'a str, u32)>) -> Option<Self> {
        let (contents, ids): (Vec<&str>, Vec<u32>) = tokens.unzip();
        let mut begins = [false; 256];
        for content in &contents {
            begins[usize::from(*content.as_bytes().first()?)] = true;
        }
        let automaton = match contents.is_empty() {
            true => None,
            false => Some(AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&contents).ok()?),
        };
        Some(Self { automaton, ids, begins })
    }

    pub(super) fn split<'a>(&self, text: &'a str, mut visit: impl FnMut(Segment<'a>)) {
        let mut rest = 0;
        if let Some(automaton) = &self.automaton
            && text.bytes().any(|byte| self.begins[usize::from(byte)])
        {
            for found in automaton.find_iter(text) {
                if found.start() > rest {
                    visit(Segment::Text(&text[rest..found.start()]));
                }
                visit(Segment::Token(self.ids[found.pattern().as_usize()]));
                rest = found.end();
            }
        }
        if rest < text.len() {
            visit(Segment::Text(&text[rest..]));
        }
    }
}
