//! A row of a trace, whatever its format.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// What stands for a block of text: rows that share one share the text.
pub(super) type HashId = i128;

/// What a row says.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) session: Session<'a>,
    pub(super) timestamp_ms: Option<f64>,
    /// After the answer to the row before it in its session.
    pub(super) delay_ms: Option<f64>,
    /// How long its answer took, in milliseconds.
    pub(super) duration_ms: Option<f64>,
    /// Tokens that it was answered from, where the row says.
    pub(super) input_tokens: Option<u32>,
    /// Tokens of its answer.
    pub(super) output_tokens: Option<u32>,
    pub(super) content: Content<'a>,
    /// Members of its body that win over others.
    pub(super) extra: Option<&'a RawValue>,
}

/// Which session a row is of.
#[derive(Debug)]
pub(super) enum Session<'a> {
    /// One of its own.
    Alone,
    Named(Cow<'a, str>),
    /// That of the row it replies to.
    Reply(Chat),
}

/// A row that may be a reply to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chat {
    pub(super) id: i64,
    pub(super) parent: i64,
    pub(super) turn: i64,
}

/// What is sent.
#[derive(Debug)]
pub(super) enum Content<'a> {
    /// Text of as many tokens as the input has, made from blocks.
    Made {
        hash_ids: Vec<HashId>,
    },
    Text(Cow<'a, str>),
    /// A text that is sent with what a server may know of it already.
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

/// How a row says it: within a session all do alike.
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

    /// Refuses a row of another mode in a session of this one.
    pub(super) fn check_same(self, found: Self) -> Result<(), String> {
        if self == found {
            return Ok(());
        }
        let (mode, found) = (self.name(), found.name());
        Err(format!(
            "is a row of {found}, and its session has {mode}\n  each session says things in one way\n  try: another \
             session_id, or {mode} here too"
        ))
    }

    /// Whether each row says all there is to say.
    pub(super) fn is_whole(self) -> bool {
        self != Self::Text
    }
}
