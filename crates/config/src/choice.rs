//! Choices among names: an enum, and the name of each of its variants in the order help shows them.

use aiperf_plan::dataset::media::{AudioFormat, ImageFormat, PictureOrder, VideoContainer, VideoPattern};
use aiperf_plan::{
    ExportLevel, LogLevel, RampStrategy, RandomStyle, ReadinessMode, ReuseStrategy, Sampling, Timestamps, Transport,
    UiKind, WorkerPriority,
};
use aiperf_types::{EndpointKind, PhaseKind};

/// One of several names.
pub(crate) trait Choice: Copy + PartialEq + 'static {
    const ALL: &'static [Self];
    /// The names of `ALL`, in the same order.
    const NAMES: &'static [&'static str];

    fn name(self) -> &'static str {
        let at = Self::ALL.iter().position(|choice| *choice == self);
        at.map_or("", |at| Self::NAMES[at])
    }

    /// The choice that a text names: letter case and `-`/`_` do not matter.
    fn parse(text: &str) -> Option<Self> {
        let name = crate::scalars::choice(text, Self::NAMES)?;
        Self::exactly(name)
    }

    /// The choice of exactly this name.
    fn exactly(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|known| *known == name).map(|at| Self::ALL[at])
    }
}

/// Names, one after the other.
pub(crate) fn joined<T: Choice>(choices: &[T]) -> String {
    choices.iter().map(|choice| choice.name()).collect::<Vec<_>>().join(", ")
}

/// Defines enums with named variants.
macro_rules! choices {
    ($( $(#[doc = $about:literal])+ $name:ident { $($variant:ident = $text:literal),+ $(,)? } )*) => { $(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($variant),+ }

        $crate::choice::names! { $name { $($variant = $text),+ } }
    )* };
}

/// Names the variants of an enum, in the order of help.
macro_rules! names {
    ($( $name:ident { $($variant:ident = $text:literal),+ $(,)? } )*) => { $(
        impl $crate::choice::Choice for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            const NAMES: &'static [&'static str] = &[$($text),+];
        }
    )* };
}

pub(crate) use {choices, names};

// Enums of the plan that a user chooses from.
names! {
    AudioFormat { Wav = "wav", Mp3 = "mp3" }
    ImageFormat { Png = "png", Jpeg = "jpeg", Random = "random" }
    PictureOrder { Random = "random-with-replacement", Shuffle = "shuffle-cycle", Sequential = "sequential-cycle" }
    RampStrategy { Linear = "linear", Exponential = "exponential", Poisson = "poisson" }
    RandomStyle { Vllm = "vllm", Sglang = "sglang" }
    Sampling { Random = "random", Sequential = "sequential", Shuffle = "shuffle" }
    VideoContainer { Mp4 = "mp4", Webm = "webm" }
    VideoPattern { MovingShapes = "moving_shapes", GridClock = "grid_clock", Noise = "noise" }
}

/// Turns an enum of another crate with named variants into a choice. The order is that of help.
macro_rules! named_elsewhere {
    ($( $name:ident { $($variant:ident),+ $(,)? } )*) => { $(
        impl Choice for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            const NAMES: &'static [&'static str] = &[$(Self::$variant.name()),+];
        }
    )* };
}

named_elsewhere! {
    EndpointKind {
        AudioTranscription, Chat, CohereRankings, Completions, Responses, Messages, ChatEmbeddings, Embeddings,
        HfTeiRankings, HuggingfaceGenerate, ImageGeneration, ImageEdit, VideoGeneration, ImageRetrieval, NimEmbeddings,
        NimRankings, SolidoRag, Raw, Template,
    }
    ExportLevel { Summary, Records, Raw }
    LogLevel { Trace, Debug, Info, Notice, Warning, Success, Error, Critical }
    PhaseKind { Warmup, Profiling }
    ReadinessMode { Models, Inference, Both }
    ReuseStrategy { Pooled, Never, StickyUserSessions }
    Timestamps { Auto, Kernel, User }
    WorkerPriority { Auto, Normal, Realtime }
    Transport { Http, Http2 }
    UiKind { Dashboard, None, Simple }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_type_can_be_chosen() {
        for kind in EndpointKind::ALL {
            assert_eq!(<EndpointKind as Choice>::parse(kind.name()), Some(*kind));
        }
    }
}
