//! One run: which metrics it has, and those of its records.

pub mod check;
pub mod goodput;
pub mod record;
mod selection;

pub(crate) use selection::{Applies, Chosen};
pub use selection::{Metrics, Rules, RunTraits};
