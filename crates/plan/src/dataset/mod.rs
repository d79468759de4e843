//! The content of requests.
//!
//! # Layout
//! - [`distribution`]: random numbers
//! - [`synthetic`]: synthetic conversations; [`text`]: their text
//! - [`media`]: generated images, audio and video
//! - [`mod@file`]: conversations from files; [`speed_bench`]: the types of SPEED-Bench
//! - [`public`]: conversations of public datasets
//! - [`trace`]: recorded requests

pub mod distribution;
pub mod file;
pub mod media;
pub mod public;
pub mod speed_bench;
pub mod synthetic;
pub mod text;
pub mod trace;

pub use distribution::{Distribution, Shape, Weighted};
pub use file::{BatchSizes, FileFormat, FilePlan, FileSource, MediaFetching, RecordList, TimestampWindow};
pub use media::MediaPlan;
pub use public::{HubSource, Provenance, PublicPlan, PublicSet, PublicSource};
pub use speed_bench::{SPEED_BENCH, SpeedBench};
pub use synthetic::{RankingsPlan, SyntheticPlan, Turns};
pub use text::{Corpus, LengthPair, PairedLengths, Prefixes, RandomStyle, TextPlan, Window};
pub use trace::{BasetenReplay, Pace, SessionColumn, Synthesis, TraceFormat, TracePlan};

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
    /// A trace that is replayed.
    Trace(TracePlan),
    /// Fetched by name.
    Public(PublicPlan),
}

impl DatasetPlan {
    /// The number of its conversations, if known beforehand.
    pub fn entries(&self) -> Option<u64> {
        match self {
            Self::Synthetic(plan) => Some(u64::from(plan.entries)),
            Self::Rankings(plan) => Some(u64::from(plan.entries)),
            Self::File(_) | Self::Public(_) | Self::Trace(_) => None,
        }
    }

    /// Whether requests ask for an output length that the data do not have.
    pub fn asks_for_length(&self) -> bool {
        match self {
            Self::Synthetic(plan) => plan.osl.is_some() || plan.pairs.is_some(),
            Self::Rankings(_) => false,
            Self::File(plan) => plan.osl.is_some(),
            Self::Trace(plan) => plan.osl.is_some(),
            Self::Public(plan) => plan.osl.is_some(),
        }
    }

    /// Whether a seed alone defines it, so that any part of it can be made again at any time.
    pub fn is_made(&self) -> bool {
        match self {
            Self::Synthetic(_) | Self::Rankings(_) => true,
            Self::File(_) | Self::Public(_) | Self::Trace(_) => false,
        }
    }

    /// The provenance for the results, if they contain it.
    pub fn provenance(&self) -> Option<Provenance> {
        if let Self::Public(plan) = self { Some(plan.provenance()) } else { None }
    }

    /// Whether a run writes the bodies that it sends: not those that a file already contains, nor those of a trace.
    pub fn shows_inputs(&self) -> bool {
        match self {
            Self::Synthetic(_) | Self::Rankings(_) | Self::Public(_) => true,
            Self::Trace(_) => false,
            Self::File(plan) => !plan.format.is_verbatim() && !plan.format.is_recorded(),
        }
    }

    /// Whether it is a trace, which may be larger than memory, and whose requests are not written beforehand.
    pub fn is_trace(&self) -> bool {
        matches!(self, Self::Trace(_))
    }
}

/// The order in which conversations are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// In their order, repeatedly.
    #[default]
    Sequential,
    /// Each once per round; every round has another order.
    Shuffle,
    /// A random one, each time.
    Random,
}
