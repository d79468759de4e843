//! An endpoint as the plan has it, ready to be spoken to.

use crate::detect::ResponseField;
use crate::kinds::template::PayloadTemplate;
use crate::kinds::{self, Dialect, dialect};
use aiperf_plan::EndpointPlan;
use aiperf_types::{EndpointKind, Turn};
use std::collections::BTreeSet;
use thiserror::Error;

/// An endpoint's dialect with everything that the plan says about it, made once a run.
pub struct Api {
    pub dialect: &'static Dialect,
    pub endpoint: EndpointPlan,
    /// Model of turns that name none.
    pub model: String,
    pub(crate) template: Option<PayloadTemplate>,
    /// Where answers have what they say; `None` finds it out.
    pub(crate) response_field: Option<ResponseField>,
}

/// What the configuration puts in the place of a field that nobody named, for templates.
const NO_FIELD: &str = "text";

impl Api {
    /// Fails where what the user gave cannot be understood, before anything is sent.
    pub fn new(endpoint: &EndpointPlan, model: &str) -> Result<Self, ApiError> {
        let kind = endpoint.kind;
        let source = endpoint.template.as_deref().filter(|_| kind == EndpointKind::Template);
        let template = source.map(PayloadTemplate::new).transpose().map_err(ApiError::Template)?;
        let field = endpoint.response_field.as_deref().filter(|field| match kind {
            EndpointKind::Raw => true,
            EndpointKind::Template => *field != NO_FIELD,
            _ => false,
        });
        let compiled = |expression: &str| {
            ResponseField::new(expression)
                .map_err(|reason| ApiError::ResponseField { expression: expression.to_owned(), reason })
        };
        let response_field = field.map(compiled).transpose()?;
        let (dialect, endpoint, model) = (dialect(kind), endpoint.clone(), model.to_owned());
        Ok(Self { dialect, endpoint, model, template, response_field })
    }

    /// What is not sent although the plan or a turn says so, a sentence for each: to be told once, before a run.
    pub fn warnings<'a>(&self, turns: impl IntoIterator<Item = &'a Turn>) -> Vec<String> {
        let reserved = kinds::reserved(self.endpoint.kind);
        if reserved.is_empty() {
            return Vec::new();
        }
        let of_turns = turns.into_iter().filter_map(|turn| turn.extra_body.as_ref()).flat_map(|extra| extra.keys());
        let given: BTreeSet<&str> = self.endpoint.extra.keys().chain(of_turns).map(String::as_str).collect();
        let dropped = reserved.iter().filter(|member| given.contains(**member));
        let kind = self.endpoint.kind.name();
        dropped
            .map(|member| {
                format!("the extra input '{member}' is not sent: the {kind} endpoint sets it from what a turn holds")
            })
            .collect()
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
