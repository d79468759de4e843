//! Calls to the servers around a run, besides its requests.

use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// How a run waits for servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    /// For each probe of each model at each URL; more than zero.
    pub timeout: Nanos,
    pub mode: ReadinessMode,
    /// Between two attempts.
    pub interval: Nanos,
}

/// The condition under which a server is ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadinessMode {
    /// It lists the model.
    Models,
    /// It responds to a request for one token.
    #[default]
    Inference,
    Both,
}

impl ReadinessMode {
    /// The name that users choose it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Models => "models",
            Self::Inference => "inference",
            Self::Both => "both",
        }
    }

    pub const fn lists_models(self) -> bool {
        matches!(self, Self::Models | Self::Both)
    }

    pub const fn infers(self) -> bool {
        matches!(self, Self::Inference | Self::Both)
    }
}

/// Empties the servers' prefix caches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheReset {
    pub path: String,
    /// Of one call.
    pub timeout: Nanos,
    /// Calls that fail for a temporary reason are retried for this long.
    pub max_retry: Nanos,
}

impl CacheReset {
    /// The default path.
    pub const PATH: &'static str = "/reset_prefix_cache";
}

/// Switches the servers' profilers on and off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerProfiler {
    pub start_path: String,
    pub stop_path: String,
    /// Of one call.
    pub timeout: Nanos,
}

impl ServerProfiler {
    pub const START_PATH: &'static str = "/start_profile";
    pub const STOP_PATH: &'static str = "/stop_profile";
}
