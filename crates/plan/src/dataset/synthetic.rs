//! Synthetic conversations.

use super::text::{Corpus, PairedLengths, TextPlan};
use super::{Distribution, MediaPlan};
use serde::{Deserialize, Serialize};

/// Synthetic conversations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SyntheticPlan {
    pub entries: u32,
    /// Input length; `None` sends no text.
    pub isl: Option<Distribution>,
    /// The requested output length; `None` requests none.
    pub osl: Option<Distribution>,
    /// Both lengths of a turn together; replaces the lengths above.
    pub pairs: Option<PairedLengths>,
    pub text: TextPlan,
    pub turns: Turns,
    /// What each turn has besides its text.
    pub media: MediaPlan,
}

impl SyntheticPlan {
    /// Conversations of one turn without content.
    pub fn new(entries: u32) -> Self {
        Self {
            entries,
            isl: None,
            osl: None,
            pairs: None,
            text: TextPlan::default(),
            turns: Turns::ONE,
            media: MediaPlan::default(),
        }
    }

    /// Tokens of a turn: the mean, and the largest that can be expected; `None` if it has no text. Prefixes of the
    /// first turn are counted for every turn.
    pub fn tokens_a_turn(&self) -> Option<(f64, f64)> {
        let (mean, largest) = match (&self.pairs, &self.isl) {
            (Some(pairs), _) => (pairs.input_mean(), pairs.input_largest()),
            (None, Some(isl)) => (isl.mean(), isl.largest()),
            (None, None) => return None,
        };
        let (texts, prefix) = (f64::from(self.text.batch_size), f64::from(self.text.prefixes.tokens()));
        let tokens = |of_a_text: f64| (of_a_text.max(1.0) + prefix) * texts;
        Some((tokens(mean), tokens(largest)))
    }
}

/// The turns of synthetic conversations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turns {
    /// Turns per conversation.
    pub count: Distribution,
    /// Milliseconds from the end of a turn to the next one.
    pub delay_ms: Distribution,
    /// The factor of delays.
    pub delay_ratio: f64,
}

impl Turns {
    /// One turn per conversation.
    pub const ONE: Self =
        Self { count: Distribution::fixed(1.0), delay_ms: Distribution::fixed(0.0), delay_ratio: 1.0 };
}

/// Queries, each with passages to rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankingsPlan {
    pub entries: u32,
    pub corpus: Corpus,
    /// Passages per request.
    pub passages: Distribution,
    pub passage_tokens: Distribution,
    pub query_tokens: Distribution,
}

impl RankingsPlan {
    /// Tokens of a request.
    pub fn tokens(&self) -> f64 {
        self.passages.mean() * self.passage_tokens.mean() + self.query_tokens.mean()
    }

    /// Tokens of the longest request that can be expected.
    pub fn most_tokens(&self) -> f64 {
        self.passages.largest() * self.passage_tokens.largest() + self.query_tokens.largest()
    }
}
