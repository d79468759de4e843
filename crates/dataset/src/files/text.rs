//! The text of a file, and its rows.

use std::collections::HashMap;
use std::io::BufReader;
use std::ops::Range;
use std::path::PathBuf;

use flate2::read::MultiGzDecoder;
use serde_json::value::RawValue;

use super::layout::Layout;
use super::room::{FEWER, Room, Unread};
use crate::error::DatasetError;
use crate::plain_file::{BYTE_ORDER_MARK, PlainFile, not_uncompressed};

/// A file as it was read.
#[derive(Debug)]
pub(super) struct Text {
    path: PathBuf,
    text: String,
    rows: Rows,
}

/// Where the rows of a text are, and how messages name them.
#[derive(Debug)]
enum Rows {
    Lines,
    Items(&'static str, Vec<Range<usize>>),
    /// Rows of a configuration: one per line, with the name of their list.
    Records(String),
}

impl Text {
    /// Reads a file, and uncompresses it if necessary. `layout` describes the arrangement of its rows.
    pub(super) fn read(path: PathBuf, layout: Layout, room: &mut Room) -> Result<Self, DatasetError> {
        let refused = |fault: String| DatasetError::of_file(&path, fault);
        let opened = PlainFile::open(&path, "").map_err(refused)?;
        let mut bytes = Vec::new();
        let unread = if opened.is_compressed() {
            let broken = |error: std::io::Error| refused(not_uncompressed(&error));
            room.read(MultiGzDecoder::new(BufReader::new(opened.file)), layout, &mut bytes).map_err(broken)?
        } else {
            // A file that is too large is refused before it is read.
            room.fits(opened.bytes, "it", FEWER).map_err(|fault| refused(fault.0))?;
            let broken = |error: std::io::Error| refused(format!("cannot be read: {error}"));
            room.read(opened.file, layout, &mut bytes).map_err(broken)?
        };
        if let Some(Unread { line, fault }) = unread {
            return Err(match line {
                Some(line) => DatasetError::of_file(&format!("{}:{line}", path.display()), fault.0),
                None => refused(fault.0),
            });
        }
        bytes.shrink_to_fit();
        room.take(bytes.len() as u64, "it", FEWER).map_err(|fault| refused(fault.0))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
            let fault = "is not UTF-8 text\n  try: the file saved as UTF-8";
            DatasetError::of_file(&format!("{}:{line}", path.display()), fault.into())
        })?;
        Self { path, text, rows: Rows::Lines }.laid_out(layout)
    }

    /// Rows from a configuration, with the location for messages.
    pub(super) fn of_records(
        place: &str,
        name: &str,
        rows: &[serde_json::Value],
        room: &mut Room,
    ) -> Result<Self, DatasetError> {
        let lines: Vec<String> = rows.iter().map(serde_json::Value::to_string).collect();
        let text = lines.join("\n");
        let refused = |fault: String| DatasetError::of_file(place, fault);
        room.take(text.len() as u64, "all of them", FEWER).map_err(|fault| refused(fault.0))?;
        let list = if name.is_empty() { "records".to_owned() } else { format!("records.{name}") };
        Ok(Self { path: PathBuf::from(place), text, rows: Rows::Records(list) })
    }

    /// Finds the rows of a layout.
    fn laid_out(mut self, layout: Layout) -> Result<Self, DatasetError> {
        let (Layout::Items(list), Rows::Lines) = (layout, &self.rows) else { return Ok(self) };
        let text = self.text.trim_start_matches(BYTE_ORDER_MARK);
        let refused = |fault: String| DatasetError::of_file(&self.path, fault);
        if text.trim().is_empty() {
            return Err(refused(format!("is empty\n  try: a document as in {{\"{list}\": [...]}}")));
        }
        let document: HashMap<String, &RawValue> = serde_json::from_str(text)
            .map_err(|error| refused(format!("is no JSON object: {error}\n  try: one document as a run writes it")))?;
        let items = document.get(list).map(|items| serde_json::from_str::<Vec<&RawValue>>(items.get()));
        let Some(Ok(items)) = items else {
            return Err(refused(format!("has no list '{list}'\n  try: one document as a run writes it")));
        };
        let start = self.text.as_ptr() as usize;
        let range = |item: &&RawValue| {
            let at = item.get().as_ptr() as usize - start;
            at..at + item.get().len()
        };
        let ranges = items.iter().map(range).collect();
        self.rows = Rows::Items(list, ranges);
        Ok(self)
    }

    /// Rows, by number and range: lines that are not blank, from 1; items, from 0.
    pub(super) fn rows(&self) -> Box<dyn Iterator<Item = (u32, Range<usize>)> + '_> {
        match &self.rows {
            Rows::Items(_, ranges) => Box::new((0..).zip(ranges.iter().cloned())),
            Rows::Lines => Box::new(self.lines()),
            Rows::Records(_) => Box::new(self.lines().map(|(line, range)| (line - 1, range))),
        }
    }

    fn lines(&self) -> impl Iterator<Item = (u32, Range<usize>)> + '_ {
        let mark = if self.text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let mut next = mark;
        let lines = self.text[mark..].split_inclusive('\n').enumerate();
        lines.filter_map(move |(index, line)| {
            let start = next + (line.len() - line.trim_start().len());
            next += line.len();
            let row = line.trim();
            (!row.is_empty()).then(|| (u32::try_from(index + 1).unwrap_or(u32::MAX), start..start + row.len()))
        })
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &str {
        &self.text[range]
    }

    /// The location of a row, for messages.
    pub(super) fn at(&self, row: u32) -> String {
        let path = self.path.display();
        match &self.rows {
            Rows::Lines => format!("{path}:{row}"),
            Rows::Items(list, _) => format!("{path}: {list}[{row}]"),
            Rows::Records(list) => format!("{path}: {list}[{row}]"),
        }
    }

    pub(super) fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// The name of a pool whose entries are in this text.
    pub(super) fn pool_name(&self) -> String {
        match &self.rows {
            Rows::Records(list) => list.strip_prefix("records.").unwrap_or_default().to_owned(),
            _ => self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }
}
