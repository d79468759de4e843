//! Metrics for OTLP: measured values and the progress of phases as protobuf messages, and the meaning of receivers'
//! responses. Nothing here waits or sends.
//!
//! # Layout
//! - [`messages`]: the messages of OTLP metrics
//! - [`resource`]: the sender
//! - `attributes`: the attributes of points
//! - [`timing`]: phases as counters
//! - [`export`]: one message with all values
//! - [`answer`]: the response of a receiver
//! - [`pacing`]: when the next export is due

pub mod answer;
mod attributes;
pub mod export;
pub mod messages;
pub mod pacing;
pub mod resource;
pub mod timing;

pub use answer::{Answer, Receipt, Rejected};
pub use export::Exporting;
pub use pacing::Pacing;
