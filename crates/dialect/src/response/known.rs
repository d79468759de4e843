//! Messages known from earlier responses. Those of another response differ from them only in its id and its time, and
//! mean the same: the first message with a role, the last with a finish reason, and the form around a text. So a thread
//! that reads many responses need not parse their JSON again (`scripts/turns` measures the cost of a turn).

use crate::response::shape::{Shape, plain_text};
use memchr::{memchr2, memmem};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::LazyLock;

/// A server has three or four of them.
const MOST: usize = 8;

/// Messages learned from the responses read on one thread.
#[derive(Debug, Default)]
pub struct KnownMessages(RefCell<Vec<Known>>);

#[derive(Debug)]
struct Known {
    /// Before the id, between it and the time, and from the time to the text or the end.
    parts: [Vec<u8>; 3],
    meaning: Meaning,
}

#[derive(Debug)]
enum Meaning {
    /// No content; `of_replies`: also checked that it contributes nothing to a reply.
    Nothing { of_replies: bool, finishes: bool },
    /// A text of one choice, and the bytes after it.
    Text { choice: u32, after: Vec<u8> },
}

/// The known content of a message.
pub(super) enum Content<'a> {
    /// No content, but possibly the end of the response.
    Nothing {
        finishes: bool,
    },
    Text(&'a str, Shape),
}

impl KnownMessages {
    /// The content of a message, if it is known; `for_reply` if a reply is collected.
    pub(super) fn find<'a>(&self, message: &'a [u8], for_reply: bool) -> Option<Content<'a>> {
        let known = self.0.borrow();
        if known.is_empty() {
            return None;
        }
        let Holes { id, time } = holes(message)?;
        let (before, between, rest) = (&message[..id.start], &message[id.end..time.start], &message[time.end..]);
        known.iter().filter(|known| known.parts[0] == before && known.parts[1] == between).find_map(|known| {
            let tail = rest.strip_prefix(known.parts[2].as_slice())?;
            match &known.meaning {
                Meaning::Nothing { of_replies, finishes } => {
                    let is_it = tail.is_empty() && (*of_replies || !for_reply);
                    is_it.then_some(Content::Nothing { finishes: *finishes })
                }
                Meaning::Text { choice, after } => {
                    let text = plain_text(tail.strip_suffix(after.as_slice())?)?;
                    let start = message.len() - tail.len();
                    Some(Content::Text(text, Shape::around(message, start..start + text.len(), *choice)))
                }
            }
        })
    }

    /// Learns a message without content, which may end the response.
    pub(super) fn learn_silent(&self, message: &[u8], of_replies: bool, finishes: bool) {
        self.learn(message, message.len(), Meaning::Nothing { of_replies, finishes });
    }

    /// Learns a message with a text at a position, and nothing else.
    pub(super) fn learn_text(&self, message: &[u8], text: Range<usize>, choice: u32) {
        self.learn(message, text.start, Meaning::Text { choice, after: message[text.end..].to_vec() });
    }

    fn learn(&self, message: &[u8], end: usize, meaning: Meaning) {
        let mut known = self.0.borrow_mut();
        let Some(Holes { id, time }) = holes(message).filter(|holes| holes.time.end <= end) else { return };
        let parts = [&message[..id.start], &message[id.end..time.start], &message[time.end..end]].map(<[u8]>::to_vec);
        // A server whose messages always differ in more is not worth learning.
        if known.len() == MOST {
            known.remove(0);
        }
        known.push(Known { parts, meaning });
    }
}

/// The positions of a message's id and time.
struct Holes {
    id: Range<usize>,
    time: Range<usize>,
}

const BEFORE_ID: &[u8] = b"data: {\"id\":\"";
static BEFORE_TIME: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("\"created\":"));

/// Both, if they are among the first members, as in streamed chats.
fn holes(message: &[u8]) -> Option<Holes> {
    let rest = message.strip_prefix(BEFORE_ID)?;
    let id_len = memchr2(b'"', b'\\', rest).filter(|end| rest[*end] == b'"')?;
    let id = BEFORE_ID.len()..BEFORE_ID.len() + id_len;
    let rest = &message[id.end..];
    let name = BEFORE_TIME.find(&rest[..rest.len().min(128)])?;
    // A member of the message itself, not of something in it.
    if memchr2(b'{', b'[', &rest[..name]).is_some() {
        return None;
    }
    let start = id.end + name + BEFORE_TIME.needle().len();
    let digits = message[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0).then_some(Holes { id, time: start..start + digits })
}
