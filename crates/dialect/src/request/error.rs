//! Why a request cannot be encoded.

use thiserror::Error;

/// Why a request cannot be put into a dialect.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DialectError {
    #[error("the conversation has no turn to send")]
    NoTurn,
    /// More than one turn where only one can be sent.
    #[error(
        "the {0} endpoint sends one turn; this conversation has more\n  try: one turn each, or an endpoint type that \
         carries earlier turns, such as chat"
    )]
    OneTurnOnly(&'static str),
    /// A content that the type cannot carry.
    #[error("the {0} endpoint cannot carry {1}")]
    Unsupported(&'static str, &'static str),
    /// A content that the type needs.
    #[error("the {0} endpoint needs {1}")]
    Missing(&'static str, &'static str),
    /// A content of the wrong form.
    #[error("{0}")]
    Malformed(String),
    #[error("cannot encode the request body: {0}")]
    Encode(String),
}
