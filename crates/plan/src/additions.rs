//! What is put into conversations of every source: a system prompt, and markers that keep them out of a server's cache.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What is put into every conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Additions {
    /// Stands before what a conversation has as its system message.
    pub system_prompt: Option<String>,
    pub cache_bust: Option<CacheBust>,
}

impl Additions {
    pub const NONE: &'static Self = &Self { system_prompt: None, cache_bust: None };

    pub fn is_none(&self) -> bool {
        self == Self::NONE
    }
}

/// A marker that differs between sessions, or between warm-up and what is measured, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheBust {
    pub place: MarkerPlace,
    pub marker: MarkerKind,
}

/// Which text a marker is put into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerPlace {
    /// The system message; the first of the user where there is none.
    System,
    /// The first message of the user.
    FirstTurn,
}

/// What a marker says, and on which side of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerKind {
    /// Before it, unlike in every session.
    Prefix,
    /// After it, unlike in every session.
    Suffix,
    /// Before it, the same in all sessions of warm-up, and none in any other.
    Warmup,
}

/// What stands for a marker until it is sent. Nobody writes this by accident, and JSON has no other form for it.
pub const PLACEHOLDER: &str = "[rid:<cache-bust>]";
/// Between a marker and the text beside it.
pub const MARKER_GAP: &str = "\n\n";
/// What every session of warm-up is marked with.
pub const WARMUP_MARKER: &str = "[warmup]";

/// The marker of a session: of a run, how often its trace was played before, where it plays, and the trace.
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
    /// The name by which users ask for it.
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

    /// All that users can ask for.
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

    /// A marker with what parts it from the text.
    pub fn with_gap(self, marker: &str) -> String {
        match self.marker {
            MarkerKind::Suffix => format!("{MARKER_GAP}{marker}"),
            MarkerKind::Prefix | MarkerKind::Warmup => format!("{marker}{MARKER_GAP}"),
        }
    }

    /// Markers that show what one costs on average, to within a twentieth of a token: their tokens differ by one or two.
    pub const SAMPLES: u64 = 1000;

    /// Tokens that a marker adds to what is measured, as the mean over so many markers.
    pub fn mean_cost(self, samples: u64, count: impl Fn(&str) -> usize) -> f64 {
        if self.marker == MarkerKind::Warmup {
            return 0.0;
        }
        let tokens = (0..samples).map(|n| count(&self.with_gap(&session_marker("", 0, n, ""))));
        tokens.sum::<usize>() as f64 / samples as f64
    }
}
