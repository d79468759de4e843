//! Metrics for OTLP: measured values and the progress of phases as protobuf messages, and the meaning of receivers'
//! responses. Nothing here waits or sends.
//!
//! # Layout
//! - [`messages`]: the messages of OTLP metrics
//! - [`resource`]: the sender
//! - `attributes`: the attributes of points
//! - [`timing`]: phases as counters
//! - [`export`]: one message with all values
//! - [`result`]: the result of an export
//! - [`pacing`]: when the next export is due

mod attributes;
pub mod export;
pub mod messages;
pub mod pacing;
pub mod resource;
pub mod result;
pub mod timing;

pub use export::Exporting;
pub use pacing::Pacing;
pub use result::{ExportResult, Receipt, Rejected};
