//! Bodies as forms of several parts (RFC 7578).

use crate::request::DialectError;
use bytes::Bytes;
use serde_json::{Map, Value};

/// An encoded form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    pub pieces: Vec<Bytes>,
    /// With the boundary between its parts.
    pub content_type: String,
}

/// Puts the members of a payload into a form.
pub fn encode(_members: &Map<String, Value>) -> Result<Form, DialectError> {
    Err(DialectError::Encode("forms are not there yet".into()))
}
