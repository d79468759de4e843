//! A row of a trace, of any format.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// The id of a block of text: rows with the same id share the text.
pub(super) type HashId = i128;

/// The content of a row.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) session: Session<'a>,
    pub(super) timestamp_ms: Option<f64>,
    /// The delay after the response to the row before it in its session.
    pub(super) delay_ms: Option<f64>,
    /// The duration of its response, in milliseconds.
    pub(super) duration_ms: Option<f64>,
    /// The number of input tokens, if the row has it.
    pub(super) input_tokens: Option<u32>,
    /// The number of tokens of its response.
    pub(super) output_tokens: Option<u32>,
    pub(super) content: Content<'a>,
    /// Members of the body that override others.
    pub(super) extra: Option<&'a RawValue>,
}

/// The session of a row.
#[derive(Debug)]
pub(super) enum Session<'a> {
    /// A session of its own.
    Alone,
    Named(Cow<'a, str>),
    /// The session of the row that it replies to.
    Reply(Chat),
}

/// A row that may be a reply to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chat {
    pub(super) id: i64,
    pub(super) parent: i64,
    pub(super) turn: i64,
}

/// The content to send.
#[derive(Debug)]
pub(super) enum Content<'a> {
    /// Text generated from blocks, with the row's number of input tokens.
    Made {
        hash_ids: Vec<HashId>,
    },
    Text(Cow<'a, str>),
    /// A text that is sent with hints about what the server may have cached.
    Hinted {
        prompt: Cow<'a, str>,
        hash_ids: Option<&'a RawValue>,
        block_size: Option<u32>,
    },
    Messages {
        messages: &'a RawValue,
        tools: Option<&'a RawValue>,
    },
    Payload(&'a RawValue),
}

/// The form of a row: all rows of a session have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Text,
    Messages,
    Payload,
}

impl Content<'_> {
    pub(super) fn mode(&self) -> Mode {
        match self {
            Self::Made { .. } | Self::Text(_) | Self::Hinted { .. } => Mode::Text,
            Self::Messages { .. } => Mode::Messages,
            Self::Payload(_) => Mode::Payload,
        }
    }
}

impl Mode {
    const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Messages => "messages",
            Self::Payload => "payload",
        }
    }

    /// Refuses a row of another form in a session of this one.
    pub(super) fn check_same(self, found: Self) -> Result<(), String> {
        if self == found {
            return Ok(());
        }
        let (mode, found) = (self.name(), found.name());
        Err(format!(
            "is a row of {found}, and its session has {mode}\n  all rows of a session have the same form\n  try: another \
             session_id, or {mode} here too"
        ))
    }

    /// Whether each row carries its whole context.
    pub(super) fn is_whole(self) -> bool {
        self != Self::Text
    }
}
