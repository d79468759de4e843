//! What requests say.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where conversations come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DatasetPlan {
    /// Made from a corpus by length.
    Synthetic(SyntheticPlan),
    /// Read from a file.
    File(FilePlan),
}

impl DatasetPlan {
    /// How many conversations it has, where that is known beforehand.
    pub fn entries(&self) -> Option<u64> {
        match self {
            Self::Synthetic(plan) => Some(u64::from(plan.entries)),
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
}

/// Conversations of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePlan {
    pub path: PathBuf,
    pub format: FileFormat,
}

/// How conversations stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileFormat {
    /// A conversation of one turn a line.
    SingleTurn,
    /// A whole body a line, sent as it is.
    RawPayload,
}
