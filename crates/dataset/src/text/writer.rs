//! Texts of an exact number of tokens, for any corpus and tokenizer.

use super::code;
use super::fit::fit;
use super::prose::ProseWriter;
use super::vocabulary::Vocabulary;
use crate::error::DatasetError;
use aiperf_plan::{Corpus, RandomStyle};
use aiperf_tokenize::Tokenizer;
use rand::Rng;

/// Bytes of code per missing token: most tokens have fewer.
const CODE_BYTES: usize = 4;

/// A text that was asked for by its length.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) text: String,
    /// It has the length that was asked for.
    pub(crate) is_exact: bool,
}

/// Writes texts to length. Threads share one writer: its output depends only on the arguments.
#[derive(Debug)]
pub(crate) struct Writer {
    tokenizer: Tokenizer,
    corpus: Corpus,
    prose: ProseWriter,
    vocabulary: Vocabulary,
}

impl Writer {
    pub(crate) fn of(corpus: Corpus, tokenizer: &Tokenizer) -> Self {
        Self {
            tokenizer: tokenizer.clone(),
            corpus,
            prose: ProseWriter::new(tokenizer),
            vocabulary: Vocabulary::new(tokenizer),
        }
    }

    /// A text that begins with `after` and has exactly `tokens` tokens, those of `after` included.
    pub(crate) fn write_after(&self, after: &str, tokens: usize, rng: &mut impl Rng) -> Result<Written, DatasetError> {
        let written = self.write_nearest_after(after, tokens, rng);
        if written.is_exact { Ok(written) } else { Err(self.out_of_reach(tokens)) }
    }

    /// A text of exactly `tokens` tokens that other texts begin with.
    pub(crate) fn write_prefix(&self, tokens: usize, rng: &mut impl Rng) -> Result<String, DatasetError> {
        let written = match self.corpus {
            Corpus::Random(style) => self.vocabulary.write_scattered(style, "", tokens, rng),
            Corpus::Sonnet | Corpus::Coding => self.try_write("", tokens, rng),
        };
        written.map_err(|_| self.out_of_reach(tokens))
    }

    /// A text that begins with `after` and has `tokens` tokens, or the nearest one found.
    pub(crate) fn write_nearest_after(&self, after: &str, tokens: usize, rng: &mut impl Rng) -> Written {
        match self.try_write(after, tokens, rng) {
            Ok(text) => Written { text, is_exact: true },
            Err(text) => Written { text, is_exact: false },
        }
    }

    fn try_write(&self, after: &str, tokens: usize, rng: &mut impl Rng) -> Result<String, String> {
        let written = match self.corpus {
            Corpus::Sonnet if !self.prose.knows_words() => {
                let scattered = self.vocabulary.write_scattered(RandomStyle::Vllm, after, tokens, rng);
                return scattered.or_else(|_| self.prose.try_write(after, tokens, rng));
            }
            Corpus::Sonnet => self.prose.try_write(after, tokens, rng),
            Corpus::Coding => {
                let more = |missing, begins| code::text(CODE_BYTES * missing, begins, rng);
                fit(&self.tokenizer, after, tokens, more)
            }
            Corpus::Random(style) => return self.vocabulary.write_run(style, after, tokens, rng),
        };
        // For vocabularies without English words.
        written.or_else(|_| self.vocabulary.write_scattered(RandomStyle::Vllm, after, tokens, rng))
    }

    fn out_of_reach(&self, tokens: usize) -> DatasetError {
        DatasetError::LengthOutOfReach { tokenizer: self.tokenizer.name().to_owned(), tokens }
    }
}
