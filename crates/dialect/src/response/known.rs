//! Messages that earlier answers had. Those of another answer differ from them in its id and its time alone, and say the
//! same: the first message with a role, the last with a reason to end, and how a text is wrapped. Whoever reads many
//! answers one after the other need not read their JSON again (`scripts/turns` says what a turn costs).

use crate::response::shape::{Shape, plain_text};
use memchr::{memchr2, memmem};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::LazyLock;

/// A server has three or four of them.
const MOST: usize = 8;

/// What was learned of the answers read on one thread.
#[derive(Debug, Default)]
pub struct KnownMessages(RefCell<Vec<Known>>);

#[derive(Debug)]
struct Known {
    /// Before the id, between it and the time, and from the time to the text or the end.
    parts: [Vec<u8>; 3],
    says: Says,
}

#[derive(Debug)]
enum Says {
    /// Nothing; and nothing that a reply is made of, where that was looked at.
    Nothing { of_replies: bool, finishes: bool },
    /// A text of one choice, with this behind it.
    Text { choice: u32, after: Vec<u8> },
}

/// What a message is known to say.
pub(super) enum Said<'a> {
    /// Nothing, but perhaps that the answer ends.
    Nothing {
        finishes: bool,
    },
    Text(&'a str, Shape),
}

impl KnownMessages {
    /// What a message says, if it is one of those known; `for_reply`, if a reply is made of it.
    pub(super) fn find<'a>(&self, message: &'a [u8], for_reply: bool) -> Option<Said<'a>> {
        let known = self.0.borrow();
        if known.is_empty() {
            return None;
        }
        let Holes { id, time } = holes(message)?;
        let (before, between, rest) = (&message[..id.start], &message[id.end..time.start], &message[time.end..]);
        known.iter().filter(|known| known.parts[0] == before && known.parts[1] == between).find_map(|known| {
            let tail = rest.strip_prefix(known.parts[2].as_slice())?;
            match &known.says {
                Says::Nothing { of_replies, finishes } => {
                    let is_it = tail.is_empty() && (*of_replies || !for_reply);
                    is_it.then_some(Said::Nothing { finishes: *finishes })
                }
                Says::Text { choice, after } => {
                    let text = plain_text(tail.strip_suffix(after.as_slice())?)?;
                    let start = message.len() - tail.len();
                    Some(Said::Text(text, Shape::around(message, start..start + text.len(), *choice)))
                }
            }
        })
    }

    /// Learns a message that says nothing, but perhaps that the answer ends.
    pub(super) fn learn_silent(&self, message: &[u8], of_replies: bool, finishes: bool) {
        self.learn(message, message.len(), Says::Nothing { of_replies, finishes });
    }

    /// Learns a message that says a text, by its place in it, and nothing else.
    pub(super) fn learn_text(&self, message: &[u8], text: Range<usize>, choice: u32) {
        self.learn(message, text.start, Says::Text { choice, after: message[text.end..].to_vec() });
    }

    fn learn(&self, message: &[u8], end: usize, says: Says) {
        let mut known = self.0.borrow_mut();
        let Some(Holes { id, time }) = holes(message).filter(|holes| holes.time.end <= end) else { return };
        let parts = [&message[..id.start], &message[id.end..time.start], &message[time.end..end]].map(<[u8]>::to_vec);
        // A server whose messages always differ in more teaches nothing.
        if known.len() == MOST {
            known.remove(0);
        }
        known.push(Known { parts, says });
    }
}

/// Where a message says whose it is and when it was made.
struct Holes {
    id: Range<usize>,
    time: Range<usize>,
}

const BEFORE_ID: &[u8] = b"data: {\"id\":\"";
static BEFORE_TIME: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("\"created\":"));

/// Both, where they are among the first members, as those write them who stream chats.
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
