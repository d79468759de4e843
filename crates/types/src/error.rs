//! Why a request failed, in the shape that error summaries aggregate.

use crate::character::acts_on_terminal;
use serde::{Deserialize, Serialize};

/// The error of one request. Two errors are the same when code, kind and message are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestError {
    /// HTTP status or a code of our own (499 cancelled, 502 error event in a stream).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// Type name, as in `ClientPayloadError`, or the reason phrase of an HTTP status.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub message: String,
    /// The underlying cause, if one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Type names from the outside in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause_chain: Option<Vec<String>>,
}

impl RequestError {
    /// An error of the client's own: a type name, its message and the chain of type names below it.
    pub fn client(kind: &str, message: impl Into<String>, below: &[&str]) -> Self {
        let chain = std::iter::once(kind).chain(below.iter().copied()).map(str::to_owned).collect();
        Self { code: None, kind: Some(kind.to_owned()), message: message.into(), cause: None, cause_chain: Some(chain) }
    }

    /// An error that the reference would raise as an exception: its message has the form `Kind('text')`.
    pub fn exception(kind: &str, text: impl AsRef<str>, below: &[&str]) -> Self {
        Self::client(kind, debug_form(kind, text.as_ref()), below)
    }

    /// An error with a code of our own.
    pub fn coded(code: i64, kind: &str, message: impl Into<String>) -> Self {
        let (kind, message) = (Some(kind.to_owned()), message.into());
        Self { code: Some(code), kind, message, cause: None, cause_chain: None }
    }

    /// The same with a cause, the first type below it.
    #[must_use]
    pub fn caused_by(mut self, text: &str) -> Self {
        let below = self.cause_chain.as_ref().and_then(|chain| chain.get(1));
        self.cause = below.map(|below| debug_form(below, text));
        self
    }

    /// Its code and type, as far as it has them: `503 Service Unavailable`.
    pub fn name(&self) -> String {
        let code = self.code.filter(|code| *code != 0).map(|code| code.to_string());
        let kind = self.kind.clone().filter(|kind| !kind.is_empty());
        [code, kind].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Its name and message.
    pub fn described(&self) -> String {
        let name = self.name();
        if name.is_empty() { self.message.clone() } else { format!("{name}: {}", self.message) }
    }

    /// A status outside 200..=299: the reason phrase and the body as it came.
    pub fn status(code: u16, reason: &str, body: impl Into<String>) -> Self {
        Self {
            code: Some(i64::from(code)),
            kind: Some(reason.to_owned()),
            message: body.into(),
            cause: None,
            cause_chain: None,
        }
    }

    /// Whether two errors count as one in a summary.
    pub fn same_as(&self, other: &Self) -> bool {
        self.code == other.code && self.kind == other.kind && self.message == other.message
    }
}

/// A type and its text as Python shows them. All of the text: who looks for secrets in it must see them whole, and cuts
/// it after that.
fn debug_form(kind: &str, text: &str) -> String {
    if text.is_empty() {
        return format!("{kind}()");
    }
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = format!("{kind}({quote}");
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote || c == '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if acts_on_terminal(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.extend([quote, ')']);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_shown_as_python_shows_it() {
        for (text, shown) in [
            ("", "E()"),
            ("plain", "E('plain')"),
            ("it's", "E(\"it's\")"),
            ("it's \"so\"", "E('it\\'s \"so\"')"),
            ("a\nb\\c\u{1}\u{e9}", "E('a\\nb\\\\c\\x01\u{e9}')"),
            ("a\u{202e}b\u{61c}", "E('a\\u202eb\\u061c')"),
        ] {
            assert_eq!(RequestError::exception("E", text, &[]).message, shown);
        }
    }
}
