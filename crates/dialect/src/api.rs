//! An endpoint as the plan has it, ready to be spoken to.

use crate::kinds::{Dialect, dialect};
use aiperf_plan::EndpointPlan;
use thiserror::Error;

/// An endpoint's dialect with everything that the plan says about it, made once a run.
pub struct Api {
    pub dialect: &'static Dialect,
    pub endpoint: EndpointPlan,
    /// Model of turns that name none.
    pub model: String,
}

impl Api {
    /// Fails where what the user gave cannot be understood, before anything is sent.
    pub fn new(endpoint: &EndpointPlan, model: &str) -> Result<Self, ApiError> {
        Ok(Self { dialect: dialect(endpoint.kind), endpoint: endpoint.clone(), model: model.to_owned() })
    }
}

/// Why an endpoint cannot be spoken to as the plan has it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ApiError {
    /// A template that is none.
    #[error("the payload template cannot be read: {0}")]
    Template(String),
    /// A path into answers that is none.
    #[error("response_field '{expression}' is no JMESPath expression: {reason}")]
    ResponseField { expression: String, reason: String },
}
