//! Endpoint types: one file each, and the table that lists them.

pub mod chat;
pub mod completions;

use crate::json;
use aiperf_plan::EndpointPlan;
use aiperf_types::{Conversation, EndpointKind};
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use thiserror::Error;

/// What an endpoint type must give.
pub struct Dialect {
    pub kind: EndpointKind,
    /// The body of a request: the conversation up to and including a turn.
    pub body: fn(&Request<'_>) -> Result<Map<String, Value>, DialectError>,
    /// Reads one response: the JSON of an event or of a whole body.
    pub parse: for<'a> fn(&'a str) -> Option<Piece<'a>>,
}

/// Every endpoint type that can be spoken, in the order help shows them.
pub const DIALECTS: &[&Dialect] = &[&chat::DIALECT, &completions::DIALECT];

/// The dialect of an endpoint type, if it can be spoken.
pub fn dialect(kind: EndpointKind) -> Option<&'static Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.kind == kind)
}

/// What a body is made from.
pub struct Request<'a> {
    pub endpoint: &'a EndpointPlan,
    /// Model when the turn names none.
    pub model: &'a str,
    pub conversation: &'a Conversation,
    /// Which turn is asked; earlier ones are history.
    pub turn: usize,
}

impl Request<'_> {
    fn turn(&self) -> Result<&aiperf_types::Turn, DialectError> {
        self.conversation.turns.get(self.turn).ok_or(DialectError::NoTurn)
    }

    fn model(&self) -> Result<Value, DialectError> {
        Ok(self.turn()?.model.as_deref().unwrap_or(self.model).into())
    }

    /// Adds the plan's extra members: a known key keeps its place and takes the new value.
    fn merge_extra(&self, body: &mut Map<String, Value>) {
        for (key, value) in &self.endpoint.extra {
            body.insert(key.clone(), value.clone());
        }
    }

    /// Asks for usage when the body asks for a stream.
    fn ask_for_usage(&self, body: &mut Map<String, Value>, every_chunk: bool) {
        if !is_truthy(body.get("stream")) {
            return;
        }
        let mut options = match body.get("stream_options") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(options)) => options.clone(),
            Some(_) => return,
        };
        options.entry("include_usage").or_insert(Value::Bool(true));
        if every_chunk {
            options.entry("continuous_usage_stats").or_insert(Value::Bool(true));
        }
        body.insert("stream_options".into(), Value::Object(options));
    }

    pub fn encode(&self, dialect: &Dialect) -> Result<Vec<u8>, DialectError> {
        let body = (dialect.body)(self)?;
        serde_json::to_vec(&body).map_err(|error| DialectError::Encode(error.to_string()))
    }
}

fn is_truthy(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
        Some(Value::Bool(true)) => true,
    }
}

/// Why a request cannot be put into a dialect.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DialectError {
    #[error("the conversation has no turn to send")]
    NoTurn,
    /// More than one turn where only one can be sent.
    #[error("the {0} endpoint sends one turn; this conversation has more")]
    OneTurnOnly(&'static str),
    /// A content that the type cannot carry.
    #[error("the {0} endpoint cannot carry {1}")]
    Unsupported(&'static str, &'static str),
    #[error("cannot encode the request body: {0}")]
    Encode(String),
}

/// What one response said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece<'a> {
    pub data: Option<Data<'a>>,
    pub usage: Option<Map<String, Value>>,
    /// What it tells of speculative decoding.
    pub spec_decode: Option<Map<String, Value>>,
    /// An error object in place of content: its code and message.
    pub error: Option<(Option<i64>, String)>,
}

/// Content of a response.
#[derive(Clone, Debug, PartialEq)]
pub enum Data<'a> {
    Text(Cow<'a, str>),
    /// Reasoning, perhaps with text.
    Reasoning {
        reasoning: Cow<'a, str>,
        /// Text beside it.
        content: Option<Cow<'a, str>>,
    },
    /// Tool calls, perhaps with text.
    ToolCall {
        /// Names and arguments, concatenated.
        text: Cow<'a, str>,
        /// Text beside them.
        content: Option<Cow<'a, str>>,
    },
}

/// An error object at the top of a response that has no content of its own.
fn error_of(object: &Map<String, Value>) -> Option<(Option<i64>, String)> {
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
    Some((error.get("code").and_then(Value::as_i64), message))
}

/// Whether a response is an error object and nothing else.
pub(crate) fn is_error(json: &str) -> bool {
    memmem::find(json.as_bytes(), b"\"error\"").is_some() && json::read(json).as_ref().and_then(error_of).is_some()
}

fn usage_of(object: &Map<String, Value>) -> Option<Map<String, Value>> {
    object.get("usage").and_then(Value::as_object).filter(|usage| !usage.is_empty()).cloned()
}

fn usage_from(raw: &RawValue) -> Option<Map<String, Value>> {
    json::read::<Map<String, Value>>(raw.get()).filter(|usage| !usage.is_empty())
}

fn spec_decode_of(object: &Map<String, Value>) -> Option<Map<String, Value>> {
    object.get("metrics")?.as_object()?.get("speculative_decoding")?.as_object().cloned()
}

fn spec_decode_from(metrics: &RawValue) -> Option<Map<String, Value>> {
    let mut metrics = json::read::<Map<String, Value>>(metrics.get())?;
    match metrics.remove("speculative_decoding") {
        Some(Value::Object(report)) => Some(report),
        _ => None,
    }
}

/// A string that borrows when it holds no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The first element of an array; the others are passed over.
struct First<T>(Option<T>);

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
