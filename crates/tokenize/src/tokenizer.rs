//! A tokenizer of any kind.

use std::sync::Arc;

use serde::Serialize;

use crate::builtin::{self, BUILTIN, ENCODINGS, Encoding};
use crate::choice::Choice;
use crate::error::TokenizeError;
use crate::huggingface::HuggingFace;
use crate::lookup::Lookup;
use crate::template::TemplateCost;

/// Counts, encodes and decodes. A handle: clones share one vocabulary.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    name: Arc<str>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Builtin(&'static Encoding),
    HuggingFace(Arc<HuggingFace>),
}

impl Tokenizer {
    /// The tokenizer of a name: `builtin`, a tiktoken encoding, a directory, a `tokenizer.json`, or a name in the hub
    /// cache.
    pub fn load(name: &str, lookup: &Lookup) -> Result<Self, TokenizeError> {
        if let Some(encoding) = Encoding::named(name) {
            return Ok(Self { name: name.into(), kind: Kind::Builtin(encoding) });
        }
        if builtin::is_known_elsewhere(name) {
            return Err(TokenizeError::EncodingNotBuiltIn {
                name: name.to_owned(),
                built_in: ENCODINGS.iter().map(|encoding| encoding.name).collect::<Vec<_>>().join(", "),
            });
        }
        let path = lookup.find(name)?;
        let loaded = HuggingFace::load(&path)?;
        Ok(Self { name: name.into(), kind: Kind::HuggingFace(Arc::new(loaded)) })
    }

    /// The tokenizer of a model for which none was named, with a warning when it had to be `builtin`: for placeholder
    /// names, and for names that are not on this machine.
    pub fn load_for_model(model: &str, lookup: &Lookup) -> Result<(Self, Option<String>), TokenizeError> {
        let choice = Choice::of(None, model);
        match Self::load(&choice.name, lookup) {
            Ok(tokenizer) => Ok((tokenizer, choice.warning)),
            Err(TokenizeError::NotFound { searched, .. }) => {
                // A model's own name may be fetched; a name without an owner is one that only its server knows.
                let fetch = if model.contains('/') {
                    format!(", or fetch it with `hf download {model}`")
                } else {
                    String::new()
                };
                let warning = format!(
                    "No tokenizer for model '{model}' on this machine (looked for: {searched}); counting with 'builtin' \
                     (tiktoken o200k_base), so token counts are not the model's own. Pass --tokenizer <name> to \
                     override{fetch}."
                );
                Ok((Self::builtin(), Some(warning)))
            }
            Err(error) => Err(error),
        }
    }

    /// The default vocabulary inside the binary.
    pub fn builtin() -> Self {
        Self { name: BUILTIN.into(), kind: Kind::Builtin(builtin::DEFAULT) }
    }

    /// As it was asked for.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many tokens a text has, none added.
    pub fn count(&self, text: &str) -> usize {
        match &self.kind {
            Kind::Builtin(encoding) => encoding.count(text),
            Kind::HuggingFace(tokenizer) => tokenizer.count(text),
        }
    }

    /// Whether no token has a blank after anything that is none: then a text can be counted in parts that are cut there.
    pub fn cuts_before_blanks(&self) -> bool {
        match &self.kind {
            // Of their patterns, what begins with a word, a number or a sign ends before any blank; no special token
            // has one.
            Kind::Builtin(_) => true,
            Kind::HuggingFace(tokenizer) => tokenizer.cuts_before_blanks(),
        }
    }

    /// The tokens of a text, none added.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        match &self.kind {
            Kind::Builtin(encoding) => encoding.encode(text),
            Kind::HuggingFace(tokenizer) => tokenizer.encode(text),
        }
    }

    /// The text of tokens, special ones included.
    pub fn decode(&self, ids: &[u32]) -> String {
        match &self.kind {
            Kind::Builtin(encoding) => encoding.decode(ids),
            Kind::HuggingFace(tokenizer) => tokenizer.decode(ids),
        }
    }

    /// How many tokens a server using this tokenizer puts around one prompt: 1 where a text begins with BOS.
    pub fn special_tokens_per_prompt(&self) -> usize {
        match &self.kind {
            Kind::Builtin(_) => 0,
            Kind::HuggingFace(tokenizer) => tokenizer.special_tokens_per_prompt(),
        }
    }

    /// Ids that carry ordinary text, ascending.
    pub fn ordinary_ids(&self) -> Vec<u32> {
        match &self.kind {
            Kind::Builtin(encoding) => (0..encoding.ordinary()).collect(),
            Kind::HuggingFace(tokenizer) => tokenizer.ordinary_ids(),
        }
    }

    /// Every id that can be decoded, special ones included, ascending.
    pub fn all_ids(&self) -> Vec<u32> {
        match &self.kind {
            Kind::Builtin(encoding) => encoding.all_ids(),
            Kind::HuggingFace(tokenizer) => tokenizer.all_ids(),
        }
    }

    /// Id that separates texts: BOS, else EOS.
    pub fn separator_id(&self) -> Option<u32> {
        match &self.kind {
            Kind::Builtin(encoding) => Some(encoding.end_of_text()),
            Kind::HuggingFace(tokenizer) => tokenizer.separator_id(),
        }
    }

    /// Whether [`Self::apply_chat_template`] has a template to apply.
    pub fn has_chat_template(&self) -> bool {
        matches!(&self.kind, Kind::HuggingFace(tokenizer) if tokenizer.template().is_some())
    }

    /// Messages as the model sees them; `None` without a template.
    pub fn apply_chat_template(
        &self,
        messages: impl Serialize,
        add_generation_prompt: bool,
    ) -> Option<Result<String, TokenizeError>> {
        match &self.kind {
            Kind::Builtin(_) => None,
            Kind::HuggingFace(tokenizer) => tokenizer.template().map(|template| {
                template
                    .and_then(|template| template.render(messages, add_generation_prompt))
                    .map_err(|reason| TokenizeError::Template { name: self.name.to_string(), reason })
            }),
        }
    }

    /// How many tokens messages have as the model sees them; `None` without a template.
    pub fn count_chat(
        &self,
        messages: impl Serialize,
        add_generation_prompt: bool,
    ) -> Option<Result<usize, TokenizeError>> {
        let rendered = self.apply_chat_template(messages, add_generation_prompt)?;
        Some(rendered.map(|text| self.count(&text)))
    }

    /// What the chat template adds to a conversation and to each message; nothing where there is no usable template.
    pub fn template_cost(&self) -> TemplateCost {
        TemplateCost::measure(self).unwrap_or_default()
    }
}
