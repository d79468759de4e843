//! Conversations and their turns.

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// Text or encoded media of one kind within a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// A label such as `query` or `passages`; often empty.
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub contents: Vec<String>,
    /// Of images: ids by which a server knows them, one for each content, or none at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uuids: Vec<String>,
}

/// One request of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    /// Model for this request; the plan's first model when absent.
    pub model: Option<String>,
    /// Message role; `user` when absent.
    pub role: Option<String>,
    /// Output limit of this request.
    pub max_tokens: Option<u32>,
    /// Wait after the previous turn completed, in milliseconds.
    pub delay_ms: Option<f64>,
    /// Absolute schedule time, in milliseconds.
    pub timestamp_ms: Option<f64>,
    pub texts: Vec<Media>,
    /// Tokens of its only text, if it was made to this length.
    #[serde(skip)]
    pub text_tokens: Option<u32>,
    pub images: Vec<Media>,
    pub audios: Vec<Media>,
    pub videos: Vec<Media>,
    /// Messages as the API has them, in place of one made from the contents.
    pub raw_messages: Option<Vec<Value>>,
    /// Tools, for this turn and those after it that name none.
    pub raw_tools: Option<Vec<Value>>,
    /// System blocks as a vendor has them, for this turn and those after it that name none.
    pub raw_system: Option<Vec<Value>>,
    /// The whole body: nothing is added to it.
    pub raw_payload: Option<Map<String, Value>>,
    /// Members of the body that win over all others.
    pub extra_body: Option<Map<String, Value>>,
    /// Header fields of this request, in order.
    #[serde(deserialize_with = "read_fields", serialize_with = "write_fields")]
    pub extra_headers: Vec<(String, String)>,
    /// The turns before this one are dropped.
    pub reset_context: bool,
    /// Length of its first audio.
    pub audio_duration_seconds: Option<f64>,
}

impl Turn {
    /// A turn of one text.
    pub fn text(text: impl Into<String>) -> Self {
        let text = Media { name: "text".into(), contents: vec![text.into()], uuids: Vec::new() };
        Self { texts: vec![text], ..Self::default() }
    }
}

/// What a request of a session carries of the turns before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextMode {
    /// All of them, each with the response that it got.
    #[default]
    DeltasWithoutResponses,
    /// All of them; responses are among them, and those that come are not used.
    DeltasWithResponses,
    /// None: each turn holds all its messages.
    MessageArrayWithResponses,
}

/// A template of one or more turns; every execution of it is a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conversation {
    /// Dataset session id, as in `session_000000`.
    pub session_id: String,
    pub turns: Vec<Turn>,
    /// System prompt shared by the turns.
    pub system_message: Option<String>,
    /// A user message placed before the first turn.
    pub user_context_message: Option<String>,
    /// `None` leaves it to the dataset's format.
    pub context_mode: Option<ContextMode>,
}

/// An object of strings as pairs in order; null is none.
fn read_fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    struct Fields;
    impl<'de> Visitor<'de> for Fields {
        type Value = Vec<(String, String)>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of strings")
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut fields = Vec::new();
            while let Some(field) = map.next_entry()? {
                fields.push(field);
            }
            Ok(fields)
        }
    }
    deserializer.deserialize_any(Fields)
}

fn write_fields<S: Serializer>(fields: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(fields.iter().map(|(name, value)| (name, value)))
}
