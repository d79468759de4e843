//! How the process behaves.

use crate::api::ApiPlan;
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
    /// How often statistics are told while the run is on: in the table of the dashboard, elsewhere in the log; `None`
    /// tells none.
    pub stats_interval: Option<Nanos>,
    /// How often a line says how far the run is, where no bar can be drawn; `None` says it never.
    pub progress_every: Option<Nanos>,
    /// Progress, in percent, after which a bar is drawn anew.
    pub bar_step_percent: f64,
    pub dashboard: DashboardPlan,
    pub api: Option<ApiPlan>,
    /// What was written to a file that grows is handed to the operating system this often.
    pub flush_every: Nanos,
    /// Bytes of finished exchanges that may wait before dispatch stops.
    pub record_queue_budget: usize,
    /// Bytes of request bodies that are encoded before the clock starts.
    pub prepared_bytes: u64,
}

impl RuntimePlan {
    /// Progress after which a bar is drawn anew, unless the user wants another.
    pub const BAR_STEP_PERCENT: f64 = 1.0;
    /// Well under the second after which a record is to be on disk.
    pub const FLUSH_EVERY: Nanos = Nanos::from_millis(200);
    /// Bodies that are encoded beforehand, unless the user wants more or fewer of them.
    pub const PREPARED_BYTES: u64 = 1 << 30;
}

/// How often the parts of the dashboard are drawn anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DashboardPlan {
    pub log_refresh: Nanos,
    /// The spinner, and with it everything that follows progress.
    pub spinner_refresh: Nanos,
    /// It opens with the pane of the GPUs.
    pub opens_gpus: bool,
}

impl Default for DashboardPlan {
    fn default() -> Self {
        Self { log_refresh: Nanos::from_millis(100), spinner_refresh: Nanos::from_millis(100), opens_gpus: false }
    }
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
