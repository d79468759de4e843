//! Recorded requests.

use super::{Corpus, Distribution, TimestampWindow};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::path::PathBuf;

/// A trace that is replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracePlan {
    pub path: PathBuf,
    pub format: TraceFormat,
    /// The most conversations that are used, from the first; `None` uses all.
    pub entries: Option<u64>,
    /// The requested output length if a row has none.
    pub osl: Option<Distribution>,
    /// Timestamps that are used, in milliseconds, both ends included. Rows without a timestamp are used.
    pub window: TimestampWindow,
    /// The factor of delays.
    pub delay_ratio: f64,
    /// The largest delay after the factor, in milliseconds.
    pub delay_cap_ms: Option<f64>,
    /// The largest time between consecutive rows after the speedup, in milliseconds.
    pub idle_gap_cap_ms: Option<f64>,
    /// Whether timestamps and delays of rows are ignored.
    pub ignores_times: bool,
    /// The corpus for rows that contain only the length of their text.
    pub corpus: Corpus,
    /// Tokens per hash id; `None` is the default of the format.
    pub block_size: Option<u32>,
    pub synthesis: Synthesis,
    pub baseten: BasetenReplay,
}

/// How rows are changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Synthesis {
    /// The divisor of timestamps.
    pub speedup: f64,
    /// The factor of the length of a prefix that rows share.
    pub prefix_len: f64,
    /// The number of prefix trees that rows are spread over.
    pub prefix_roots: u32,
    /// The factor of the length of the rest of a prompt.
    pub prompt_len: f64,
    pub output_len: f64,
    /// Rows with more input tokens are left out; reshaped ones are cut.
    pub max_isl: Option<u32>,
    /// The most output tokens that are requested.
    pub max_osl: Option<u32>,
}

/// How a trace of Baseten is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BasetenReplay {
    /// The share of sessions that are replayed; `None` replays all.
    pub session_share: Option<f64>,
    /// The divisor of times.
    pub speedup: f64,
    pub pace: Pace,
    /// Whether bodies contain `hash_ids` and `block_size`.
    pub kv_hints: bool,
    /// Whether bodies contain `min_tokens`.
    pub min_tokens: bool,
    pub session_column: SessionColumn,
}

/// What the rows of a session after its first wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// Their time, and the response to the row before.
    #[default]
    Open,
    /// Their time only: each row is a session of its own.
    OpenStrict,
    /// The response to the row before, and then the recorded pause.
    Closed,
}

/// Which column names sessions; if it is missing, the other one does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionColumn {
    #[default]
    Provided,
    PoorMan,
}

/// The format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    Mooncake,
    Bailian,
    BurstGpt,
    Baseten,
}

impl TracePlan {
    /// All of a trace, unchanged.
    pub fn new(path: impl Into<PathBuf>, format: TraceFormat) -> Self {
        Self {
            path: path.into(),
            format,
            entries: None,
            osl: None,
            window: TimestampWindow::default(),
            delay_ratio: 1.0,
            delay_cap_ms: None,
            idle_gap_cap_ms: None,
            ignores_times: false,
            corpus: Corpus::default(),
            block_size: None,
            synthesis: Synthesis::NONE,
            baseten: BasetenReplay::AS_RECORDED,
        }
    }
}

impl Synthesis {
    /// Rows are not changed.
    pub const NONE: Self = Self {
        speedup: 1.0,
        prefix_len: 1.0,
        prefix_roots: 1,
        prompt_len: 1.0,
        output_len: 1.0,
        max_isl: None,
        max_osl: None,
    };

    /// Whether rows are rewritten, rather than left out or capped.
    pub fn reshapes(&self) -> bool {
        self.reshapes_ids() || self.speedup != 1.0 || self.output_len != 1.0
    }

    /// Whether that changes shared prefixes and input lengths.
    pub fn reshapes_ids(&self) -> bool {
        self.prefix_len != 1.0 || self.prompt_len != 1.0 || self.prefix_roots > 1
    }
}

impl BasetenReplay {
    pub const AS_RECORDED: Self = Self {
        session_share: None,
        speedup: 1.0,
        pace: Pace::Open,
        kv_hints: true,
        min_tokens: true,
        session_column: SessionColumn::Provided,
    };
}

impl SessionColumn {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Provided => "provided_session_id",
            Self::PoorMan => "poor_man_session_id",
        }
    }

    pub const fn other(self) -> Self {
        match self {
            Self::Provided => Self::PoorMan,
            Self::PoorMan => Self::Provided,
        }
    }
}

impl TraceFormat {
    pub const ALL: &[Self] = &[Self::Mooncake, Self::Bailian, Self::BurstGpt, Self::Baseten];

    /// The name that users choose it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mooncake => "mooncake_trace",
            Self::Bailian => "bailian_trace",
            Self::BurstGpt => "burst_gpt_trace",
            Self::Baseten => "baseten_trace",
        }
    }

    /// Whether several rows may be turns of one session.
    pub const fn has_sessions(self) -> bool {
        !matches!(self, Self::BurstGpt)
    }
}

impl Serialize for TraceFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for TraceFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = Self::ALL.iter().copied().find(|format| format.name() == name);
        found.ok_or_else(|| de::Error::custom(format!("no format of traces is called '{name}'")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_written_and_read_by_its_name() {
        for format in TraceFormat::ALL {
            let written = serde_json::to_value(format).unwrap();
            assert_eq!(written, format.name());
            assert_eq!(serde_json::from_value::<TraceFormat>(written).unwrap(), *format);
        }
        assert!(serde_json::from_value::<TraceFormat>("csv".into()).is_err());
    }
}
