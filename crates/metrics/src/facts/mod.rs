//! A record as integers, and many records as packed columns of them.

pub(crate) mod columns;
mod fact;

pub(crate) use fact::Applies;
pub use fact::{FACTS, Fact, Facts};
