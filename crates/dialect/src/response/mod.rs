//! Responses: their readers, their content, and all of an exchange folded into one.
//!
//! # Layout
//! - [`reader`]: readers of responses, and the content of one; [`vectors`]: embeddings in it
//! - [`capture`]: what they leave for later turns
//! - [`usage`]: every vendor's names for token counts; [`spec_decode`]: what a server reports of speculative decoding
//! - `shape`: what a message looks like around its text; [`known`]: messages that earlier answers had
//! - [`answer`]: an exchange's responses folded into one parsed answer

pub mod answer;
pub mod capture;
pub mod known;
pub mod reader;
mod shape;
pub mod spec_decode;
pub mod usage;
pub mod vectors;
