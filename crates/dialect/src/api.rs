//! An endpoint of the plan, with its dialect.

use crate::kinds::shared::expression::ResponseField;
use crate::kinds::shared::payload_template::PayloadTemplate;
use crate::kinds::template::payload_template;
use crate::kinds::{Carries, Dialect, dialect};
use crate::request::LastFrame;
use crate::settings::ApiSettings;
use crate::text::json;
use aiperf_plan::EndpointPlan;
use std::ops::Deref;
use thiserror::Error;

/// An endpoint's dialect with its settings, made once per run.
pub struct Api {
    pub dialect: &'static Dialect,
    settings: ApiSettings,
    pub(crate) last_frame: LastFrame,
}

impl Deref for Api {
    type Target = ApiSettings;

    fn deref(&self) -> &ApiSettings {
        &self.settings
    }
}

impl Api {
    /// Fails if the user's template or response field is invalid, before anything is sent.
    pub fn new(endpoint: &EndpointPlan, model: &str) -> Result<Self, ApiError> {
        let dialect = dialect(endpoint.kind);
        let template = endpoint.template.as_deref().filter(|_| dialect.is_free);
        let template = template.map(|source| {
            payload_template(source)
                .map_err(|reason| ApiError::Template { name: endpoint.template_name().to_owned(), reason })
        });
        let template = template.transpose()?;
        let field = endpoint.response_field.as_deref().filter(|_| dialect.is_free);
        let compiled = |expression: &str| {
            ResponseField::new(expression)
                .map_err(|reason| ApiError::ResponseField { expression: expression.to_owned(), reason })
        };
        let response_field = field.map(compiled).transpose()?;
        let (endpoint, model) = (endpoint.clone(), model.to_owned());
        let settings = ApiSettings { endpoint, model, template, response_field };
        Ok(Self { dialect, settings, last_frame: LastFrame::default() })
    }

    /// Whether a request depends on the turns before its own.
    pub(crate) fn looks_back(&self) -> bool {
        matches!(self.dialect.carries, Carries::History(_))
            || self.template.as_ref().is_some_and(PayloadTemplate::looks_back)
    }
}

/// Why an endpoint cannot be spoken to as the plan has it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ApiError {
    /// An invalid template.
    #[error(
        "{name} is no template that can be used: {reason}\n  bodies are made from it\n  try: a template that makes \
         JSON, as in {{\"text\": {{{{ text|tojson }}}}}}"
    )]
    Template { name: String, reason: String },
    /// An invalid path into responses.
    #[error(
        "response_field is no JMESPath expression that can be used: {reason}\n  it is '{}'\n  try: a path into a \
         response, as in choices[0].message.content, or leave it out: text is looked for in the usual places",
        json::shown(expression)
    )]
    ResponseField { expression: String, reason: String },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::endpoint;
    use aiperf_types::EndpointKind;

    #[test]
    fn what_cannot_be_understood_is_refused_before_anything_is_sent() {
        let mut raw = endpoint(EndpointKind::Raw);
        raw.response_field = Some("a[".into());
        let error = Api::new(&raw, "m").err().unwrap().to_string();
        assert!(error.starts_with("response_field is no JMESPath expression that can be used: "), "{error}");
        assert!(error.contains("\n  it is 'a['\n  try: "), "{error}");
        raw.response_field = Some("a.".repeat(5000));
        assert!(Api::new(&raw, "m").err().unwrap().to_string().len() < 800);
        raw.kind = EndpointKind::Chat;
        assert!(Api::new(&raw, "m").is_ok());
    }
}
