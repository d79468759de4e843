//! Requests: their inputs, and the frame around their turns.
//!
//! # Layout
//! - `frame`: a body's members, and the place of the turns among them; `encoded_frame`: the same in bytes
//! - `error`: why a request cannot be encoded
//! - `carriable`: whether a type can carry the contents of a turn
//! - `notes`: notes on contents that are not sent, or not as expected
//! - [`multipart`]: bodies as forms
//! - `items`: encoded turns: a list that grows turn by turn
//! - `session`: the state of a conversation: turns and responses in, bodies out
//! - [`url`]: base URL and path joined; [`head`]: request line and header fields, with the ids spliced in
//! - [`inputs`]: the content of a body, for counting

mod carriable;
mod encoded_frame;
mod error;
mod frame;
pub mod head;
pub mod inputs;
mod items;
pub mod multipart;
mod notes;
mod session;
pub mod url;

pub use carriable::carriable;
pub(crate) use encoded_frame::LastFrame;
pub use error::DialectError;
pub use frame::Frame;
pub use notes::{Note, Notes};
pub use session::{EncodedRequest, PromptDelta, Session};

use crate::settings::ApiSettings;
use crate::text::json::is_truthy;
use aiperf_types::{Conversation, Media, Turn};
use bytes::Bytes;
use serde_json::{Map, Value};

/// One turn to send.
pub struct Request<'a> {
    pub api: &'a ApiSettings,
    pub conversation: &'a Conversation,
    pub turn: &'a Turn,
    /// The history so far, responses included, where it is not in a list of items; the last is `turn`.
    pub history: &'a [HistoryEntry],
    /// The tools of the latest turn that names any, encoded.
    pub tools: Option<&'a Bytes>,
    /// The system blocks of the latest turn that has any, encoded.
    pub system: Option<&'a Bytes>,
    /// The id by which the server knows its response to the turn before.
    pub previous_response_id: Option<&'a str>,
}

/// An entry in the history of a session.
#[derive(Clone, Debug)]
pub enum HistoryEntry {
    /// A turn of the conversation, by its index.
    Asked(usize),
    Answered(Box<Turn>),
}

impl HistoryEntry {
    pub(crate) fn turn<'a>(&'a self, conversation: &'a Conversation) -> Option<&'a Turn> {
        match self {
            Self::Asked(at) => conversation.turns.get(*at),
            Self::Answered(turn) => Some(turn),
        }
    }
}

impl Request<'_> {
    /// The history so far, where it is not in a list of items.
    pub fn turns(&self) -> impl Iterator<Item = &Turn> {
        self.history.iter().filter_map(|entry| entry.turn(self.conversation))
    }

    pub fn model(&self) -> Value {
        self.turn.model.as_deref().unwrap_or(&self.api.model).into()
    }

    /// The system prompt that all turns share, if it is not empty.
    pub fn system_message(&self) -> Option<&str> {
        self.conversation.system_message.as_deref().filter(|text| !text.is_empty())
    }

    /// The user message before the first turn, if there is one.
    pub fn user_context_message(&self) -> Option<&str> {
        self.conversation.user_context_message.as_deref().filter(|text| !text.is_empty())
    }

    pub fn streaming(&self) -> bool {
        self.api.endpoint.streaming
    }

    /// Non-empty contents of the turn's texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.turn.texts.iter().flat_map(|media| &media.contents).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// Non-empty contents of the turn's images.
    pub fn images(&self) -> impl Iterator<Item = &str> {
        self.turn.images.iter().flat_map(|media| &media.contents).map(String::as_str).filter(|image| !image.is_empty())
    }

    /// The first content of the first of some media, empty or not.
    pub fn first(media: &[Media]) -> Option<&str> {
        media.first().and_then(|media| media.contents.first()).map(String::as_str)
    }

    /// The members that the plan and then the turn add: a known key keeps its place and takes the new value.
    pub fn extras(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.api.endpoint.extra.iter().chain(self.turn.extra_body.iter().flatten())
    }

    /// Asks for usage when the body asks for a stream.
    pub fn ask_for_usage(&self, frame: &mut Frame, every_chunk: bool) {
        if !is_truthy(frame.get("stream")) {
            return;
        }
        let mut options = match frame.get("stream_options") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(options)) => options.clone(),
            Some(_) => return,
        };
        options.entry("include_usage").or_insert(Value::Bool(true));
        if every_chunk {
            options.entry("continuous_usage_stats").or_insert(Value::Bool(true));
        }
        frame.set("stream_options", options);
    }
}
