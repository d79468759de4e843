//! An endpoint as the plan has it, ready to be spoken to.

use crate::kinds::shared::detect::ResponseField;
use crate::kinds::template::PayloadTemplate;
use crate::kinds::{Carries, Dialect, dialect};
use aiperf_plan::EndpointPlan;
use aiperf_types::EndpointKind;
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

    /// Whether a request depends on what was said before its turn.
    pub(crate) fn looks_back(&self) -> bool {
        matches!(self.dialect.carries, Carries::History(_))
            || self.template.as_ref().is_some_and(PayloadTemplate::looks_back)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::endpoint;

    #[test]
    fn what_cannot_be_understood_is_refused_before_anything_is_sent() {
        let mut raw = endpoint(EndpointKind::Raw);
        raw.response_field = Some("a[".into());
        let error = Api::new(&raw, "m").err().unwrap().to_string();
        assert!(error.starts_with("response_field 'a[' is no JMESPath expression: "), "{error}");
        raw.kind = EndpointKind::Chat;
        assert!(Api::new(&raw, "m").is_ok());
    }
}
