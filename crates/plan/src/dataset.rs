//! What requests say.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where conversations come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DatasetPlan {
    /// Made from a corpus by length.
    Synthetic(SyntheticPlan),
    /// Queries and passages made from a corpus, for endpoints that rank.
    Rankings(RankingsPlan),
    /// Read from a file.
    File(FilePlan),
}

impl DatasetPlan {
    /// How many conversations it has, where that is known beforehand.
    pub fn entries(&self) -> Option<u64> {
        match self {
            Self::Synthetic(plan) => Some(u64::from(plan.entries)),
            Self::Rankings(plan) => Some(u64::from(plan.entries)),
            Self::File(_) => None,
        }
    }
}

/// A length in tokens: a mean and a deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Length {
    pub mean: f64,
    /// Deviation; 0 is a fixed length.
    pub stddev: f64,
}

impl Length {
    /// Deviations from the mean that a normal draw stays within, but for one in 500 million.
    pub const FAR: f64 = 6.0;

    /// The longest that is to be reckoned with.
    pub fn longest(&self) -> f64 {
        self.mean + Self::FAR * self.stddev
    }
}

/// Synthetic conversations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SyntheticPlan {
    pub entries: u32,
    /// Input length; `None` sends no text.
    pub isl: Option<Length>,
    /// Output length asked for; `None` asks for none.
    pub osl: Option<Length>,
    pub turns: Turns,
}

/// The turns of synthetic conversations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turns {
    /// How many a conversation has.
    pub count: Length,
    /// Milliseconds from the return of a turn to the next.
    pub delay_ms: Length,
    /// What delays are multiplied by.
    pub delay_ratio: f64,
}

impl Turns {
    /// One turn a conversation.
    pub const ONE: Self = Self {
        count: Length { mean: 1.0, stddev: 0.0 },
        delay_ms: Length { mean: 0.0, stddev: 0.0 },
        delay_ratio: 1.0,
    };
}

/// In which order conversations are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// As they stand, round and round.
    #[default]
    Sequential,
    /// Each once a round, every round in another order.
    Shuffle,
    /// Any, each time.
    Random,
}

/// Queries, each with passages to rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankingsPlan {
    pub entries: u32,
    /// How many passages a request has.
    pub passages: Length,
    pub passage_tokens: Length,
    pub query_tokens: Length,
}

/// Conversations of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilePlan {
    /// A file, or a folder of them where the format has a conversation a file.
    pub path: PathBuf,
    pub format: FileFormat,
    /// Conversations used at most, from the first; `None` uses all.
    pub entries: Option<u64>,
    /// Output length asked for where the file says none.
    pub osl: Option<Length>,
    /// Timestamps that are used, in milliseconds, both ends included; rows without one are.
    pub window: TimestampWindow,
    /// What delays are multiplied by.
    pub delay_ratio: f64,
    /// Milliseconds that a delay has at most, once it is multiplied.
    pub delay_cap_ms: Option<f64>,
    /// Whether a system turn that leads a conversation is its system message: the endpoint sends one. Else it is a turn
    /// like any other.
    pub hoist_system: bool,
}

/// Which timestamps are used, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimestampWindow {
    pub start_ms: Option<f64>,
    pub end_ms: Option<f64>,
}

impl FilePlan {
    /// All of a file as it is.
    pub fn new(path: impl Into<PathBuf>, format: FileFormat) -> Self {
        Self {
            path: path.into(),
            format,
            entries: None,
            osl: None,
            window: TimestampWindow::default(),
            delay_ratio: 1.0,
            delay_cap_ms: None,
            hoist_system: true,
        }
    }
}

impl TimestampWindow {
    pub fn contains(&self, timestamp_ms: f64) -> bool {
        self.start_ms.is_none_or(|start| start <= timestamp_ms) && self.end_ms.is_none_or(|end| timestamp_ms <= end)
    }
}

/// How conversations stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileFormat {
    /// A conversation of one turn a line.
    SingleTurn,
    /// A conversation a line, or several lines of one name.
    MultiTurn,
    /// A whole body a line, sent as it is.
    RawPayload,
}

impl FileFormat {
    /// The name a user chooses it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SingleTurn => "single_turn",
            Self::MultiTurn => "multi_turn",
            Self::RawPayload => "raw_payload",
        }
    }
}
