//! What results are held against: objectives of the user, and how far token counts may be off.

use serde::{Deserialize, Serialize};

/// One service level objective: a metric and its threshold, in the unit the metric is shown in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slo {
    /// The metric.
    pub tag: String,
    /// The value it has to reach, or must not exceed.
    pub threshold: f64,
}

/// Limits beyond which a record is counted as deviating.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Largest difference between reported and counted tokens, in percent.
    pub usage_diff_pct: f64,
    /// Largest difference between produced and requested tokens, in percent of the request.
    pub osl_mismatch_pct: f64,
    /// The same in tokens; the smaller of both counts.
    pub osl_mismatch_tokens: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { usage_diff_pct: 10.0, osl_mismatch_pct: 5.0, osl_mismatch_tokens: 50 }
    }
}
