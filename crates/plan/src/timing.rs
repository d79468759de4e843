//! Settings of the schedule, for all phases.

use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// How exact the schedule is, and its time limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimingPlan {
    /// A rate that is later than this continues from the present, and the requests that were due are lost; `None`
    /// always catches up.
    pub max_catchup: Option<Nanos>,
    /// How long cancelled requests may take to return before a phase ends without them.
    pub cancel_drain: Nanos,
    /// A climbing rate starts where a linear climb would be after this time.
    pub rate_ramp_step: Nanos,
    /// Between log lines of a warm-up; `None`: no lines.
    pub warmup_log_interval: Option<Nanos>,
}

impl Default for TimingPlan {
    fn default() -> Self {
        Self {
            max_catchup: None,
            cancel_drain: Nanos(10_000_000_000),
            rate_ramp_step: Nanos(100_000_000),
            warmup_log_interval: Some(Nanos(30_000_000_000)),
        }
    }
}
