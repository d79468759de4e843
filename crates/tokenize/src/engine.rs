//! What turns text into tokens for a `tokenizer.json`: our own reader for the common kind, the library for the rest; and
//! for a rank file where there is no such file.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use aiperf_types::guard::guarded;
use tokenizers::{Encoding, PostProcessor};

use crate::byte_level::ByteLevel;
use crate::expansion::{self, Expansion};
use crate::interrupt::{self, GivenUp};
use crate::rank_file::RankFile;

/// Text to tokens and back.
pub(crate) enum Engine {
    ByteLevel(Box<ByteLevel>),
    Library(Library),
    Ranks(Box<RankFile>),
}

/// The library cannot do all that a file may ask for: on some texts it fails, on others it panics.
pub(crate) struct Library {
    tokenizer: Box<tokenizers::Tokenizer>,
    expansion: Expansion,
    /// It panicked where counting cannot be given up.
    is_broken: AtomicBool,
}

impl Library {
    /// The tokens of a text; `None` where the library fails or panics.
    fn encode(&self, text: &str) -> Option<Encoding> {
        let encoded = self.guarded(|| self.tokenizer.encode_fast(text, false)).and_then(Result::ok);
        if encoded.is_none() {
            interrupt::give_up(GivenUp::Uncountable);
        }
        encoded
    }

    fn count(&self, text: &str) -> usize {
        if interrupt::is_too_long(text, self.expansion) {
            return 0;
        }
        self.encode(text).map_or(0, |encoding| encoding.len())
    }

    fn decode(&self, ids: &[u32]) -> String {
        self.guarded(|| self.tokenizer.decode(ids, false)).and_then(Result::ok).unwrap_or_default()
    }

    fn guarded<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        let made = guarded(run);
        if made.is_none() && !interrupt::can_give_up() {
            self.is_broken.store(true, Relaxed);
        }
        made
    }
}

impl Engine {
    /// From the bytes of a `tokenizer.json`.
    pub(crate) fn from_json(json: &[u8]) -> Result<Self, String> {
        if let Some(byte_level) = ByteLevel::from_json(json) {
            return Ok(Self::ByteLevel(Box::new(byte_level)));
        }
        let expansion = expansion::check(json)?;
        // Texts are encoded one at a time, and the process has threads of its own: the library must not start a pool.
        tokenizers::utils::parallelism::set_parallelism(false);
        // Some of what is wrong with a file it reports by a panic.
        let mut tokenizer = guarded(|| tokenizers::Tokenizer::from_bytes(json))
            .ok_or("one of its members is malformed")?
            .map_err(|error| error.to_string())?;
        // Limits meant for training batches would make every count wrong.
        tokenizer.with_padding(None).with_truncation(None).map_err(|error| error.to_string())?;
        Ok(Self::Library(Library { tokenizer: Box::new(tokenizer), expansion, is_broken: AtomicBool::new(false) }))
    }

    /// Whether the library panicked on a text or on tokens, other than where counting can be given up.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, Self::Library(library) if library.is_broken.load(Relaxed))
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
            Self::Library(library) => {
                library.encode(text).map_or_else(Vec::new, |encoding| encoding.get_ids().to_vec())
            }
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
            Self::Library(Library { tokenizer, .. }) => tokenizer.token_to_id(token),
            Self::Ranks(ranks) => ranks.id_of(token),
        }
    }

    pub(crate) fn has(&self, id: u32) -> bool {
        match self {
            Self::ByteLevel(ours) => ours.has(id),
            Self::Library(Library { tokenizer, .. }) => tokenizer.id_to_token(id).is_some(),
            Self::Ranks(ranks) => ranks.has(id),
        }
    }

    /// Ids of added tokens that are marked as special.
    pub(crate) fn special_ids(&self) -> Vec<u32> {
        match self {
            Self::ByteLevel(ours) => ours.special_ids().collect(),
            Self::Library(Library { tokenizer, .. }) => {
                let added = tokenizer.get_added_tokens_decoder();
                added.iter().filter(|(_, token)| token.special).map(|(id, _)| *id).collect()
            }
            Self::Ranks(ranks) => ranks.special_ids().collect(),
        }
    }

    /// How many ids the vocabulary has, tokens added later not counted.
    pub(crate) fn vocabulary_size(&self) -> usize {
        match self {
            Self::ByteLevel(ours) => ours.vocabulary_size(),
            Self::Library(Library { tokenizer, .. }) => tokenizer.get_vocab_size(false),
            Self::Ranks(ranks) => ranks.vocabulary_size(),
        }
    }

    /// How many tokens are added to one prompt.
    pub(crate) fn special_tokens_per_prompt(&self) -> usize {
        match self {
            Self::ByteLevel(ours) => ours.special_tokens_per_prompt(),
            Self::Library(Library { tokenizer, .. }) => {
                tokenizer.get_post_processor().map_or(0, |processor| processor.added_tokens(false))
            }
            Self::Ranks(ranks) => ranks.special_tokens_per_prompt(),
        }
    }
}
