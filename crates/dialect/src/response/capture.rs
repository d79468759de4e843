//! What an answer leaves for the turns after it.

use crate::response::reader::{Data, Piece};
use aiperf_types::{Media, Reply, Turn};

/// Gathers the reply out of the responses of one exchange, in order.
pub trait Capture {
    /// Takes one response: what was read of it, and its text.
    fn take(&mut self, piece: &Piece<'_>, text: &str);

    /// Takes a response that is a text of one choice and differs from an earlier one in nothing else; `false` where all of it
    /// has to be seen.
    fn take_text(&mut self, choice: u32, said: &str) -> bool {
        let _ = (choice, said);
        false
    }

    fn finish(self: Box<Self>) -> Reply;
}

/// Text alone: what most answers leave.
#[derive(Default)]
pub struct TextCapture {
    text: String,
}

impl TextCapture {
    /// What was said so far.
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

    fn take_text(&mut self, choice: u32, said: &str) -> bool {
        if choice == 0 {
            self.text.push_str(said);
        }
        true
    }

    fn finish(self: Box<Self>) -> Reply {
        Reply { turn: self.turn(), response_id: None }
    }
}
