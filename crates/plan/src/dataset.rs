//! What requests say.

use serde::{Deserialize, Serialize};

/// Where conversations come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DatasetPlan {
    /// Made from a corpus by length.
    Synthetic(SyntheticPlan),
}

impl DatasetPlan {
    /// How many conversations it has.
    pub fn entries(&self) -> u64 {
        match self {
            Self::Synthetic(plan) => u64::from(plan.entries),
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

/// Synthetic conversations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SyntheticPlan {
    pub entries: u32,
    /// Input length; `None` sends no text.
    pub isl: Option<Length>,
    /// Output length asked for; `None` asks for none.
    pub osl: Option<Length>,
}
