//! What reads the responses of one exchange, and what a response says.

use crate::kinds::shared::vectors::Vectors;
use crate::request::is_truthy;
use crate::text::json;
use memchr::memmem;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Reads the responses of one exchange, in order. Made anew for each, so that it may remember what came before.
pub trait Reader {
    /// Reads one response. `None`: it cannot be read.
    fn read<'a>(&mut self, text: &'a str, delivery: Delivery) -> Option<Piece<'a>>;

    /// Whether what a response says never depends on those before it. A text in the same surroundings then always says
    /// the same, and they need not be read again.
    fn is_stateless(&self) -> bool {
        false
    }
}

/// How a response came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A whole body.
    Body,
    /// The data of an event of a stream.
    Event,
}

/// A reader that remembers nothing. A body that holds nothing is shown in the error.
pub struct Stateless(pub for<'a> fn(&'a str, Delivery) -> Option<Piece<'a>>);

impl Reader for Stateless {
    fn read<'a>(&mut self, text: &'a str, delivery: Delivery) -> Option<Piece<'a>> {
        shown_if_empty((self.0)(text, delivery), text, delivery)
    }

    fn is_stateless(&self) -> bool {
        true
    }
}

/// What was read of a response; of a body that holds nothing, an error that shows it.
pub(crate) fn shown_if_empty<'a>(piece: Option<Piece<'a>>, text: &str, delivery: Delivery) -> Option<Piece<'a>> {
    let is_silent = || piece.as_ref().is_none_or(|piece| *piece == Piece::default());
    if delivery == Delivery::Body && is_silent() && json::holds_nothing(text) {
        let message = format!("Invalid inference result: the body holds nothing: {}", text.trim());
        let error = ResponseError::Invalid { kind: "InvalidInferenceResultError", message };
        return Some(Piece { error: Some(error), ..Piece::default() });
    }
    piece
}

/// What one response said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece<'a> {
    /// Which of several answers to one request `data` belongs to.
    pub choice: u32,
    pub data: Option<Data<'a>>,
    /// What it says of other answers.
    pub others: Vec<(u32, Data<'a>)>,
    pub usage: Option<Map<String, Value>>,
    /// What it tells of speculative decoding.
    pub spec_decode: Option<Map<String, Value>>,
    /// Where it knows it from.
    pub sources: Option<Value>,
    pub error: Option<ResponseError>,
}

impl<'a> Piece<'a> {
    /// What each of several answers says: the first that says anything, and the others.
    pub(crate) fn of_choices(self, said: impl IntoIterator<Item = (u32, Option<Data<'a>>)>) -> Self {
        let mut said = said.into_iter().filter_map(|(choice, data)| Some((choice, data?)));
        let (choice, data) = said.next().unzip();
        Self { choice: choice.unwrap_or_default(), data, others: said.collect(), ..self }
    }

    /// The same of the one choice there is. Where it says nothing, the answer is of no choice in particular.
    pub(crate) fn saying(self, choice: Option<u32>, data: Option<Data<'a>>) -> Self {
        let choice = choice.filter(|_| data.is_some()).unwrap_or_default();
        Self { choice, data, ..self }
    }

    /// What it says of one answer, if anything.
    pub(crate) fn of_choice(&self, wanted: u32) -> impl Iterator<Item = &Data<'a>> {
        let first = self.data.iter().filter(move |_| self.choice == wanted);
        first.chain(self.others.iter().filter(move |(choice, _)| *choice == wanted).map(|(_, data)| data))
    }
}

/// Why an answer is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseError {
    /// The server says so.
    Told { code: Option<i64>, message: String },
    /// Nothing can be made of it, and how records name that.
    Invalid { kind: &'static str, message: String },
}

/// Content of a response.
#[derive(Clone, Debug, PartialEq)]
pub enum Data<'a> {
    Text(Cow<'a, str>),
    /// Reasoning, perhaps with text and tool calls.
    Reasoning {
        reasoning: Cow<'a, str>,
        /// Text beside it.
        content: Option<Cow<'a, str>>,
        /// Names and arguments of tool calls beside it.
        tool_calls: Option<Cow<'a, str>>,
    },
    /// Tool calls, perhaps with text.
    ToolCall {
        /// Names and arguments, concatenated.
        text: Cow<'a, str>,
        /// Text beside them.
        content: Option<Cow<'a, str>>,
    },
    Embeddings(Vectors<'a>),
    Rankings(Vec<Value>),
    /// What was found in images.
    ImageRetrieval(Value),
    Images(Box<Images>),
    /// A video's job, as the server tells of it.
    Video(Map<String, Value>),
}

impl<'a> Data<'a> {
    /// Of what was thought, said and called: all of it counts.
    pub(crate) fn of(
        reasoning: Option<Cow<'a, str>>,
        content: Option<Cow<'a, str>>,
        tool_calls: Option<Cow<'a, str>>,
    ) -> Option<Self> {
        match (reasoning, tool_calls) {
            (Some(reasoning), tool_calls) => Some(Self::Reasoning { reasoning, content, tool_calls }),
            (None, Some(text)) => Some(Self::ToolCall { text, content }),
            (None, None) => content.map(Self::Text),
        }
    }

    /// What was said aloud: neither thought nor called.
    pub(crate) fn content(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Reasoning { content, .. } | Self::ToolCall { content, .. } => content.as_deref(),
            _ => None,
        }
    }
}

/// Images made, and what they have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Images {
    /// Each with its members `url`, `b64_json`, `revised_prompt`, `partial_image_index`.
    pub images: Vec<Map<String, Value>>,
    /// `size`, `quality`, `output_format`, `background`.
    pub settings: Map<String, Value>,
}

/// What a response tells of an error in its member `error`: one that says anything makes the answer a failed one,
/// whatever stands beside it. Only of a video's job it is a member like any other.
pub(crate) fn error_of(object: &Map<String, Value>) -> Option<ResponseError> {
    object.get("error").and_then(told)
}

/// The same of the member alone, not read yet.
pub(crate) fn error_in(error: Option<&RawValue>) -> Option<ResponseError> {
    let error = error?;
    json::read(error.get()).as_ref().map_or_else(|| told(&error.get().into()), told)
}

/// An error as servers tell it: an object with a message, or a text. What is empty tells of none.
fn told(error: &Value) -> Option<ResponseError> {
    if !is_truthy(Some(error)) {
        return None;
    }
    let message = match error {
        Value::String(text) => text.clone(),
        Value::Object(members) => match members.get("message").and_then(Value::as_str) {
            Some(message) => message.to_owned(),
            None => error.to_string(),
        },
        other => other.to_string(),
    };
    Some(ResponseError::Told { code: error.get("code").and_then(Value::as_i64), message })
}

/// Whether a response tells of an error.
pub(crate) fn is_error(json: &str) -> bool {
    memmem::find(json.as_bytes(), b"\"error\"").is_some() && json::read(json).as_ref().and_then(error_of).is_some()
}

pub(crate) fn usage_of(object: &Map<String, Value>) -> Option<Map<String, Value>> {
    object.get("usage").and_then(Value::as_object).filter(|usage| !usage.is_empty()).cloned()
}

pub(crate) fn usage_from(raw: &RawValue) -> Option<Map<String, Value>> {
    json::read::<Map<String, Value>>(raw.get()).filter(|usage| !usage.is_empty())
}

pub(crate) fn spec_decode_from(metrics: &RawValue) -> Option<Map<String, Value>> {
    let mut metrics = json::read::<Map<String, Value>>(metrics.get())?;
    match metrics.remove("speculative_decoding") {
        Some(Value::Object(report)) => Some(report),
        _ => None,
    }
}
