//! What requests say.
//!
//! # Layout
//! - [`distribution`]: numbers that are drawn
//! - [`synthetic`]: conversations that are made
//! - [`file`]: conversations of files; [`speed_bench`]: the types of SPEED-Bench

pub mod distribution;
pub mod file;
pub mod speed_bench;
pub mod synthetic;

pub use distribution::{Distribution, Shape, Weighted};
pub use file::{BatchSizes, Downloads, FileFormat, FilePlan, FileSource, RecordList, TimestampWindow};
pub use speed_bench::{SPEED_BENCH, SpeedBench};
pub use synthetic::{RankingsPlan, SyntheticPlan, Turns};

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

    /// Whether a run writes down the bodies that it sends: not those that a file has as they are, nor those of a
    /// trace.
    pub fn shows_inputs(&self) -> bool {
        match self {
            Self::Synthetic(_) | Self::Rankings(_) => true,
            Self::File(plan) => !plan.format.is_verbatim() && plan.format != FileFormat::SagemakerDataCapture,
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
