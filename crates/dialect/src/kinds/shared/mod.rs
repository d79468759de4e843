//! What several endpoint types have in common.
//!
//! # Layout
//! - `content`: what a turn says, as a string or as parts
//! - [`vectors`]: embeddings in answers; `rankings`: a query and passages, and their order
//! - [`detect`]: what answers of no known shape say

pub(crate) mod content;
pub mod detect;
pub(crate) mod rankings;
pub mod vectors;
