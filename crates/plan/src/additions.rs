//! What is added to conversations of every source: a system prompt, and markers that avoid hits in a server's cache.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What is added to every conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Additions {
    /// Precedes the system message of a conversation.
    pub system_prompt: Option<String>,
    pub cache_bust: Option<CacheBust>,
}

impl Additions {
    pub const NONE: &'static Self = &Self { system_prompt: None, cache_bust: None };

    pub fn is_none(&self) -> bool {
        self == Self::NONE
    }
}

/// A marker that differs between sessions, or between warm-up and profiling, and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheBust {
    pub place: MarkerPlace,
    pub marker: MarkerKind,
}

/// The text that gets the marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerPlace {
    /// The system message, or the first user message if there is none.
    System,
    /// The first user message.
    FirstTurn,
}

/// The content of a marker, and its side of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerKind {
    /// Before the text, different in every session.
    Prefix,
    /// After the text, different in every session.
    Suffix,
    /// Before the text, the same in all warm-up sessions, and absent from all others.
    Warmup,
}

/// Replaces a marker until it is sent. No user writes this by accident, and JSON has no other form for it.
pub const PLACEHOLDER: &str = "[rid:<cache-bust>]";
/// Between a marker and the text.
pub const MARKER_GAP: &str = "\n\n";
/// The marker of every warm-up session.
pub const WARMUP_MARKER: &str = "[warmup]";

/// The marker of a session. It depends on the run, the number of earlier passes of its trace, its lane, and the trace.
pub fn session_marker(benchmark_id: &str, pass: u64, lane: u64, trace: &str) -> String {
    let digest = Sha256::digest(format!("{benchmark_id}:{pass}:{lane}:{trace}"));
    let hex: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("[rid:{hex}]")
}

/// The trace that a conversation is a part of.
pub fn base_trace_id(conversation_id: &str) -> &str {
    conversation_id.split_once("::").map_or(conversation_id, |(trace, _)| trace)
}

impl CacheBust {
    /// The name that users choose it by.
    pub fn target(self) -> &'static str {
        match (self.place, self.marker) {
            (MarkerPlace::System, MarkerKind::Prefix) => "system_prefix",
            (MarkerPlace::System, MarkerKind::Suffix) => "system_suffix",
            (MarkerPlace::System, MarkerKind::Warmup) => "warmup_isolation_system",
            (MarkerPlace::FirstTurn, MarkerKind::Prefix) => "first_turn_prefix",
            (MarkerPlace::FirstTurn, MarkerKind::Suffix) => "first_turn_suffix",
            (MarkerPlace::FirstTurn, MarkerKind::Warmup) => "warmup_isolation_first_turn",
        }
    }

    /// Everything that users can choose.
    pub const ALL: [Self; 6] = {
        const fn of(place: MarkerPlace, marker: MarkerKind) -> CacheBust {
            CacheBust { place, marker }
        }
        [
            of(MarkerPlace::System, MarkerKind::Prefix),
            of(MarkerPlace::System, MarkerKind::Suffix),
            of(MarkerPlace::FirstTurn, MarkerKind::Prefix),
            of(MarkerPlace::FirstTurn, MarkerKind::Suffix),
            of(MarkerPlace::System, MarkerKind::Warmup),
            of(MarkerPlace::FirstTurn, MarkerKind::Warmup),
        ]
    };

    /// A marker with its separator from the text.
    pub fn with_gap(self, marker: &str) -> String {
        match self.marker {
            MarkerKind::Suffix => format!("{MARKER_GAP}{marker}"),
            MarkerKind::Prefix | MarkerKind::Warmup => format!("{marker}{MARKER_GAP}"),
        }
    }

    /// Enough markers for a mean cost within a twentieth of a token: their counts differ by one or two tokens.
    pub const SAMPLES: u64 = 1000;

    /// Tokens that a marker adds to profiling requests, as the mean over this many markers.
    pub fn mean_cost(self, samples: u64, count: impl Fn(&str) -> usize) -> f64 {
        if self.marker == MarkerKind::Warmup {
            return 0.0;
        }
        let tokens = (0..samples).map(|n| count(&self.with_gap(&session_marker("", 0, n, ""))));
        tokens.sum::<usize>() as f64 / samples as f64
    }
}
