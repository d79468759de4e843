//! What a response provides for later turns.

use crate::response::reader::{Data, Piece};
use aiperf_types::{Media, Reply, Turn};

/// Collects the reply from the responses of one exchange, in order.
pub trait Capture {
    /// Takes one response: its parsed content, and its text.
    fn take(&mut self, piece: &Piece<'_>, text: &str);

    /// Whether only the text matters of responses that differ from an earlier one only in their text. It may change
    /// when a response is taken.
    fn takes_texts(&self) -> bool {
        false
    }

    /// Whether a response without content provides nothing for later turns either, judged by its text.
    fn ignores(&self, text: &str) -> bool {
        let _ = text;
        false
    }

    /// Takes the texts of such responses of one choice, together.
    fn take_texts(&mut self, choice: u32, text: &str) {
        let _ = (choice, text);
    }

    fn finish(self: Box<Self>) -> Reply;
}

/// Text only: what most responses provide.
#[derive(Default)]
pub struct TextCapture {
    text: String,
}

impl TextCapture {
    /// The text so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Its text as a turn of the assistant, if there is any.
    pub(crate) fn turn(self) -> Option<Turn> {
        if self.text.is_empty() {
            return None;
        }
        let text = Media { contents: vec![self.text], ..Media::default() };
        Some(Turn { role: Some("assistant".into()), texts: vec![text], ..Turn::default() })
    }
}

impl Capture for TextCapture {
    fn take(&mut self, piece: &Piece<'_>, _: &str) {
        for data in piece.of_choice(0) {
            self.text.push_str(match data {
                Data::Reasoning { reasoning, content, .. } => {
                    content.as_deref().filter(|content| !content.is_empty()).unwrap_or(reasoning)
                }
                other => other.content().unwrap_or_default(),
            });
        }
    }

    fn takes_texts(&self) -> bool {
        true
    }

    fn ignores(&self, _: &str) -> bool {
        true
    }

    fn take_texts(&mut self, choice: u32, text: &str) {
        if choice == 0 {
            self.text.push_str(text);
        }
    }

    fn finish(self: Box<Self>) -> Reply {
        Reply { turn: self.turn(), response_id: None }
    }
}
