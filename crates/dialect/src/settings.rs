//! An endpoint as the plan has it: what its dialect encodes and reads by.

use crate::kinds::shared::expression::ResponseField;
use crate::kinds::shared::payload_template::PayloadTemplate;
use aiperf_plan::EndpointPlan;

/// An endpoint's plan, with the parts that users write in a language of their own compiled.
pub struct ApiSettings {
    pub endpoint: EndpointPlan,
    /// Model of turns that name none.
    pub model: String,
    pub(crate) template: Option<PayloadTemplate>,
    /// Where responses have their content; `None` detects it.
    pub(crate) response_field: Option<ResponseField>,
}
