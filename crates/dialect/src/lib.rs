//! How each API wants it said, and how its answers are read.
//!
//! Pure: a conversation turn becomes a body, bytes become a parsed answer. No socket, no clock; instants come in with
//! the bytes.
//!
//! # Layout
//! - [`kinds`]: one file an endpoint type and the table that lists them
//! - [`api`]: an endpoint as the plan has it
//! - [`request`]: what a body is made from; a conversation as it goes on
//! - [`multipart`]: bodies as forms
//! - [`url`]: base URL and path joined
//! - [`head`]: request line and header fields, with the ids spliced in
//! - [`sse`]: server-sent events in any splits
//! - `json`: JSON as servers write it
//! - [`reader`]: what reads responses, and what they say; [`capture`]: what they leave for later turns
//! - [`vectors`]: embeddings in answers; [`detect`]: what answers of no known shape say
//! - [`answer`]: an exchange's responses folded into one parsed answer
//! - [`usage`]: every vendor's names for token counts; [`spec_decode`]: what a server tells of speculative decoding
//! - [`video`]: the steps of a request that makes a video
//! - [`control`]: calls to servers around a run
//! - [`inputs`]: the text of a request body, for counting

pub mod answer;
pub mod api;
pub mod capture;
pub mod control;
pub mod detect;
pub mod head;
pub mod inputs;
mod json;
pub mod kinds;
pub mod multipart;
pub mod reader;
pub mod request;
pub mod spec_decode;
pub mod sse;
#[cfg(test)]
mod testing;
pub mod url;
pub mod usage;
pub mod vectors;
pub mod video;

pub use answer::Answer;
pub use api::{Api, ApiError};
pub use head::HeadTemplate;
pub use kinds::{Dialect, dialect};
pub use reader::{Data, Delivery, Piece, Reader};
pub use request::{DialectError, EncodedRequest, Session};
