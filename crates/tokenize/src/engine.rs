//! What turns text into tokens for a `tokenizer.json`: our own reader for the common kind, the library for the rest; and
//! for a rank file where there is no such file.

use crate::byte_level::ByteLevel;
use crate::library::Library;
use crate::rank_file::RankFile;

/// Text to tokens and back.
pub(crate) enum Engine {
    ByteLevel(Box<ByteLevel>),
    Library(Library),
    Ranks(Box<RankFile>),
}

impl Engine {
    /// From the bytes of a `tokenizer.json`.
    pub(crate) fn from_json(json: &[u8]) -> Result<Self, String> {
        if let Some(byte_level) = ByteLevel::from_json(json) {
            return Ok(Self::ByteLevel(Box::new(byte_level)));
        }
        Library::from_json(json).map(Self::Library)
    }

    /// Whether the library panicked on a text or on tokens, other than where counting can be given up.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, Self::Library(library) if library.is_broken())
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        match self {
            Self::ByteLevel(ours) => ours.count(text),
            Self::Library(library) => library.count(text),
            Self::Ranks(ranks) => ranks.count(text),
        }
    }

    /// How many tokens a text has that a chat template wrote: the strings of special tokens in it are those.
    pub(crate) fn count_rendered(&self, text: &str) -> usize {
        match self {
            Self::Ranks(ranks) => ranks.count_with_specials(text),
            _ => self.count(text),
        }
    }

    /// Whether no token has a blank after anything that is none, as far as that is certain.
    pub(crate) fn cuts_before_blanks(&self) -> bool {
        match self {
            Self::ByteLevel(ours) => ours.cuts_before_blanks(),
            Self::Library(_) => false,
            Self::Ranks(ranks) => ranks.cuts_before_blanks(),
        }
    }

    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        match self {
            Self::ByteLevel(ours) => ours.encode(text),
            Self::Library(library) => library.encode(text),
            Self::Ranks(ranks) => ranks.encode(text),
        }
    }

    pub(crate) fn decode(&self, ids: &[u32]) -> String {
        match self {
            Self::ByteLevel(ours) => ours.decode(ids),
            Self::Library(library) => library.decode(ids),
            Self::Ranks(ranks) => ranks.decode(ids),
        }
    }

    /// The id of a token as the file writes it.
    pub(crate) fn id_of(&self, token: &str) -> Option<u32> {
        match self {
            Self::ByteLevel(ours) => ours.id_of(token),
            Self::Library(library) => library.id_of(token),
            Self::Ranks(ranks) => ranks.id_of(token),
        }
    }

    pub(crate) fn has(&self, id: u32) -> bool {
        match self {
            Self::ByteLevel(ours) => ours.has(id),
            Self::Library(library) => library.has(id),
            Self::Ranks(ranks) => ranks.has(id),
        }
    }

    /// Ids of added tokens that are marked as special.
    pub(crate) fn special_ids(&self) -> Vec<u32> {
        match self {
            Self::ByteLevel(ours) => ours.special_ids().collect(),
            Self::Library(library) => library.special_ids(),
            Self::Ranks(ranks) => ranks.special_ids().collect(),
        }
    }

    /// How many ids the vocabulary has, tokens added later not counted.
    pub(crate) fn vocabulary_size(&self) -> usize {
        match self {
            Self::ByteLevel(ours) => ours.vocabulary_size(),
            Self::Library(library) => library.vocabulary_size(),
            Self::Ranks(ranks) => ranks.vocabulary_size(),
        }
    }

    /// How many tokens are added to one prompt.
    pub(crate) fn special_tokens_per_prompt(&self) -> usize {
        match self {
            Self::ByteLevel(ours) => ours.special_tokens_per_prompt(),
            Self::Library(library) => library.special_tokens_per_prompt(),
            Self::Ranks(ranks) => ranks.special_tokens_per_prompt(),
        }
    }
}
