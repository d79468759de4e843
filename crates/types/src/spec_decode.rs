//! Speculative decoding as servers report it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Speculative decoding statistics a server attached to a response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpecDecode {
    pub mean_acceptance_length: Option<f64>,
    /// Accepted share of drafted tokens.
    pub draft_acceptance_rate: Option<f64>,
    /// Accepted drafts per step, as counts.
    pub acceptance_histogram: BTreeMap<u32, u64>,
    /// Drafted tokens accepted.
    pub num_accepted_draft_tokens: Option<u64>,
    pub num_draft_tokens: Option<u64>,
    pub num_spec_steps: Option<u64>,
    /// Tokens drafted in a step at most.
    pub num_spec_tokens: Option<u64>,
    /// Tokens of the response, by its usage.
    pub completion_tokens: Option<u64>,
    /// Drafted tokens accepted in each step.
    pub per_step_accepted: Option<Vec<u64>>,
    /// Tokens drafted in each step.
    pub per_step_drafted: Option<Vec<u64>>,
}
