//! Texts that are made to length.
//!
//! - `writer`: texts of exactly so many tokens
//! - `prose`: sentences, and texts of them; `code`: code and what is said about it; `vocabulary`: any tokens
//! - `fit`: any text made to have so many tokens

mod code;
mod fit;
mod prose;
mod vocabulary;
mod writer;

pub(crate) use writer::Writer;
