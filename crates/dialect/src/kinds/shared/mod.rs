//! What several endpoint types have in common.
//!
//! # Layout
//! - `content`: a turn as a string or as parts; `chunk`: an answer in choices
//! - [`vectors`]: embeddings in answers; `rankings`: a query and passages, and their order
//! - [`expression`]: where a response has its content; [`detect`]: the content of responses of no known shape
//! - [`payload_template`]: a template of the user's for bodies

pub(crate) mod chunk;
pub(crate) mod content;
pub mod detect;
pub mod expression;
pub mod payload_template;
pub(crate) mod rankings;
pub mod vectors;
