//! A tokenizer of any kind.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use crate::builtin::{self, BUILTIN, Encoding};
use crate::error::TokenizeError;
use crate::huggingface::HuggingFace;
use crate::lookup::Lookup;
use crate::template::{Message, TemplateCost};

/// Texts of different length and punctuation, so that a merge at one message's edge does not decide what a template costs.
const SAMPLES: [&str; 3] = [
    "Which of these two answers came first?",
    "Please describe the harbour at night, with its lamps and the slow boats going out",
    "Yes",
];

/// Counts, encodes and decodes. A handle: clones share one vocabulary.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    name: Arc<str>,
    kind: Backend,
}

#[derive(Clone, Debug)]
enum Backend {
    Builtin(&'static Encoding),
    HuggingFace(Arc<HuggingFace>),
}

impl Tokenizer {
    /// The tokenizer of a name: `builtin`, a tiktoken encoding, a directory, a `tokenizer.json`, or a name in the hub
    /// cache.
    pub fn load(name: &str, lookup: &Lookup) -> Result<Self, TokenizeError> {
        if let Some(encoding) = Encoding::named(name) {
            return Ok(Self::of_encoding(name, encoding));
        }
        Self::load_from(name, &lookup.find(name)?)
    }

    /// The tokenizer in a directory, under a name.
    pub fn load_from(name: &str, directory: &Path) -> Result<Self, TokenizeError> {
        Ok(Self { name: name.into(), kind: Backend::HuggingFace(Arc::new(HuggingFace::load(directory)?)) })
    }

    /// The default vocabulary inside the binary.
    pub fn builtin() -> Self {
        Self::of_encoding(BUILTIN, builtin::DEFAULT)
    }

    fn of_encoding(name: &str, encoding: &'static Encoding) -> Self {
        // Now, and not when the first text is to be counted.
        encoding.make_ready();
        Self { name: name.into(), kind: Backend::Builtin(encoding) }
    }

    /// As it was asked for.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Fails if its steps broke down while prompts were made: their lengths are wrong then.
    pub fn check(&self) -> Result<(), TokenizeError> {
        match &self.kind {
            Backend::Builtin(_) => Ok(()),
            Backend::HuggingFace(tokenizer) => tokenizer.check(),
        }
    }

    /// How many tokens a text has, none added.
    pub fn count(&self, text: &str) -> usize {
        match &self.kind {
            Backend::Builtin(encoding) => encoding.count(text),
            Backend::HuggingFace(tokenizer) => tokenizer.count(text),
        }
    }

    /// Whether no token has a blank after anything that is none: then a text can be counted in parts that are cut there.
    pub fn cuts_before_blanks(&self) -> bool {
        match &self.kind {
            // Of their patterns, what begins with a word, a number or a sign ends before any blank; no special token
            // has one.
            Backend::Builtin(_) => true,
            Backend::HuggingFace(tokenizer) => tokenizer.cuts_before_blanks(),
        }
    }

    /// The tokens of a text, none added.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        match &self.kind {
            Backend::Builtin(encoding) => encoding.encode(text),
            Backend::HuggingFace(tokenizer) => tokenizer.encode(text),
        }
    }

    /// The text of tokens, special ones included.
    pub fn decode(&self, ids: &[u32]) -> String {
        match &self.kind {
            Backend::Builtin(encoding) => encoding.decode(ids),
            Backend::HuggingFace(tokenizer) => tokenizer.decode(ids),
        }
    }

    /// How many tokens a server using this tokenizer puts around one prompt: 1 where a text begins with BOS.
    pub fn special_tokens_per_prompt(&self) -> usize {
        match &self.kind {
            Backend::Builtin(_) => 0,
            Backend::HuggingFace(tokenizer) => tokenizer.special_tokens_per_prompt(),
        }
    }

    /// Ids that carry ordinary text, ascending.
    pub fn ordinary_ids(&self) -> Vec<u32> {
        match &self.kind {
            Backend::Builtin(encoding) => encoding.ordinary_ids().collect(),
            Backend::HuggingFace(tokenizer) => tokenizer.ordinary_ids(),
        }
    }

    /// Every id that can be decoded, special ones included, ascending.
    pub fn all_ids(&self) -> Vec<u32> {
        match &self.kind {
            Backend::Builtin(encoding) => encoding.all_ids(),
            Backend::HuggingFace(tokenizer) => tokenizer.all_ids(),
        }
    }

    /// Id that separates texts: BOS, else EOS.
    pub fn separator_id(&self) -> Option<u32> {
        match &self.kind {
            Backend::Builtin(encoding) => Some(encoding.end_of_text()),
            Backend::HuggingFace(tokenizer) => tokenizer.separator_id(),
        }
    }

    /// Whether [`Self::apply_chat_template`] has a template to apply.
    pub fn has_chat_template(&self) -> bool {
        matches!(&self.kind, Backend::HuggingFace(tokenizer) if tokenizer.has_template())
    }

    /// Messages as the model sees them; `None` without a template.
    pub fn apply_chat_template(
        &self,
        messages: impl Serialize,
        add_generation_prompt: bool,
    ) -> Option<Result<String, TokenizeError>> {
        match &self.kind {
            Backend::Builtin(_) => None,
            Backend::HuggingFace(tokenizer) => tokenizer.render(messages, add_generation_prompt),
        }
    }

    /// Applies the chat template to a plain question; fails where that cannot be done.
    pub fn check_chat_template(&self) -> Result<(), TokenizeError> {
        self.apply_chat_template([Message::user("Hello")], true).map_or(Ok(()), |rendered| rendered.map(drop))
    }

    /// How many tokens messages have as the model sees them; `None` without a template.
    pub fn count_chat(
        &self,
        messages: impl Serialize,
        add_generation_prompt: bool,
    ) -> Option<Result<usize, TokenizeError>> {
        let rendered = self.apply_chat_template(messages, add_generation_prompt)?;
        Some(rendered.map(|text| match &self.kind {
            Backend::Builtin(encoding) => encoding.count(&text),
            Backend::HuggingFace(tokenizer) => tokenizer.count_rendered(&text),
        }))
    }

    /// What the chat template adds to a conversation and to each message; nothing where there is no usable template.
    pub fn template_cost(&self) -> TemplateCost {
        self.measured_template_cost().unwrap_or_default()
    }

    /// Measured on sample texts; `None` where there is no template, it fails, or the sums make no sense.
    fn measured_template_cost(&self) -> Option<TemplateCost> {
        let (mut fixed, mut wrap) = (0.0, 0.0);
        for text in SAMPLES {
            let question = Message::user(text);
            let count = |messages: &[Message<'_>]| self.count_chat(messages, true)?.ok().map(|n| n as f64);
            let single = count(&[question])?;
            let triple = count(&[question, Message::assistant(text), question])?;
            let bare = self.count(text) as f64;
            let one_wrap = (triple - single - 2.0 * bare) / 2.0;
            wrap += one_wrap;
            fixed += single - bare - one_wrap - self.special_tokens_per_prompt() as f64;
        }
        let mean = |sum: f64| (sum / SAMPLES.len() as f64).round_ties_even();
        let (fixed, wrap) = (mean(fixed), mean(wrap));
        (fixed >= 0.0 && wrap >= 0.0).then_some(TemplateCost { fixed: fixed as usize, per_message: wrap as usize })
    }
}
