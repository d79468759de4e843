//! How much a message matters.

use serde::{Deserialize, Serialize};

/// Levels of messages, from the most talkative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LogLevel {
    Trace,
    /// For finding faults.
    Debug,
    /// What happens.
    #[default]
    Info,
    /// What a user should see.
    Notice,
    /// What may be wrong.
    Warning,
    /// What went well.
    Success,
    /// What went wrong.
    Error,
    /// What ends the run.
    Critical,
}

impl LogLevel {
    pub const ALL: &[Self] = &[
        Self::Trace,
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Success,
        Self::Error,
        Self::Critical,
    ];

    /// The name in log lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace => "TRACE",
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Notice => "NOTICE",
            Self::Warning => "WARNING",
            Self::Success => "SUCCESS",
            Self::Error => "ERROR",
            Self::Critical => "CRITICAL",
        }
    }
}
