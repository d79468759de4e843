//! Why sessions cannot be made as they are asked for.

/// Why sessions cannot be made so: what, and the way out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigFault(pub(super) String);
