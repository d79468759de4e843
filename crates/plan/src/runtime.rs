//! How the process behaves.

pub use aiperf_types::LogLevel;
use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// Process behaviour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimePlan {
    /// Workers; `None` decides by concurrency and cores.
    pub workers_max: Option<u32>,
    pub timestamps: Timestamps,
    pub ui: UiKind,
    pub log_level: LogLevel,
    /// How often statistics are logged while the run is on; `None` never does.
    pub stats_interval: Option<Nanos>,
    /// Progress, in percent, after which a bar is drawn anew.
    pub bar_step_percent: f64,
    /// Bytes of finished exchanges that may wait before dispatch stops.
    pub record_queue_budget: usize,
}

/// Which instant a read gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timestamps {
    /// The kernel's stamp where it gives one.
    #[default]
    Auto,
    /// The kernel's stamp; its absence is an error before anything is sent.
    Kernel,
    /// When the read returned.
    User,
}

impl Timestamps {
    /// The name a user chooses it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Kernel => "kernel",
            Self::User => "user",
        }
    }
}

/// What the screen shows during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UiKind {
    None,
    /// Log lines and a progress bar below them.
    Simple,
    Dashboard,
}

impl UiKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Simple => "simple",
            Self::Dashboard => "dashboard",
        }
    }
}
