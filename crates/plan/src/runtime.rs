//! How the process behaves.

use crate::api::ApiPlan;
pub use aiperf_types::LogLevel;
use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// Process behaviour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimePlan {
    /// The most workers; `None` decides by concurrency and cores.
    pub workers_max: Option<u32>,
    pub timestamps: Timestamps,
    pub worker_priority: WorkerPriority,
    pub ui: UiKind,
    pub log_level: LogLevel,
    /// How often statistics are shown during the run: in the table of the dashboard, otherwise in the log; `None`:
    /// never.
    pub stats_interval: Option<Nanos>,
    /// How often a line shows the progress, if no bar can be drawn; `None`: never.
    pub progress_every: Option<Nanos>,
    /// Progress in percent after which a bar is redrawn.
    pub bar_step_percent: f64,
    pub dashboard: DashboardPlan,
    pub api: Option<ApiPlan>,
    /// How often data of a growing file are handed to the operating system.
    pub flush_every: Nanos,
    /// Bytes of finished exchanges that may wait before dispatch stops.
    pub record_queue_budget: usize,
    /// Bytes of request bodies that are encoded before the clock starts.
    pub prepared_bytes: u64,
}

impl RuntimePlan {
    /// The default step after which a bar is redrawn.
    pub const BAR_STEP_PERCENT: f64 = 1.0;
    /// Well under the second after which a record must be on disk.
    pub const FLUSH_EVERY: Nanos = Nanos::from_millis(200);
    /// The default limit of bodies that are encoded beforehand.
    pub const PREPARED_BYTES: u64 = 1 << 30;
}

/// How often the parts of the dashboard are redrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DashboardPlan {
    pub log_refresh: Nanos,
    /// The spinner, and everything else that follows progress.
    pub spinner_refresh: Nanos,
    /// It opens with the GPU pane.
    pub opens_gpus: bool,
}

impl Default for DashboardPlan {
    fn default() -> Self {
        Self { log_refresh: Nanos::from_millis(100), spinner_refresh: Nanos::from_millis(100), opens_gpus: false }
    }
}

/// The timestamp of a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timestamps {
    /// The kernel's stamp if there is one.
    #[default]
    Auto,
    /// The kernel's stamp; its absence is an error before anything is sent.
    Kernel,
    /// The time when the read returned.
    User,
}

impl Timestamps {
    /// The name that users choose it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Kernel => "kernel",
            Self::User => "user",
        }
    }
}

/// The scheduling priority of the threads that send and read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerPriority {
    /// Real-time if the system allows it.
    #[default]
    Auto,
    /// That of the process.
    Normal,
    /// Real-time; it is an error if the system does not allow it.
    Realtime,
}

impl WorkerPriority {
    /// The name that users choose it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Normal => "normal",
            Self::Realtime => "realtime",
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
