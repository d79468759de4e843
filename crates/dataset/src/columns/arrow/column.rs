//! The values of a column in one batch of rows.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::schema::{ArrowType, Field, Int};
use crate::columns::Fault;
use crate::columns::cell::{Cell, decimal, half, text};

/// Values that a column may have if they take no bytes: those of others are bounded by the file.
const MOST_WITHOUT_BYTES: usize = 1 << 24;
/// A view begins with a length; up to this one, the bytes follow in place.
const VIEW: usize = 16;
const MOST_IN_PLACE: usize = 12;

pub(super) struct Column {
    pub(super) field: Arc<Field>,
    pub(super) length: usize,
    /// A bit for every value, which is set if the value is not null; `None` if none is null.
    pub(super) validity: Option<Bytes>,
    pub(super) buffers: Vec<Bytes>,
    pub(super) children: Vec<Column>,
    pub(super) dictionary: Option<Arc<Dictionary>>,
}

/// The values that keys stand for: those of a first batch, and of all that extend it.
#[derive(Clone, Default)]
pub(super) struct Dictionary {
    parts: Vec<Arc<Column>>,
    /// The key after the last of each part.
    ends: Vec<usize>,
}

impl Dictionary {
    pub(super) fn push(&mut self, part: Column) {
        let end = self.ends.last().unwrap_or(&0).saturating_add(part.length);
        self.ends.push(end);
        self.parts.push(Arc::new(part));
    }

    fn cell(&self, key: usize) -> Result<Cell, Fault> {
        let part = self.ends.partition_point(|end| *end <= key);
        let values = self.parts.get(part).ok_or_else(Fault::lengths)?;
        values.cell(key + values.length - self.ends[part])
    }
}

impl Column {
    /// Checks that buffers and children are long enough for the length. The targets of offsets are checked when they are
    /// read.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let bits = self.length.div_ceil(8);
        let per_value = |width: usize| self.length.saturating_mul(width);
        let first = match (&self.field.encoding, &self.field.kind) {
            (Some(encoding), _) => per_value(encoding.key.width),
            (_, ArrowType::Bool) => bits,
            (_, ArrowType::Int(Int { width, .. }) | ArrowType::Float(width) | ArrowType::Decimal { width, .. }) => {
                per_value(*width)
            }
            (_, ArrowType::Bytes { offset, .. } | ArrowType::List { offset }) if self.length > 0 => {
                per_value(*offset).saturating_add(*offset)
            }
            (_, ArrowType::View { .. }) => per_value(VIEW),
            _ => 0,
        };
        let of_children = match self.field.kind {
            ArrowType::FixedSizeList(size) => per_value(size),
            ArrowType::Struct => self.length,
            _ => 0,
        };
        let is_whole = self.buffers.first().is_none_or(|buffer| buffer.len() >= first)
            && self.validity.as_ref().is_none_or(|validity| validity.len() >= bits)
            && self.children.iter().all(|child| child.length >= of_children)
            && (first > 0 || of_children > 0 && !self.children.is_empty() || self.length <= MOST_WITHOUT_BYTES);
        if is_whole { Ok(()) } else { Err(Fault::lengths()) }
    }

    pub(super) fn cell(&self, row: usize) -> Result<Cell, Fault> {
        if row >= self.length {
            return Err(Fault::lengths());
        }
        if self.validity.as_ref().is_some_and(|validity| !bit(validity, row)) {
            return Ok(Cell::Null);
        }
        if let Some(encoding) = &self.field.encoding {
            let key = usize::try_from(int(self.value(row, encoding.key.width)?, encoding.key.is_signed));
            let values = self.dictionary.as_ref().ok_or_else(|| Fault::Broken("a dictionary is not there".into()))?;
            return values.cell(key.map_err(|_| Fault::lengths())?);
        }
        match &self.field.kind {
            ArrowType::Null => Ok(Cell::Null),
            ArrowType::Bool => Ok(Cell::Bool(bit(&self.buffers[0], row))),
            ArrowType::Int(Int { width, is_signed }) => Ok(Cell::Int(int(self.value(row, *width)?, *is_signed))),
            ArrowType::Float(width) => Ok(match *self.value(row, *width)? {
                [a, b] => half(u16::from_le_bytes([a, b])),
                [a, b, c, d] => Cell::Float(f32::from_le_bytes([a, b, c, d]).into()),
                ref bytes => Cell::Float(f64::from_bits(int(bytes, false) as u64)),
            }),
            ArrowType::Decimal { width, scale } => Ok(decimal(int(self.value(row, *width)?, true), *scale)),
            ArrowType::Bytes { is_text, offset } => {
                let bytes = self.buffers[1].get(self.range(row, *offset)?).ok_or_else(Fault::lengths)?;
                text_or_bytes(bytes, *is_text)
            }
            ArrowType::View { is_text } => text_or_bytes(self.view(row)?, *is_text),
            ArrowType::List { offset } => self.list(self.range(row, *offset)?),
            ArrowType::FixedSizeList(size) => self.list(row * size..(row + 1) * size),
            ArrowType::Struct => {
                let members = self.children.iter().map(|child| Ok((child.field.name.clone(), child.cell(row)?)));
                members.collect::<Result<_, Fault>>().map(Cell::Object)
            }
            ArrowType::Unsupported { why, .. } => Err(why.fault()),
        }
    }

    /// The bytes of a value, where all have the same width.
    fn value(&self, row: usize, width: usize) -> Result<&[u8], Fault> {
        self.buffers[0].get(row * width..(row + 1) * width).ok_or_else(Fault::lengths)
    }

    /// From one offset to the next.
    fn range(&self, row: usize, width: usize) -> Result<Range<usize>, Fault> {
        let offset = |row| usize::try_from(int(self.value(row, width)?, true)).map_err(|_| Fault::lengths());
        Ok(offset(row)?..offset(row + 1)?)
    }

    /// A view is a length and the bytes, or a length, the first four bytes, the number of a buffer and an offset.
    fn view(&self, row: usize) -> Result<&[u8], Fault> {
        let view = self.value(row, VIEW)?;
        let number = |at: usize| usize::try_from(int(&view[at..at + 4], true)).map_err(|_| Fault::lengths());
        let length = number(0)?;
        let bytes = if length <= MOST_IN_PLACE {
            view[4..].get(..length)
        } else {
            let (buffer, at) = (self.buffers.get(1 + number(8)?), number(12)?);
            buffer.and_then(|buffer| buffer.get(at..)?.get(..length))
        };
        bytes.ok_or_else(Fault::lengths)
    }

    fn list(&self, range: Range<usize>) -> Result<Cell, Fault> {
        let elements = self.children.first().filter(|it| range.start <= range.end && range.end <= it.length);
        let elements = elements.ok_or_else(Fault::lengths)?;
        range.map(|row| elements.cell(row)).collect::<Result<_, _>>().map(Cell::List)
    }
}

fn bit(bits: &[u8], at: usize) -> bool {
    bits[at / 8] >> (at % 8) & 1 == 1
}

/// A little-endian number of up to 16 bytes.
fn int(bytes: &[u8], is_signed: bool) -> i128 {
    let is_negative = is_signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if is_negative { 0xff } else { 0 }; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(wide)
}

fn text_or_bytes(bytes: &[u8], is_text: bool) -> Result<Cell, Fault> {
    if is_text { text(bytes) } else { Ok(Cell::Bytes(bytes.to_owned())) }
}
