//! What requests say.
//!
//! # Layout
//! - [`distribution`]: numbers that are drawn
//! - [`synthetic`]: conversations that are made
//! - [`media`]: images, audio and video that are made
//! - [`file`]: conversations of files

pub mod distribution;
pub mod file;
pub mod media;
pub mod synthetic;

pub use distribution::{Distribution, Shape, Weighted};
pub use file::{FileFormat, FilePlan, TimestampWindow};
pub use media::MediaPlan;
pub use synthetic::{RankingsPlan, SyntheticPlan, Turns};

use serde::{Deserialize, Serialize};

/// Where conversations come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a run has one")]
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

    /// Output length that is asked for where the data says none.
    pub fn osl(&self) -> Option<&Distribution> {
        match self {
            Self::Synthetic(plan) => plan.osl.as_ref(),
            Self::Rankings(_) => None,
            Self::File(plan) => plan.osl.as_ref(),
        }
    }

    /// Whether a seed alone defines it, so that any part of it can be made again at any time.
    pub fn is_made(&self) -> bool {
        match self {
            Self::Synthetic(_) | Self::Rankings(_) => true,
            Self::File(_) => false,
        }
    }

    /// Whether images, audio or video are made for it.
    pub fn has_media(&self) -> bool {
        matches!(self, Self::Synthetic(plan) if !plan.media.is_empty())
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
