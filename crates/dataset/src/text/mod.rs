//! Texts generated to length.
//!
//! - `writer`: texts of an exact number of tokens
//! - `prose`: sentences, and texts of them; `code`: code and text about it; `vocabulary`: arbitrary tokens
//! - `fit`: fits any text to a number of tokens

mod code;
mod fit;
mod prose;
mod vocabulary;
mod writer;

pub(crate) use writer::{Writer, Written};
