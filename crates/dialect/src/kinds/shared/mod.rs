//! Code that several endpoint types share.
//!
//! # Layout
//! - `content`: a turn as a string or as parts; `chunk`: a response in choices
//! - [`vectors`]: embeddings in responses; `rankings`: a query and passages, and their order
//! - [`expression`]: where a response has its content; [`detect`]: the content of responses of unknown form
//! - [`payload_template`]: the user's template for bodies

pub(crate) mod chunk;
pub(crate) mod content;
pub mod detect;
pub mod expression;
pub mod payload_template;
pub(crate) mod rankings;
pub mod vectors;
