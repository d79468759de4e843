//! Sets of conversations of which the first user message is sent, with the first image.

use super::image;
use super::kind::{BLANK, Found, RowReader, With, text_turn};
use super::row::{Fault, Row, list, member, text};
use crate::columns::Cell;

/// Where the messages are.
pub(super) struct FirstMessage {
    pub(super) column: &'static str,
    /// The member with the text of a message.
    pub(super) content: &'static str,
    pub(super) image: &'static str,
}

/// The mark of an image within a text, which some models need.
const IMAGE_MARK: &str = "<image>";

impl RowReader for FirstMessage {
    fn columns(&self) -> Option<Vec<&'static str>> {
        Some(vec![self.column, self.image])
    }

    fn read(&self, row: Row, _: With<'_>) -> Result<Found, Fault> {
        let messages = row.column(self.column)?.and_then(list).unwrap_or_default();
        let prompt = first_user_message(messages, self.content).unwrap_or_default().replace(IMAGE_MARK, "");
        if prompt.trim().is_empty() {
            return Ok(Found::dropped(BLANK));
        }
        let mut turn = text_turn(prompt.trim());
        turn.images = row.get(self.image).and_then(image::first).into_iter().collect();
        Ok(Found::turn(turn))
    }
}

/// The text of the first user message, or else of the first message. Turns may be nested lists.
pub(super) fn first_user_message(messages: &[Cell], content: &str) -> Option<String> {
    let messages = messages.first().and_then(list).unwrap_or(messages);
    let is_user = |message: &&Cell| {
        let role = member(message, "role").or_else(|| member(message, "from")).and_then(text).unwrap_or_default();
        ["user", "human"].iter().any(|name| role.eq_ignore_ascii_case(name))
    };
    let message = messages.iter().find(is_user).or(messages.first())?;
    member(message, content).and_then(text)
}
