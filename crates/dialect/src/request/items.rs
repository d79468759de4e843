//! Encoded turns: a list that grows turn by turn.

use super::DialectError;
use bytes::Bytes;
use serde_json::Value;

/// Longer pieces are not copied any more: otherwise a late turn of a long conversation would cost as much as all turns
/// before it. About 60 of them are sent in one write.
const LONGEST_COPIED: usize = 64 << 10;

/// Bytes around the text of a message.
const ROOM_FOR_ROLE: usize = 64;

/// Encoded items, each with a comma before it. The items of finished turns are joined, so that a list of any length is
/// a few pieces: each is at least twice as long as the next, or too long to be copied again, and a byte is copied as
/// often as its piece grows by half. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Items {
    /// The very first item, then what is joined, then the last turn.
    pieces: Vec<Bytes>,
    /// The first as a value until `opening` is made: a dialect may put something else in its place.
    pub(super) first: Option<Value>,
    /// What comes before them, and whether it takes the place of the first.
    pub(super) opening: Option<(Vec<Bytes>, bool)>,
    /// Where the pieces of the last turn begin.
    last_turn: usize,
    /// Images in all of them, and in those of the last turn.
    images: (u32, u32),
    /// Pieces from the first that a body has already.
    sent: usize,
}

impl Items {
    /// Adds the items of a turn, with so many images in them.
    pub(super) fn add(&mut self, items: Vec<Value>, images: u32) -> Result<(), DialectError> {
        self.join();
        self.images = (self.images.0 + images, images);
        self.last_turn = self.pieces.len();
        let mut items = items.into_iter();
        if self.pieces.is_empty()
            && let Some(first) = items.next()
        {
            self.pieces.push(encode_item(&first)?);
            (self.first, self.opening) = (Some(first), None);
        }
        let mut rest = Vec::new();
        items.try_for_each(|item| write_item(&mut rest, &item))?;
        if !rest.is_empty() {
            self.pieces.push(rest.into());
        }
        Ok(())
    }

    /// Adds the items of a turn whose place nothing takes.
    pub(super) fn add_encoded(&mut self, turn: EncodedTurn) {
        self.join();
        self.images = (self.images.0 + turn.images, turn.images);
        self.last_turn = self.pieces.len();
        if !turn.items.is_empty() {
            self.pieces.push(turn.items);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// With what comes before them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Bytes> {
        let (opening, replaces_first) = self.opening.as_ref().map_or((&[][..], false), |(o, r)| (o, *r));
        opening.iter().chain(&self.pieces[usize::from(replaces_first)..])
    }

    pub(super) fn of_last_turn(&self) -> &[Bytes] {
        &self.pieces[self.last_turn..]
    }

    /// What comes before all of them.
    pub(super) fn opening(&self) -> &[Bytes] {
        self.opening.as_ref().map_or(&[], |(opening, _)| opening)
    }

    /// Bytes that bodies before this one hold too. From now on those of this one count as well.
    pub(super) fn take_shared(&mut self) -> usize {
        let sent = std::mem::replace(&mut self.sent, self.pieces.len());
        let opening = if sent == 0 { &[] } else { self.opening() };
        let replaced = usize::from(self.replaces_first()).min(sent);
        opening.iter().chain(&self.pieces[replaced..sent]).map(Bytes::len).sum()
    }

    /// Whether what comes before them takes the place of the first.
    pub(super) fn replaces_first(&self) -> bool {
        self.opening.as_ref().is_some_and(|(_, replaces_first)| *replaces_first)
    }

    pub(super) fn images(&self) -> u32 {
        self.images.0
    }

    pub(super) fn images_of_last_turn(&self) -> u32 {
        self.images.1
    }

    /// Joins the last turn with as many pieces before it as are not much longer. The first item stays alone: something
    /// may take its place.
    fn join(&mut self) {
        let mut from = self.last_turn.max(1).min(self.pieces.len());
        let mut len: usize = self.pieces[from..].iter().map(Bytes::len).sum();
        while from > 1 && len > 0 && self.pieces[from - 1].len() < LONGEST_COPIED.min(2 * len) {
            from -= 1;
            len += self.pieces[from].len();
        }
        if self.pieces.len() > from + 1 {
            let joined = self.pieces[from..].concat();
            self.pieces.truncate(from);
            self.sent = self.sent.min(from);
            self.pieces.push(joined.into());
        }
    }
}

/// The items of a turn, each with a comma before it, and the images in them. Cheap to clone.
#[derive(Clone)]
pub(super) struct EncodedTurn {
    items: Bytes,
    images: u32,
}

impl EncodedTurn {
    pub(super) fn of(items: &[Value], images: u32) -> Result<Self, DialectError> {
        let mut out = Vec::new();
        items.iter().try_for_each(|item| write_item(&mut out, item))?;
        Ok(Self { items: out.into(), images })
    }

    /// What `of` makes of a message of a role and a text, without making a value of it first.
    pub(super) fn of_text(role: &str, text: &str, end: &str) -> Result<Self, DialectError> {
        let mut out = Vec::with_capacity(text.len() + text.len() / 8 + ROOM_FOR_ROLE);
        out.extend_from_slice(b",{\"role\":");
        write_text(&mut out, role)?;
        out.extend_from_slice(b",\"content\":");
        write_text(&mut out, text)?;
        out.extend_from_slice(end.as_bytes());
        Ok(Self { items: out.into(), images: 0 })
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }
}

pub(super) fn encode_item(item: &Value) -> Result<Bytes, DialectError> {
    let mut out = Vec::new();
    write_item(&mut out, item)?;
    Ok(out.into())
}

fn write_item(out: &mut Vec<u8>, item: &Value) -> Result<(), DialectError> {
    out.push(b',');
    serde_json::to_writer(out, item).map_err(|error| DialectError::Encode(error.to_string()))
}

/// A text as JSON. Nearly all of it is copied as it is.
fn write_text(out: &mut Vec<u8>, text: &str) -> Result<(), DialectError> {
    let needs_escape = text.bytes().fold(false, |found, byte| found | (byte < b' ') | (byte == b'"') | (byte == b'\\'));
    if needs_escape {
        return serde_json::to_writer(out, text).map_err(|error| DialectError::Encode(error.to_string()));
    }
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
    Ok(())
}
