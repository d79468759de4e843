//! Texts of arbitrary tokens of a vocabulary.

use super::fit::fit;
use aiperf_plan::RandomStyle;
use aiperf_tokenize::Tokenizer;
use rand::{Rng, RngExt};
use std::sync::OnceLock;

/// The ids of a vocabulary, in its order.
#[derive(Debug)]
pub(super) struct Vocabulary {
    tokenizer: Tokenizer,
    ordinary: OnceLock<Vec<u32>>,
    all: OnceLock<Vec<u32>>,
}

impl Vocabulary {
    pub(super) fn new(tokenizer: &Tokenizer) -> Self {
        Self { tokenizer: tokenizer.clone(), ordinary: OnceLock::new(), all: OnceLock::new() }
    }

    /// Consecutive tokens of the vocabulary, from a random one on. If their text has another count, random tokens
    /// correct it.
    pub(super) fn write_run(
        &self,
        style: RandomStyle,
        after: &str,
        tokens: usize,
        rng: &mut impl Rng,
    ) -> Result<String, String> {
        let pool = self.pool(style);
        let offset = rng.random_range(0..pool.len().max(1) as u64) as usize;
        let mut is_first = true;
        fit(&self.tokenizer, after, tokens, |missing, _| {
            if std::mem::take(&mut is_first) {
                let run = pool.iter().cycle().skip(offset).take(missing).copied().collect::<Vec<_>>();
                self.tokenizer.decode(&run)
            } else {
                self.scattered(pool, missing, rng)
            }
        })
    }

    /// Random tokens.
    pub(super) fn write_scattered(
        &self,
        style: RandomStyle,
        after: &str,
        tokens: usize,
        rng: &mut impl Rng,
    ) -> Result<String, String> {
        fit(&self.tokenizer, after, tokens, |missing, _| self.scattered(self.pool(style), missing, rng))
    }

    fn scattered(&self, pool: &[u32], count: usize, rng: &mut impl Rng) -> String {
        if pool.is_empty() {
            return String::new();
        }
        let ids: Vec<u32> = (0..count).map(|_| pool[rng.random_range(0..pool.len() as u32) as usize]).collect();
        self.tokenizer.decode(&ids)
    }

    fn pool(&self, style: RandomStyle) -> &[u32] {
        match style {
            RandomStyle::Vllm => self.ordinary.get_or_init(|| self.tokenizer.ordinary_ids()),
            RandomStyle::Sglang => self.all.get_or_init(|| self.tokenizer.all_ids()),
        }
    }
}
