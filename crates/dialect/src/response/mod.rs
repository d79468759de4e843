//! Responses: their readers, their content, and all responses of an exchange folded into one.
//!
//! # Layout
//! - [`reader`]: readers of responses, and the content of one; [`vectors`]: embeddings in it
//! - [`capture`]: what they provide for later turns
//! - [`usage`]: every vendor's names for token counts; [`spec_decode`]: the server's data on speculative decoding
//! - `shape`: the form of a message around its text; [`known`]: messages known from earlier responses
//! - [`parser`]: an exchange's responses folded into one parsed response

pub mod capture;
pub mod known;
pub mod parser;
pub mod reader;
mod shape;
pub mod spec_decode;
pub mod usage;
pub mod vectors;
