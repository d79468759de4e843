//! The interface of an endpoint type.

use crate::request::inputs::Inputs;
use crate::request::{DialectError, Frame, Request, inputs};
use crate::response::capture::{Capture, TextCapture};
use crate::response::reader::Reader;
use crate::settings::ApiSettings;
use aiperf_types::{Body, EndpointKind, Turn};
use bytes::Bytes;
use serde_json::{Map, Value};

/// The interface of an endpoint type.
pub struct Dialect {
    pub kind: EndpointKind,
    pub carries: Carries,
    /// The members of a body.
    pub frame: fn(&Request<'_>) -> Result<Frame, DialectError>,
    /// Makes the reader for the responses of one exchange.
    pub reader: fn(&ApiSettings) -> Box<dyn Reader>,
    /// Makes the capture that collects the reply, if a later turn needs it.
    pub capture: fn(&ApiSettings) -> Box<dyn Capture>,
    /// The content of a body, for counting.
    pub inputs: fn(&Map<String, Value>) -> Inputs,
    /// Members of a body that extra inputs cannot set: only a turn can.
    pub reserved: &'static [&'static str],
    /// Contents (`texts`, `images`, `audios`) of which only the first is sent.
    pub sends_first_of: &'static [&'static str],
    /// Besides its items, a body depends only on the endpoint, the tools and the settings of its turn (model and output
    /// limit): it is encoded once for turns of all sessions with the same settings.
    pub has_steady_frame: bool,
    /// Its bodies have no output limit, and the user should know.
    pub ignores_max_tokens: bool,
    /// The user defines bodies and responses, by a template and a response field.
    pub is_free: bool,
    pub ending: Ending,
    /// A response contains a vector for each input of its request.
    pub embeds_each_input: bool,
    /// The input tokens of a turn can be counted from what its request adds to the one before.
    pub counts_additions: bool,
    /// The body of its smallest request to a model, which probes whether a server is ready; without one, chat's is sent.
    pub smallest_request: Option<fn(&str) -> Value>,
}

/// What marks the end of a stream, besides the end of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Unmarked,
    /// `[DONE]`, or a finish reason.
    Done,
    /// An event of a special type.
    Event,
}

impl Dialect {
    /// A type with its required functions and default properties.
    pub(super) const fn new(
        kind: EndpointKind,
        frame: fn(&Request<'_>) -> Result<Frame, DialectError>,
        reader: fn(&ApiSettings) -> Box<dyn Reader>,
    ) -> Self {
        Self {
            kind,
            carries: Carries::OneTurn,
            frame,
            reader,
            capture: |_| Box::new(TextCapture::default()),
            inputs: inputs::of_messages,
            reserved: &[],
            sends_first_of: &[],
            has_steady_frame: false,
            ignores_max_tokens: false,
            is_free: false,
            ending: Ending::Unmarked,
            embeds_each_input: false,
            counts_additions: false,
            smallest_request: None,
        }
    }

    /// Reads a request body for counting; `None` when it is not a JSON object.
    pub fn inputs_of(&self, body: &[u8]) -> Option<Inputs> {
        let value: Value = serde_json::from_slice(body).ok()?;
        Some((self.inputs)(value.as_object()?))
    }

    /// The number of vectors that a request asks for, if its response has one for each input.
    pub fn vectors_asked(&self, body: &Body) -> Option<u32> {
        if !self.embeds_each_input {
            return None;
        }
        let value: Value = serde_json::from_slice(&body.payload()).ok()?;
        match value.get("input")? {
            // A list of numbers is one text in tokens.
            Value::Array(inputs) if inputs.first().is_some_and(Value::is_number) => Some(1),
            Value::Array(inputs) => u32::try_from(inputs.len()).ok(),
            _ => Some(1),
        }
    }

    /// The texts of encoded items, each with a comma before it; `None` when they are not JSON.
    pub fn texts_of_items(&self, items: &[Bytes]) -> Option<Vec<String>> {
        // A single item with a role makes all of them messages, here as in the whole list.
        let mut body = br#"{"messages":[{"role":""}"#.to_vec();
        items.iter().for_each(|piece| body.extend_from_slice(piece));
        body.extend_from_slice(b"]}");
        Some(self.inputs_of(&body)?.texts)
    }

    /// Images among the items that a turn adds to a list.
    pub(crate) fn images_of_items(&self, items: &mut Vec<Value>) -> u32 {
        let mut body = Map::from_iter([("messages".to_owned(), Value::Array(std::mem::take(items)))]);
        let images = (self.inputs)(&body).images;
        if let Some(Value::Array(looked_at)) = body.remove("messages") {
            *items = looked_at;
        }
        images
    }
}

/// How much of a conversation a request carries.
pub enum Carries {
    /// All turns, as a list of items.
    History(&'static History),
    LastTurn,
    /// One turn; a conversation cannot have more.
    OneTurn,
}

/// A list that grows turn by turn.
pub struct History {
    /// The items that a turn adds.
    pub items: fn(&ApiSettings, &Turn) -> Result<Vec<Value>, DialectError>,
    /// The end of a message whose content is one text, after the text.
    pub text_end: &'static str,
    /// Makes what precedes the first of them. The first is only given if the conversation has a system message, or if
    /// it is more than a text.
    pub opening: for<'a> fn(&Request<'a>, Option<&Value>) -> Opening,
}

/// What precedes the items of turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Opening {
    pub items: Vec<Value>,
    /// Its last item replaces the first item of the turns, which is part of it.
    pub replaces_first: bool,
}
