//! What servers write: JSON and streams of events.
//!
//! # Layout
//! - `json`: JSON as servers write it; `strict`: members of it as nearly all servers send them; `lenient`: members that
//!   need not be what they should be
//! - `data_uri`: data in place of a URL
//! - [`sse`]: server-sent events in any splits

pub(crate) mod data_uri;
pub(crate) mod json;
pub(crate) mod lenient;
pub mod sse;
pub(crate) mod strict;
