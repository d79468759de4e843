//! What requests say.
//!
//! # Layout
//! - [`distribution`]: numbers that are drawn
//! - [`synthetic`]: conversations that are made; [`text`]: their text
//! - [`file`]: conversations of files

pub mod distribution;
pub mod file;
pub mod synthetic;
pub mod text;

pub use distribution::{Distribution, Shape, Weighted};
pub use file::{FileFormat, FilePlan, TimestampWindow};
pub use synthetic::{RankingsPlan, SyntheticPlan, Turns};
pub use text::{Corpus, LengthPair, PairedLengths, Prefixes, RandomStyle, TextPlan, Window};

use serde::{Deserialize, Serialize};

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

    /// Whether requests ask for an output length although the data says none.
    pub fn asks_for_length(&self) -> bool {
        match self {
            Self::Synthetic(plan) => plan.osl.is_some() || plan.pairs.is_some(),
            Self::Rankings(_) => false,
            Self::File(plan) => plan.osl.is_some(),
        }
    }

    /// Whether a seed alone defines it, so that any part of it can be made again at any time.
    pub fn is_made(&self) -> bool {
        match self {
            Self::Synthetic(_) | Self::Rankings(_) => true,
            Self::File(_) => false,
        }
    }

    /// Whether it holds whole bodies, which are sent as they are.
    pub fn is_verbatim(&self) -> bool {
        match self {
            Self::Synthetic(_) | Self::Rankings(_) => false,
            Self::File(plan) => plan.format == FileFormat::RawPayload,
        }
    }
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
