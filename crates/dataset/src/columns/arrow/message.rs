//! Messages: a mark, a length, what describes the message, and its body.

use bytes::Bytes;
use parquet::file::reader::ChunkReader;

use super::flatbuffer::Table;
use crate::columns::Fault;

/// What a message begins with, before the length of what describes it. Writers before Arrow 0.15 left it out.
const MARK: [u8; 4] = [0xff; 4];

pub(super) struct Messages<R> {
    from: R,
    next: Next,
}

/// Where the messages to come are.
enum Next {
    /// In a stream, one after another from here to the mark of the end.
    At(u64),
    /// In a file, at places that its footer lists.
    Listed(std::vec::IntoIter<u64>),
}

pub(super) struct Message {
    pub(super) described: Bytes,
    pub(super) body: Bytes,
}

/// What a message holds.
pub(super) enum Header<'a> {
    Schema,
    Dictionary(Table<'a>),
    Rows(Table<'a>),
}

/// Where a message is, of which only the description is read.
struct MessageSpan {
    described: Bytes,
    body: u64,
    length: u64,
}

impl<R: ChunkReader> Messages<R> {
    pub(super) fn of_stream(from: R) -> Self {
        Self { from, next: Next::At(0) }
    }

    pub(super) fn of_file(from: R, places: Vec<u64>) -> Self {
        Self { from, next: Next::Listed(places.into_iter()) }
    }

    /// Looks through all messages for one that is cut, and in a stream for the mark of the end: without it, a stream that
    /// is cut between two batches would look whole.
    pub(super) fn check_to_end(&self) -> Result<(), Fault> {
        match &self.next {
            Next::At(at) => {
                let mut at = *at;
                while let Some(place) = self.place(at)? {
                    at = place.body + place.length;
                }
                Ok(())
            }
            Next::Listed(places) => places.as_slice().iter().try_for_each(|at| self.place(*at).map(drop)),
        }
    }

    /// The next message, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Message>, Fault> {
        let at = match &mut self.next {
            Next::At(at) => Some(*at),
            Next::Listed(places) => places.next(),
        };
        let Some(MessageSpan { described, body, length }) = at.map_or(Ok(None), |at| self.place(at))? else {
            return Ok(None);
        };
        if let Next::At(at) = &mut self.next {
            *at = body + length;
        }
        Ok(Some(Message { described, body: self.from.get_bytes(body, length as usize)? }))
    }

    fn place(&self, at: u64) -> Result<Option<MessageSpan>, Fault> {
        let end = self.from.len();
        let mut start = at.saturating_add(4);
        let mut length = self.four(at)?;
        if length == MARK {
            (start, length) = (at + 8, self.four(start)?);
        }
        let described = u64::from(u32::from_le_bytes(length));
        if described == 0 {
            return Ok(None);
        }
        let body = start + described;
        if body > end {
            return Err(Fault::cut());
        }
        let described = self.from.get_bytes(start, described as usize)?;
        let length = Table::root(&described)?.length(3)? as u64;
        if length > end - body {
            return Err(Fault::Broken(format!("{length} bytes should follow, and {} do", end - body)));
        }
        Ok(Some(MessageSpan { described, body, length }))
    }

    fn four(&self, at: u64) -> Result<[u8; 4], Fault> {
        if at.saturating_add(4) > self.from.len() {
            return Err(Fault::cut());
        }
        self.from.get_bytes(at, 4)?.first_chunk().copied().ok_or_else(Fault::cut)
    }
}

impl Message {
    pub(super) fn header(&self) -> Result<Header<'_>, Fault> {
        let message = Table::root(&self.described)?;
        let header = message.table(2)?.ok_or_else(Fault::lengths)?;
        match message.byte(1)? {
            1 => Ok(Header::Schema),
            2 => Ok(Header::Dictionary(header)),
            3 => Ok(Header::Rows(header)),
            tag => Err(Fault::Broken(format!("it has a message of an unknown kind, number {tag}"))),
        }
    }
}
