//! The Hugging Face library, for kinds of `tokenizer.json` that no reader here knows. It fails on some texts, and panics on
//! others.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use aiperf_types::guard::guarded;
use tokenizers::{Encoding, PostProcessor, Tokenizer};

use crate::expansion::{self, Expansion};
use crate::interrupt::{self, GivenUp};

/// Reads a `tokenizer.json`. `str::parse` is compiled with the library. Its functions that take bytes or a path are
/// generic, so they are compiled with this crate: that was nearly half of its code (`cargo llvm-lines -p aiperf-tokenize`).
fn parse(json: &str) -> Result<Tokenizer, String> {
    // The library reports some faults of a file by a panic.
    let parsed = guarded(|| json.parse::<Tokenizer>()).ok_or("one of its members is malformed")?;
    parsed.map_err(|error| error.to_string())
}

fn special_tokens_per_prompt(tokenizer: &Tokenizer) -> usize {
    tokenizer.get_post_processor().map_or(0, |processor| processor.added_tokens(false))
}

/// How many tokens a post-processor adds to a prompt; `None` if the library does not know it.
pub(crate) fn special_tokens_added_by(post_processor: &str) -> Option<usize> {
    // The library reads it as a part of a tokenizer without tokens.
    let model = r#"{"type":"WordLevel","vocab":{},"unk_token":""}"#;
    let json = format!(
        r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
        "pre_tokenizer":null,"post_processor":{post_processor},"decoder":null,"model":{model}}}"#
    );
    parse(&json).ok().as_ref().map(special_tokens_per_prompt)
}

/// A tokenizer that the library runs.
pub(crate) struct Library {
    tokenizer: Box<Tokenizer>,
    expansion: Expansion,
    /// It panicked where counting cannot be given up.
    is_broken: AtomicBool,
}

impl Library {
    /// From the bytes of a `tokenizer.json`.
    pub(crate) fn from_json(json: &[u8]) -> Result<Self, String> {
        let expansion = expansion::check(json)?;
        // Texts are encoded one at a time, and the process has threads of its own: the library must not start a pool.
        tokenizers::utils::parallelism::set_parallelism(false);
        let mut tokenizer = parse(std::str::from_utf8(json).map_err(|error| error.to_string())?)?;
        // Limits meant for training batches would make every count wrong.
        tokenizer.with_padding(None).with_truncation(None).map_err(|error| error.to_string())?;
        Ok(Self { tokenizer: Box::new(tokenizer), expansion, is_broken: AtomicBool::new(false) })
    }

    /// Whether it panicked on a text or on tokens, other than where counting can be given up.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Relaxed)
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        if interrupt::is_too_long(text, self.expansion) {
            return 0;
        }
        self.encoding(text).map_or(0, |encoding| encoding.len())
    }

    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        self.encoding(text).map_or_else(Vec::new, |encoding| encoding.get_ids().to_vec())
    }

    pub(crate) fn decode(&self, ids: &[u32]) -> String {
        self.guarded(|| self.tokenizer.decode(ids, false)).and_then(Result::ok).unwrap_or_default()
    }

    /// The id of a token as the file writes it.
    pub(crate) fn id_of(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    pub(crate) fn has(&self, id: u32) -> bool {
        self.tokenizer.id_to_token(id).is_some()
    }

    /// Ids of added tokens that are marked as special.
    pub(crate) fn special_ids(&self) -> Vec<u32> {
        let added = self.tokenizer.get_added_tokens_decoder();
        added.iter().filter(|(_, token)| token.special).map(|(id, _)| *id).collect()
    }

    pub(crate) fn vocabulary_size(&self) -> usize {
        self.tokenizer.get_vocab_size(false)
    }

    pub(crate) fn special_tokens_per_prompt(&self) -> usize {
        special_tokens_per_prompt(&self.tokenizer)
    }

    /// The tokens of a text; `None` where the library fails or panics.
    fn encoding(&self, text: &str) -> Option<Encoding> {
        let encoded = self.guarded(|| self.tokenizer.encode_fast(text, false)).and_then(Result::ok);
        if encoded.is_none() {
            interrupt::give_up(GivenUp::Uncountable);
        }
        encoded
    }

    fn guarded<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        let made = guarded(run);
        if made.is_none() && !interrupt::can_give_up() {
            self.is_broken.store(true, Relaxed);
        }
        made
    }
}
