//! The columns of one message: their lengths and buffers follow each other in the order of the fields.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;

use super::column::{Column, Dictionary};
use super::flatbuffer::Table;
use super::schema::{ArrowType, Field};
use crate::columns::Fault;

/// The most bytes that one buffer may become.
const LARGEST: u64 = 4 << 30;
/// How many times its own length a long buffer may become.
const MOST_GROWN: u64 = 4096;
/// Bytes that every buffer may become: a few bytes hold many equal values.
const ALWAYS_FITS: u64 = 64 << 20;
/// A buffer that is not compressed after all has this in place of its length.
const AS_IT_IS: i64 = -1;

pub(super) struct Batch<'a> {
    pub(super) length: usize,
    body: Bytes,
    /// Of every column, its length and how many values are null.
    nodes: std::vec::IntoIter<[i64; 2]>,
    /// Of every buffer, its place in the body and its length.
    buffers: std::vec::IntoIter<[i64; 2]>,
    /// Of every column of views, how many buffers its long values are in.
    view_buffers: std::vec::IntoIter<[i64; 1]>,
    codec: Option<Codec>,
    dictionaries: &'a BTreeMap<i64, Arc<Dictionary>>,
}

#[derive(Clone, Copy)]
enum Codec {
    Lz4,
    Zstd,
}

impl<'a> Batch<'a> {
    pub(super) fn new(
        header: &Table<'_>,
        body: Bytes,
        dictionaries: &'a BTreeMap<i64, Arc<Dictionary>>,
    ) -> Result<Self, Fault> {
        let codec = header.table(3)?.map(|compression| match (compression.byte(0)?, compression.byte(1)?) {
            (0, 0) => Ok(Codec::Lz4),
            (1, 0) => Ok(Codec::Zstd),
            (codec, _) => Err(Fault::Broken(format!("its codec is unknown, number {codec}"))),
        });
        Ok(Self {
            length: header.length(0)?,
            body,
            nodes: header.longs(1)?.into_iter(),
            buffers: header.longs(2)?.into_iter(),
            view_buffers: header.longs(4)?.into_iter(),
            codec: codec.transpose()?,
            dictionaries,
        })
    }

    /// The next column of the batch.
    pub(super) fn column(&mut self, field: &Arc<Field>) -> Result<Column, Fault> {
        let (length, null_count) = self.node()?;
        let buffers = field.buffers();
        let validity = if buffers.has_validity { Some(self.buffer()?) } else { None };
        let others = buffers.others + self.more_buffers(field)?;
        let column = Column {
            field: Arc::clone(field),
            length,
            validity: validity.filter(|_| null_count != 0),
            buffers: (0..others).map(|_| self.buffer()).collect::<Result<_, _>>()?,
            children: children(field).iter().map(|child| self.column(child)).collect::<Result<_, _>>()?,
            dictionary: field.encoding.as_ref().and_then(|it| self.dictionaries.get(&it.dictionary)).cloned(),
        };
        column.check()?;
        Ok(column)
    }

    /// Passes over the next column; returns its length.
    pub(super) fn skip(&mut self, field: &Field) -> Result<usize, Fault> {
        let (length, _) = self.node()?;
        let buffers = field.buffers();
        for _ in 0..usize::from(buffers.has_validity) + buffers.others + self.more_buffers(field)? {
            self.buffers.next().ok_or_else(Fault::lengths)?;
        }
        for child in children(field) {
            self.skip(child)?;
        }
        Ok(length)
    }

    fn node(&mut self) -> Result<(usize, i64), Fault> {
        let [length, null_count] = self.nodes.next().ok_or_else(Fault::lengths)?;
        Ok((usize::try_from(length).map_err(|_| Fault::lengths())?, null_count))
    }

    fn more_buffers(&mut self, field: &Field) -> Result<usize, Fault> {
        if field.encoding.is_some() || !matches!(field.kind, ArrowType::View { .. }) {
            return Ok(0);
        }
        let count = self.view_buffers.next().and_then(|[count]| usize::try_from(count).ok());
        count.filter(|count| *count <= self.buffers.len()).ok_or_else(Fault::lengths)
    }

    fn buffer(&mut self) -> Result<Bytes, Fault> {
        let [at, length] = self.buffers.next().ok_or_else(Fault::lengths)?;
        let place = usize::try_from(at).ok().zip(usize::try_from(length).ok());
        let range = place.and_then(|(at, length)| Some(at..at.checked_add(length)?));
        let Some(range) = range.filter(|range| range.end <= self.body.len()) else {
            return Err(Fault::Broken("a buffer is outside of what holds it".into()));
        };
        let bytes = self.body.slice(range);
        match self.codec {
            Some(codec) if !bytes.is_empty() => codec.decompressed(&bytes),
            _ => Ok(bytes),
        }
    }
}

/// With an encoding, the children are those of the dictionary.
fn children(field: &Field) -> &[Arc<Field>] {
    if field.encoding.is_some() { &[] } else { &field.children }
}

impl Codec {
    /// A compressed buffer begins with the length that it becomes.
    fn decompressed(self, bytes: &Bytes) -> Result<Bytes, Fault> {
        let (&length, packed) = bytes.split_first_chunk().ok_or_else(Fault::lengths)?;
        let length = i64::from_le_bytes(length);
        if length == AS_IT_IS {
            return Ok(bytes.slice(8..));
        }
        let most = LARGEST.min((bytes.len() as u64).saturating_mul(MOST_GROWN).max(ALWAYS_FITS));
        let Some(grown) = u64::try_from(length).ok().filter(|grown| *grown <= most) else {
            return Err(Fault::Broken(format!("{} bytes should become {length}", bytes.len())));
        };
        let mut unpacked = Vec::with_capacity(grown as usize);
        let read = match self {
            Self::Lz4 => lz4_flex::frame::FrameDecoder::new(packed).take(grown + 1).read_to_end(&mut unpacked),
            Self::Zstd => zstd::Decoder::new(packed).and_then(|it| it.take(grown + 1).read_to_end(&mut unpacked)),
        };
        match read {
            Ok(_) if unpacked.len() as u64 == grown => Ok(unpacked.into()),
            Ok(_) => Err(Fault::lengths()),
            Err(error) => Err(Fault::Broken(error.to_string())),
        }
    }
}
