//! The form of a message around its text.

use crate::response::reader::{Data, Piece};
use std::borrow::Cow;
use std::ops::Range;

/// The bytes around the text in a message. The chunks of a stream mostly differ only in their text, and one that begins
/// and ends like an earlier one means the same with another text; its JSON is not parsed again (`cargo bench -p
/// aiperf-dialect --bench parse` compares both).
#[derive(Debug, Default)]
pub(super) struct Shape {
    before: Vec<u8>,
    after: Vec<u8>,
    pub(super) choice: u32,
}

impl Shape {
    /// The form of a message with a text at a position.
    pub(super) fn around(message: &[u8], text: Range<usize>, choice: u32) -> Self {
        Self { before: message[..text.start].to_vec(), after: message[text.end..].to_vec(), choice }
    }

    /// The text of a message of the remembered form, if it has this form and its text needs no unescaping.
    #[inline]
    pub(super) fn text_of<'a>(&self, message: &'a [u8]) -> Option<&'a str> {
        if self.after.is_empty() {
            return None;
        }
        let text = message.strip_prefix(self.before.as_slice())?.strip_suffix(self.after.as_slice())?;
        plain_text(text)
    }

    /// The next message of a stream, its text, and what follows it, if it has the remembered form.
    #[inline]
    pub(super) fn first_of<'a>(&self, bytes: &'a [u8]) -> Option<(&'a [u8], &'a str, &'a [u8])> {
        if self.after.is_empty() {
            return None;
        }
        let rest = bytes.strip_prefix(self.before.as_slice())?;
        let (text, rest) = rest.split_at(plain_len(rest));
        let rest = rest.strip_prefix(self.after.as_slice())?;
        let message = &bytes[..bytes.len() - rest.len()];
        let rest = rest.strip_prefix(b"\n\n").or_else(|| rest.strip_prefix(b"\r\n\r\n"))?;
        if text.is_empty() { None } else { Some((message, std::str::from_utf8(text).ok()?, rest)) }
    }
}

/// How much of it, from the beginning, is text of a JSON string that needs no unescaping.
#[inline]
fn plain_len(text: &[u8]) -> usize {
    text.iter().position(|byte| matches!(byte, b'"' | b'\\') || *byte < b' ').unwrap_or(text.len())
}

/// A text that needs no unescaping and is not empty.
#[inline]
pub(super) fn plain_text(text: &[u8]) -> Option<&str> {
    let is_plain = !text.is_empty() && plain_len(text) == text.len();
    if is_plain { std::str::from_utf8(text).ok() } else { None }
}

/// The position of the text in a message whose data is only a text.
pub(super) fn place_of_text(message: &[u8], piece: &Piece<'_>) -> Option<Range<usize>> {
    let Piece {
        data: Some(Data::Text(Cow::Borrowed(text))),
        usage: None,
        spec_decode: None,
        sources: None,
        error: None,
        finishes: false,
        ..
    } = piece
    else {
        return None;
    };
    // A borrowed text is a part of the message, without escapes.
    let start = (text.as_ptr() as usize).wrapping_sub(message.as_ptr() as usize);
    let place = start..start.checked_add(text.len())?;
    (piece.others.is_empty() && message.get(place.clone()).is_some()).then_some(place)
}
