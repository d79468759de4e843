//! Members of flatbuffers, in which Arrow keeps what describes its data.
//!
//! A table begins with how far before it the index of its members is. The index holds two lengths of two bytes, and then the
//! offset of every member from the table; a member that is not there has offset 0. Vectors, texts and tables are elsewhere:
//! their members hold how far ahead.

use std::ops::Range;

use crate::columns::Fault;

#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    index: usize,
}

impl<'a> Table<'a> {
    /// The table that all others are members of.
    pub(super) fn root(bytes: &'a [u8]) -> Result<Self, Fault> {
        Self::pointed(bytes, 0)
    }

    fn pointed(bytes: &'a [u8], place: usize) -> Result<Self, Fault> {
        let at = target(bytes, place)?;
        let back = i32::from_le_bytes(array(bytes, at)?);
        let index = (at as i64).checked_sub(back.into()).and_then(|index| usize::try_from(index).ok());
        Ok(Self { bytes, at, index: index.ok_or_else(Fault::lengths)? })
    }

    /// Where a member is, or `None` where it has its default.
    fn member(&self, number: usize) -> Result<Option<usize>, Fault> {
        let entry = 4 + 2 * number;
        if entry + 2 > usize::from(u16::from_le_bytes(array(self.bytes, self.index)?)) {
            return Ok(None);
        }
        let offset = usize::from(u16::from_le_bytes(array(self.bytes, self.index + entry)?));
        Ok((offset > 0).then_some(self.at + offset))
    }

    fn bytes<const N: usize>(&self, number: usize) -> Result<Option<[u8; N]>, Fault> {
        self.member(number)?.map(|at| array(self.bytes, at)).transpose()
    }

    /// A member of one byte: a flag, or the tag of a union. Its default is 0.
    pub(super) fn byte(&self, number: usize) -> Result<u8, Fault> {
        Ok(self.bytes::<1>(number)?.map_or(0, |[byte]| byte))
    }

    pub(super) fn short(&self, number: usize, default: i16) -> Result<i16, Fault> {
        Ok(self.bytes(number)?.map_or(default, i16::from_le_bytes))
    }

    pub(super) fn int(&self, number: usize, default: i32) -> Result<i32, Fault> {
        Ok(self.bytes(number)?.map_or(default, i32::from_le_bytes))
    }

    /// A length or a number of bytes or values, which is 0 by default and never negative.
    pub(super) fn length(&self, number: usize) -> Result<usize, Fault> {
        usize::try_from(self.long(number)?).map_err(|_| Fault::lengths())
    }

    pub(super) fn long(&self, number: usize) -> Result<i64, Fault> {
        Ok(self.bytes(number)?.map_or(0, i64::from_le_bytes))
    }

    pub(super) fn table(&self, number: usize) -> Result<Option<Table<'a>>, Fault> {
        self.member(number)?.map(|place| Self::pointed(self.bytes, place)).transpose()
    }

    pub(super) fn text(&self, number: usize) -> Result<&'a str, Fault> {
        let text = &self.bytes[self.vector(number, 1)?];
        std::str::from_utf8(text).map_err(|_| Fault::Broken("a name is not UTF-8".into()))
    }

    /// The tables that a vector points to.
    pub(super) fn tables(&self, number: usize) -> Result<impl Iterator<Item = Result<Self, Fault>> + use<'a>, Fault> {
        let bytes = self.bytes;
        Ok(self.vector(number, 4)?.step_by(4).map(move |place| Self::pointed(bytes, place)))
    }

    /// A vector of so many numbers each.
    pub(super) fn longs<const N: usize>(&self, number: usize) -> Result<Vec<[i64; N]>, Fault> {
        let entries = self.bytes[self.vector(number, 8 * N)?].as_chunks::<8>().0.as_chunks::<N>().0;
        Ok(entries.iter().map(|entry| entry.map(i64::from_le_bytes)).collect())
    }

    /// Where the entries of a vector are, if they have a width; one that is not there is empty.
    fn vector(&self, number: usize, width: usize) -> Result<Range<usize>, Fault> {
        let Some(place) = self.member(number)? else { return Ok(0..0) };
        let first = target(self.bytes, place)? + 4;
        let entries = u32::from_le_bytes(array(self.bytes, first - 4)?) as usize;
        let end = entries.checked_mul(width).and_then(|length| first.checked_add(length));
        end.filter(|end| *end <= self.bytes.len()).map(|end| first..end).ok_or_else(Fault::lengths)
    }
}

fn target(bytes: &[u8], place: usize) -> Result<usize, Fault> {
    Ok(place + u32::from_le_bytes(array(bytes, place)?) as usize)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Fault> {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().ok_or_else(Fault::lengths)
}
