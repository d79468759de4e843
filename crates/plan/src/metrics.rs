//! What is computed of the measurements, and what of it is shown.

use aiperf_types::{Limit, Nanos, Slo, Thresholds};
use serde::{Deserialize, Serialize};

/// What is computed of the measurements, and what of it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricsPlan {
    /// Objectives that a good request meets, all of them; none counts no good requests.
    pub slos: Vec<Slo>,
    /// Limits that fail the run.
    pub limits: Vec<Limit>,
    /// Length of the time slices that results are cut into as well; `None` does not cut them.
    pub slice: Option<Nanos>,
    /// How far token counts may be off before a request is counted as deviating.
    pub thresholds: Thresholds,
    /// Show metrics that only others need.
    pub show_internal: bool,
    /// Compute and show metrics that may change.
    pub show_experimental: bool,
    /// Show the phases of HTTP exchanges on the console.
    pub show_trace_timing: bool,
}
