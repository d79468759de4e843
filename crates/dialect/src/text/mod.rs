//! What servers write: JSON and streams of events.
//!
//! # Layout
//! - `json`: JSON as servers write it; `strict`: members in the usual form; `lenient`: members that may have another
//!   type than expected
//! - `data_uri`: data in place of a URL
//! - [`sse`]: server-sent events in any splits

pub(crate) mod data_uri;
pub(crate) mod json;
pub(crate) mod lenient;
pub mod sse;
pub(crate) mod strict;
