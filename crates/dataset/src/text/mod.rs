//! Texts that are made to length.
//!
//! - `prompt`: texts of exactly so many tokens
//! - `prose`: the sentences they are made of

mod prompt;
mod prose;

pub(crate) use prompt::Writer;
