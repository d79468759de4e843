//! What is said: conversations and their turns.

use serde::{Deserialize, Serialize};

/// Text or encoded media of one kind within a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// A label such as `query` or `passages`; often empty.
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub contents: Vec<String>,
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
    pub images: Vec<Media>,
    pub audios: Vec<Media>,
    pub videos: Vec<Media>,
}

impl Turn {
    /// A turn of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { texts: vec![Media { name: "text".into(), contents: vec![text.into()] }], ..Self::default() }
    }
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
}
