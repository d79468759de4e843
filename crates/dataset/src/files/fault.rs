//! What is wrong with a row.

/// What is wrong with a row, after its place: what, why, and the way out.
#[derive(Debug, PartialEq)]
pub(super) struct Fault(pub(super) String);
