//! Payloads sent as they are, for servers of any API.

use super::{Carries, Dialect};
use crate::kinds::shared::detect::AnyReader;
use crate::request::DialectError;
use aiperf_types::EndpointKind;

pub const DIALECT: Dialect = Dialect {
    carries: Carries::LastTurn,
    is_free: true,
    // A turn that has a payload never gets here.
    ..Dialect::new(
        EndpointKind::Raw,
        |_| Err(DialectError::Missing("raw", NEEDED)),
        |api| Box::new(AnyReader { field: api.response_field.clone() }),
    )
};

const NEEDED: &str = "a whole payload in each turn: use --custom-dataset-type raw_payload";
