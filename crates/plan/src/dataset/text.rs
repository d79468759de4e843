//! The text of synthetic conversations: its corpus and its length.

use super::{Distribution, Weighted};
use serde::{Deserialize, Serialize};

/// The source of synthetic text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Corpus {
    /// Prose.
    #[default]
    Sonnet,
    /// Code, logs, diffs, queries and conversations about them.
    Coding,
    /// Consecutive tokens of the vocabulary, from a random one on.
    Random(RandomStyle),
}

/// Which tool's random prompts are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RandomStyle {
    /// Tokens of ordinary text.
    #[default]
    Vllm,
    /// Tokens of ordinary text and special ones.
    Sglang,
}

/// The text of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextPlan {
    pub corpus: Corpus,
    /// Texts per request, at least one.
    pub batch_size: u32,
    pub prefixes: Prefixes,
}

impl Default for TextPlan {
    fn default() -> Self {
        Self { corpus: Corpus::default(), batch_size: 1, prefixes: Prefixes::None }
    }
}

/// What precedes the text of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prefixes {
    #[default]
    None,
    /// Each text of a first turn begins with one of `size` texts of `tokens` tokens.
    Pool { size: u32, tokens: u32 },
    /// A system message that all share, and a separate first message for each conversation, in tokens.
    Messages { shared_system: Option<u32>, user_context: Option<u32> },
}

impl Prefixes {
    /// Tokens that they add to a conversation.
    pub fn tokens(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Pool { tokens, .. } => tokens,
            Self::Messages { shared_system, user_context } => {
                shared_system.unwrap_or(0).saturating_add(user_context.unwrap_or(0))
            }
        }
    }
}

/// Input and output length of a turn, drawn together. They replace lengths that are drawn separately, and are used as
/// drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairedLengths {
    /// One of several pairs, by their weights.
    Mix(Vec<Weighted<LengthPair>>),
    /// Uniform within these bounds.
    Windows { input: Window, output: Window },
}

/// A pair of lengths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LengthPair {
    pub input: Distribution,
    pub output: Distribution,
}

/// Lengths from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub least: u64,
    pub most: u64,
}

impl Window {
    /// Around an input length, by a ratio between 0 and 1. `least` may be 0: an empty prompt.
    pub fn of_input(style: RandomStyle, length: u64, ratio: f64) -> Self {
        match style {
            RandomStyle::Vllm => Self::around(length, ratio, 0),
            RandomStyle::Sglang => Self::up_to(length, ratio),
        }
    }

    /// The same for an output length.
    pub fn of_output(style: RandomStyle, length: u64, ratio: f64) -> Self {
        match style {
            RandomStyle::Vllm => Self::around(length, ratio, 1),
            RandomStyle::Sglang => Self::up_to(length, ratio),
        }
    }

    fn around(length: u64, ratio: f64, floor: u64) -> Self {
        let length = length as f64;
        let least = (length * (1.0 - ratio)).floor() as u64;
        let most = (length * (1.0 + ratio)).ceil() as u64;
        Self { least: least.max(floor), most: most.max(floor) }
    }

    fn up_to(length: u64, ratio: f64) -> Self {
        Self { least: ((length as f64 * ratio) as u64).max(1), most: length.max(1) }
    }

    fn mean(self) -> f64 {
        (self.least as f64 + self.most as f64) / 2.0
    }
}

impl PairedLengths {
    /// The mean number of input tokens.
    pub fn input_mean(&self) -> f64 {
        match self {
            Self::Mix(pairs) => super::distribution::weighted(pairs, |pair| pair.input.mean()),
            Self::Windows { input, .. } => input.mean(),
        }
    }

    /// Tokens of the longest input that can be expected.
    pub fn input_largest(&self) -> f64 {
        match self {
            Self::Mix(pairs) => pairs.iter().map(|pair| pair.item.input.largest()).fold(0.0, f64::max),
            Self::Windows { input, .. } => input.most as f64,
        }
    }
}
