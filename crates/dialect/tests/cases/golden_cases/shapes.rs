//! What the cases of every kind have.

use aiperf_types::EndpointKind;
use serde_json::Value;

pub(crate) fn kind(case: &Value) -> EndpointKind {
    EndpointKind::parse(case["endpoint_type"].as_str().unwrap()).unwrap()
}
