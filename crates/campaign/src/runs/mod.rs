//! Many runs, one after the other: what decides about them, without running any.
//!
//! # Layout
//! - [`agenda`]: which run comes next, as a function of what has happened so far
//! - [`convergence`]: whether trials have shown enough

pub mod agenda;
pub mod convergence;

pub use agenda::{Agenda, Step};
