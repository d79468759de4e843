//! What reads the responses of one exchange, and what a response says.

use crate::json;
use crate::vectors::Vectors;
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Reads the responses of one exchange, in order. Made anew for each, so that it may remember what came before.
pub trait Reader {
    /// Reads one response. `None`: it cannot be read.
    fn read<'a>(&mut self, text: &'a str, delivery: Delivery) -> Option<Piece<'a>>;
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
        let piece = (self.0)(text, delivery);
        let is_silent = || piece.as_ref().is_none_or(|piece| *piece == Piece::default());
        if delivery == Delivery::Body && is_silent() && json::holds_nothing(text) {
            let message = format!("Invalid inference result: the body holds nothing: {}", text.trim());
            let error = ResponseError::Invalid { kind: "InvalidInferenceResultError", message };
            return Some(Piece { error: Some(error), ..Piece::default() });
        }
        piece
    }
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

/// Why an answer is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseError {
    /// The server says so, in place of content.
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

/// Images made, and what they have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Images {
    /// Each with its members `url`, `b64_json`, `revised_prompt`, `partial_image_index`.
    pub images: Vec<Map<String, Value>>,
    /// `size`, `quality`, `output_format`, `background`.
    pub settings: Map<String, Value>,
}

/// An error object at the top of a response that has no content of its own.
pub(crate) fn error_of(object: &Map<String, Value>) -> Option<ResponseError> {
    if object.contains_key("choices") {
        return None;
    }
    let error = object.get("error").filter(|error| !error.is_null())?;
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

/// Whether a response is an error object and nothing else.
pub(crate) fn is_error(json: &str) -> bool {
    memmem::find(json.as_bytes(), b"\"error\"").is_some() && json::read(json).as_ref().and_then(error_of).is_some()
}

pub(crate) fn usage_of(object: &Map<String, Value>) -> Option<Map<String, Value>> {
    object.get("usage").and_then(Value::as_object).filter(|usage| !usage.is_empty()).cloned()
}

pub(crate) fn usage_from(raw: &RawValue) -> Option<Map<String, Value>> {
    json::read::<Map<String, Value>>(raw.get()).filter(|usage| !usage.is_empty())
}

pub(crate) fn spec_decode_of(object: &Map<String, Value>) -> Option<Map<String, Value>> {
    object.get("metrics")?.as_object()?.get("speculative_decoding")?.as_object().cloned()
}

pub(crate) fn spec_decode_from(metrics: &RawValue) -> Option<Map<String, Value>> {
    let mut metrics = json::read::<Map<String, Value>>(metrics.get())?;
    match metrics.remove("speculative_decoding") {
        Some(Value::Object(report)) => Some(report),
        _ => None,
    }
}

/// A string that borrows when it holds no escapes.
#[derive(Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// The first element of an array; the others are passed over.
pub(crate) struct First<T>(pub(crate) Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Visitor<T> {
            type Value = First<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an array")
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<First<T>, A::Error> {
                let first = seq.next_element()?;
                while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
        }
        deserializer.deserialize_seq(Visitor(std::marker::PhantomData))
    }
}
