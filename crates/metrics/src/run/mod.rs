//! One run: which metrics it has, and those of its records.

pub mod check;
pub mod error_type;
pub mod goodput;
pub mod limits;
pub mod record;
mod selection;
mod traits;
pub mod until;
pub mod view;

pub use record::RecordMetrics;
pub(crate) use selection::Chosen;
pub use selection::Metrics;
pub use traits::RunTraits;
