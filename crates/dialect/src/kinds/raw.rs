//! Payloads sent as they are, to servers that speak whatever they speak.

use super::{Carries, Dialect};
use crate::kinds::shared::detect::AnyReader;
use crate::request::DialectError;
use crate::request::inputs;
use crate::response::capture::TextCapture;
use aiperf_types::EndpointKind;

pub const DIALECT: Dialect = Dialect {
    kind: EndpointKind::Raw,
    carries: Carries::LastTurn,
    // A turn that has a payload never gets here.
    frame: |_| Err(DialectError::Missing("raw", NEEDED)),
    reader: |api| Box::new(AnyReader { field: api.response_field.clone() }),
    capture: |_| Box::new(TextCapture::default()),
    inputs: inputs::of_messages,
    is_free: true,
};

const NEEDED: &str = "a whole payload in each turn: use --input-type raw_payload or inputs_json";
