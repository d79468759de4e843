//! Whether the numbers of a run can be trusted.
//!
//! - [`verdict`]: one of three grades, with its reasons

pub mod verdict;
