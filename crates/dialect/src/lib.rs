//! How each API wants it said, and how its answers are read.
//!
//! Pure: a conversation turn becomes a body, bytes become a parsed answer. No socket, no clock; instants come in with
//! the bytes.
//!
//! # Layout
//! - [`kinds`]: one file an endpoint type and the table that lists them
//! - [`url`]: base URL and path joined
//! - [`head`]: request line and header fields, with the ids spliced in
//! - [`sse`]: server-sent events in any splits
//! - `json`: JSON as servers write it
//! - [`answer`]: an exchange's responses folded into one parsed answer
//! - [`usage`]: every vendor's names for token counts; [`spec_decode`]: what a server tells of speculative decoding
//! - [`control`]: calls to servers around a run
//! - [`inputs`]: the text of a request body, for counting

pub mod answer;
pub mod control;
pub mod head;
pub mod inputs;
mod json;
pub mod kinds;
pub mod spec_decode;
pub mod sse;
pub mod url;
pub mod usage;

pub use answer::Answer;
pub use head::HeadTemplate;
pub use kinds::{Data, Dialect, DialectError, Piece, dialect};
