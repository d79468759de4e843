//! Embeddings, rankings, images found and made, and what is counted of bodies.

use serde_json::Value;

pub(crate) fn request(_case: &Value) -> Option<&'static str> {
    None
}

pub(crate) fn reading(_case: &Value, _bodies: &[Value]) -> Option<&'static str> {
    None
}

pub(crate) fn inputs(_case: &Value) -> Option<&'static str> {
    None
}
