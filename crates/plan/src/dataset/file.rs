//! Conversations of files.

use super::Distribution;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Conversations of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilePlan {
    /// A file, or a folder of them where the format has a conversation a file.
    pub path: PathBuf,
    pub format: FileFormat,
    /// Conversations used at most, from the first; `None` uses all.
    pub entries: Option<u64>,
    /// Output length asked for where the file says none.
    pub osl: Option<Distribution>,
    /// Timestamps that are used, in milliseconds, both ends included; rows without one are.
    pub window: TimestampWindow,
    /// What delays are multiplied by.
    pub delay_ratio: f64,
    /// Milliseconds that a delay has at most, once it is multiplied.
    pub delay_cap_ms: Option<f64>,
    /// Whether a system turn that leads a conversation is its system message: the endpoint sends one. Else it is a turn
    /// like any other.
    pub hoist_system: bool,
}

/// Which timestamps are used, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimestampWindow {
    pub start_ms: Option<f64>,
    pub end_ms: Option<f64>,
}

impl FilePlan {
    /// All of a file as it is.
    pub fn new(path: impl Into<PathBuf>, format: FileFormat) -> Self {
        Self {
            path: path.into(),
            format,
            entries: None,
            osl: None,
            window: TimestampWindow::default(),
            delay_ratio: 1.0,
            delay_cap_ms: None,
            hoist_system: true,
        }
    }
}

impl TimestampWindow {
    pub fn contains(&self, timestamp_ms: f64) -> bool {
        self.start_ms.is_none_or(|start| start <= timestamp_ms) && self.end_ms.is_none_or(|end| timestamp_ms <= end)
    }
}

/// How conversations stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileFormat {
    /// A conversation of one turn a line.
    SingleTurn,
    /// A conversation a line, or several lines of one name.
    MultiTurn,
    /// A whole body a line, sent as it is.
    RawPayload,
}

impl FileFormat {
    /// The name a user chooses it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SingleTurn => "single_turn",
            Self::MultiTurn => "multi_turn",
            Self::RawPayload => "raw_payload",
        }
    }
}
