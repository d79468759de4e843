//! The configuration, one file per section: fields, their valid values, and their defaults.

pub mod artifacts;
pub mod dataset;
pub mod distribution;
pub mod endpoint;
pub mod envelope;
pub mod layout;
pub mod limits;
pub mod media;
pub mod models;
pub mod observe;
pub mod phases;
pub mod process;
pub mod ramps;
pub mod runs;
pub mod scale;
mod spelled;
pub mod sweep;
pub mod until;
