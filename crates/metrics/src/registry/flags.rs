//! When a metric exists, and whether it may be shown.

use std::ops::BitOr;

/// A set of conditions on a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u32);

macro_rules! flags {
    ($(#[doc = $doc:literal] $bit:literal $name:ident;)*) => {
        impl Flags {
            $(#[doc = $doc] pub const $name: Self = Self(1 << $bit);)*

            /// Every flag by name, in order.
            pub const ALL: &[(&str, Self)] = &[$((stringify!($name), Self::$name),)*];
        }

        /// The meaning of each flag, in the same order.
        pub(crate) const MEANINGS: &[&str] = &[$($doc,)*];
    };
}

flags! {
    /// needs a streaming run
    0 STREAMING_ONLY;
    /// needs an endpoint that produces tokens
    1 PRODUCES_TOKENS_ONLY;
    /// needs an endpoint that tokenizes its input
    2 TOKENIZES_INPUT_ONLY;
    /// counts failed records only
    3 ERROR_ONLY;
    /// larger is better; without it smaller is
    4 LARGER_IS_BETTER;
    /// needed by others, hidden unless developers ask for it
    5 INTERNAL;
    /// may change, absent unless developers ask for it
    6 EXPERIMENTAL;
    /// needs an endpoint that accepts audio
    7 SUPPORTS_AUDIO_ONLY;
    /// needs an endpoint that accepts or produces images
    8 SUPPORTS_IMAGE_ONLY;
    /// needs an endpoint that produces video
    9 PRODUCES_VIDEO_ONLY;
    /// about reasoning; informational
    10 SUPPORTS_REASONING;
    /// needs service level objectives
    11 GOODPUT;
    /// not in the per-record export
    12 NO_INDIVIDUAL_RECORDS;
    /// needs client-side token counts
    13 USAGE_DIFF_ONLY;
    /// needs HTTP trace data on the record
    14 HTTP_TRACE_ONLY;
    /// has an error-adjusted twin
    15 PERCENTILE_INCLUDES_FAILED_REQUESTS;
    /// needs a fixed-schedule profiling phase
    16 FIXED_SCHEDULE_ONLY;
    /// off in accuracy mode
    17 DISABLE_ON_ACCURACY;
    /// not computed for time slices
    18 NO_SLICES;
    /// needs an endpoint that produces tokens, or embeddings or rankings that the client counts
    19 OUTPUT_LENGTH_ONLY;
    /// needs a profiling phase that sends by a schedule: a rate, users or a recording, not concurrency alone
    20 OPEN_LOOP_ONLY;
}

impl Flags {
    pub const NONE: Self = Self(0);
    /// Needs both streaming and an endpoint that produces tokens.
    pub const STREAMING_TOKENS_ONLY: Self = Self::STREAMING_ONLY.and(Self::PRODUCES_TOKENS_ONLY);

    /// Metrics with one of these are in no table of results. Failures and metrics for developers have tables of their
    /// own.
    const HIDDEN: [Self; 3] = [Self::ERROR_ONLY, Self::INTERNAL, Self::EXPERIMENTAL];

    /// Whether a table of results may show a metric with these flags.
    pub fn allow_table(self) -> bool {
        !Self::HIDDEN.iter().any(|flag| self.has(*flag))
    }

    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all flags of `other` are in this set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The meaning of the first flag of this set, in words.
    pub fn meaning(self) -> &'static str {
        let known = Self::ALL.iter().position(|(_, flag)| self.has(*flag));
        known.map_or("", |at| MEANINGS[at].trim())
    }

    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().filter(move |(_, flag)| self.has(*flag)).map(|(name, _)| *name)
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.and(other)
    }
}
