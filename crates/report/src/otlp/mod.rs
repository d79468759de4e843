//! Metrics as OTLP has them: what a run measured and how far its phases are, put into messages of protobuf, and what the
//! answers of receivers mean. Nothing here waits or sends.
//!
//! # Layout
//! - [`messages`]: the messages of OTLP metrics
//! - [`resource`]: who sends
//! - `attributes`: the attributes of points
//! - [`timing`]: phases as counters
//! - [`export`]: one message of all there is
//! - [`answer`]: the answer of a receiver to it
//! - [`pacing`]: when the next is due

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
