//! Which metrics are computed and shown.

use aiperf_types::{Limit, Nanos, Precision, Slo, Thresholds};
use serde::{Deserialize, Serialize};

/// Which metrics are computed and shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricsPlan {
    /// The objectives of a good request: it must meet all. Without any, no good requests are counted.
    pub slos: Vec<Slo>,
    /// Limits that fail the run.
    pub limits: Vec<Limit>,
    /// Statistics that end a profiling phase once all of them are known so exactly. Without any, only its counts and its
    /// time end it.
    pub until: Vec<Precision>,
    /// The length of time slices with their own results; `None`: no slices.
    pub slice: Option<Nanos>,
    /// How far token counts may deviate before a request counts as deviating.
    pub thresholds: Thresholds,
    /// Shows metrics that only other metrics need.
    pub show_internal: bool,
    /// Computes and shows metrics that may change.
    pub show_experimental: bool,
    /// Shows the phases of HTTP exchanges on the console.
    pub show_trace_timing: bool,
}
