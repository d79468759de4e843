//! The configuration, one file a section: fields, what each may be, and its default.

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
pub mod runs;
pub mod scale;
pub mod sweep;
