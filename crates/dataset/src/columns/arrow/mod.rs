//! Arrow files and streams: a message with the columns, then messages with dictionaries and rows. A file has a footer
//! with the columns and the places of the messages.
//!
//! We read them ourselves, because the crates of Arrow take long to build. Rows of text, numbers and lists of them need
//! only a few of Arrow's types.
//!
//! Layout:
//! - `flatbuffer`: members of what describes a message
//! - `message`: messages of a stream or a file
//! - `schema`: columns and their types
//! - `batch`: buffers of the columns of one message
//! - `column`: values of a column

mod batch;
mod column;
mod flatbuffer;
mod message;
mod schema;

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use bytes::Bytes;
use parquet::file::reader::{ChunkReader, Length};

use self::batch::Batch;
use self::column::{Column, Dictionary};
use self::flatbuffer::Table;
use self::message::{Header, Messages};
use self::schema::{ArrowType, DURATION, Field};
use super::cell::Unsupported;
use super::{ARROW, Cell, Fault, Opened, Rows};

/// A file ends with the length of its footer and what it begins with.
const END: usize = 4 + ARROW.len();
/// The fifth version of messages, counted from 0. Up to the fourth, unions have a buffer more.
const VERSION_5: i16 = 4;

/// Opens a file, whose footer has the columns and the places of messages: not all writers begin it with a message, as
/// they do a stream. One without its end has lost rows.
pub(super) fn open_file(file: File, is_wanted: impl Fn(&str) -> bool) -> Result<Opened, Fault> {
    let end = file.len().checked_sub(END as u64).ok_or_else(Fault::cut)?;
    let tail = file.get_bytes(end, END)?;
    let Some((length, _)) = tail.split_first_chunk().filter(|(_, magic)| *magic == ARROW) else {
        return Err(Fault::cut());
    };
    let length = u32::from_le_bytes(*length);
    let footer = file.get_bytes(end.checked_sub(length.into()).ok_or_else(Fault::lengths)?, length as usize)?;
    let footer = Table::root(&footer)?;
    let fields = fields(&footer, 1, length as usize)?;
    let dictionaries_and_rows = [footer.longs::<3>(2)?, footer.longs(3)?].concat();
    let places = dictionaries_and_rows.into_iter().map(|[at, ..]| u64::try_from(at).map_err(|_| Fault::lengths()));
    open(fields, Messages::of_file(file, places.collect::<Result<_, _>>()?), is_wanted)
}

pub(super) fn open_stream(file: File, is_wanted: impl Fn(&str) -> bool) -> Result<Opened, Fault> {
    let mut messages = Messages::of_stream(file);
    open(first_message(&mut messages)?, messages, is_wanted)
}

/// Of a message with columns, as other formats keep it: those of durations.
pub(super) fn durations(message: Bytes) -> Result<Vec<(String, Unsupported)>, Fault> {
    let fields = first_message(&mut Messages::of_stream(message))?;
    let why = |field: &Field| match &field.kind {
        ArrowType::Unsupported { why: why @ Unsupported::Other(name), .. } if name.starts_with(DURATION) => {
            Some(why.clone())
        }
        _ => None,
    };
    Ok(fields.iter().filter_map(|field| Some((field.name.clone(), why(field)?))).collect())
}

fn first_message(messages: &mut Messages<impl ChunkReader>) -> Result<Vec<Arc<Field>>, Fault> {
    let first = messages.next()?.ok_or_else(Fault::cut)?;
    match first.header()? {
        Header::Schema => fields(&Table::root(&first.described)?, 2, first.described.len()),
        _ => Err(Fault::Broken("it does not begin with its columns".into())),
    }
}

/// The columns, which are a member of a footer or of a message; both begin with their version.
fn fields(of: &Table<'_>, member: usize, length: usize) -> Result<Vec<Arc<Field>>, Fault> {
    let schema = of.table(member)?.ok_or_else(Fault::lengths)?;
    schema::fields(&schema, of.short(0, 0)? < VERSION_5, length)
}

fn open(fields: Vec<Arc<Field>>, messages: Messages<File>, is_wanted: impl Fn(&str) -> bool) -> Result<Opened, Fault> {
    messages.check_to_end()?;
    let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
    let fields: Vec<_> = fields.into_iter().map(|field| (is_wanted(&field.name), field)).collect();
    let mut dictionary_fields = BTreeMap::new();
    fields.iter().filter(|(is_read, _)| *is_read).for_each(|(_, field)| field.dictionaries(&mut dictionary_fields));
    let source = Source {
        messages,
        fields,
        dictionary_fields,
        dictionaries: BTreeMap::new(),
        columns: Vec::new(),
        length: 0,
        next: 0,
    };
    Ok(Opened { names, source: Box::new(source) })
}

struct Source {
    messages: Messages<File>,
    /// All columns, and whether each is read.
    fields: Vec<(bool, Arc<Field>)>,
    /// The values of the dictionaries that are needed.
    dictionary_fields: BTreeMap<i64, Arc<Field>>,
    dictionaries: BTreeMap<i64, Arc<Dictionary>>,
    /// Those of the current batch that are read, its rows, and the next of them.
    columns: Vec<Column>,
    length: usize,
    next: usize,
}

impl Rows for Source {
    fn next_row(&mut self) -> Result<Option<Vec<Cell>>, Fault> {
        while self.next >= self.length {
            let Some(message) = self.messages.next()? else { return Ok(None) };
            let body = message.body.clone();
            match message.header()? {
                Header::Schema => return Err(Fault::Broken("its columns change".into())),
                Header::Dictionary(header) => self.dictionary(&header, body)?,
                Header::Rows(header) => self.batch(&header, body)?,
            }
        }
        let row = self.next;
        self.next += 1;
        self.columns.iter().map(|column| column.cell(row)).collect::<Result<_, _>>().map(Some)
    }
}

impl Source {
    fn batch(&mut self, header: &Table<'_>, body: Bytes) -> Result<(), Fault> {
        let mut batch = Batch::new(header, body, &self.dictionaries)?;
        self.columns.clear();
        for (is_read, field) in &self.fields {
            let length = if *is_read {
                self.columns.push(batch.column(field)?);
                self.columns.last().map_or(0, |column| column.length)
            } else {
                batch.skip(field)?
            };
            if length != batch.length {
                return Err(Fault::lengths());
            }
        }
        (self.length, self.next) = (batch.length, 0);
        Ok(())
    }

    /// A dictionary replaces the one before it, or extends it.
    fn dictionary(&mut self, header: &Table<'_>, body: Bytes) -> Result<(), Fault> {
        let id = header.long(0)?;
        let Some(field) = self.dictionary_fields.get(&id) else { return Ok(()) };
        let data = header.table(1)?.ok_or_else(Fault::lengths)?;
        let part = Batch::new(&data, body, &self.dictionaries)?.column(field)?;
        let is_delta = header.byte(2)? != 0;
        let before = self.dictionaries.remove(&id).filter(|_| is_delta).unwrap_or_default();
        let mut values = Arc::unwrap_or_clone(before);
        values.push(part);
        self.dictionaries.insert(id, Arc::new(values));
        Ok(())
    }
}
