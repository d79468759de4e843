//! How requests of each API are encoded, and how its responses are read.
//!
//! The crate is pure: a conversation turn becomes a body, bytes become a parsed response. No socket, no clock; instants
//! arrive with the bytes.
//!
//! # Layout
//! In the order in which to read them.
//! - `text`: JSON as servers write it, members that may have another type than expected, server-sent events
//! - [`response`]: readers of responses and their content, every vendor's usage, and an exchange's responses folded
//!   into one
//! - [`request`]: the inputs of a body, the state of a conversation, forms, URLs and heads, and the counted parts of a
//!   body
//! - [`settings`]: an endpoint of the plan
//! - [`kinds`]: one file per endpoint type and the table that lists them; [`api`]: an endpoint with its dialect
//! - [`video`]: the steps of a request that makes a video
//! - [`control`]: calls to servers around a run
//!
//! # Invariants
//! - The crate is pure: no socket, no clock, no file, no async.
//! - One file per endpoint type and one table (`kinds`).
//! - One rule decides whether a response reports an error (`response/reader.rs`). A truthy `error` member fails it,
//!   whatever else it contains; only the job of a video has an `error` member of its own. An `object` of `error`, a
//!   failure code with a message and no content, and a finish reason of `error` or `abort` fail it too. So does an
//!   error or an HTML page that is in a stream without the form of an event.
//! - Events without content are bounded (`response/parser.rs`).
//! - A session keeps each turn encoded and puts the frame of the newest turn around all of them. So turn *k* costs what
//!   turn *k* adds, and a body is a few pieces.
//! - Probes and hooks are pure state machines (`control`): what to call, and what follows from the response.
//! - The steps of a video carry the names of their failures (`video`). `engine` names all other failures.

pub mod api;
pub mod control;
pub mod kinds;
pub mod request;
pub mod response;
pub mod settings;
#[cfg(test)]
mod testing;
mod text;
pub mod video;

pub use api::{Api, ApiError};
pub use kinds::{Dialect, dialect};
pub use request::head::HeadTemplate;
pub use request::{DialectError, EncodedRequest, PromptDelta, Session, inputs, url};
pub use response::known::KnownMessages;
pub use response::parser::ResponseParser;
pub use response::reader::{Data, Delivery, Piece, Reader};
pub use response::usage;
pub use settings::ApiSettings;
pub use text::sse;
