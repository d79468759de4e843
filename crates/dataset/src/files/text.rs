//! The text of a file, and its rows.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::ops::Range;
use std::path::PathBuf;

use flate2::read::MultiGzDecoder;

use super::room::{FEWER, Room};
use crate::error::DatasetError;

const BYTE_ORDER_MARK: &str = "\u{feff}";
const GZIP: &[u8] = &[0x1f, 0x8b];

/// A file as it was read.
#[derive(Debug)]
pub(super) struct Text {
    path: PathBuf,
    text: String,
}

impl Text {
    /// Reads a file, uncompressed where it is not.
    pub(super) fn read(path: PathBuf, room: &mut Room) -> Result<Self, DatasetError> {
        let refused = |fault: String| DatasetError::of_file(&path, fault);
        let unread = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => refused("no such file".into()),
            _ => refused(format!("cannot be read: {error}")),
        };
        // Looked at before it is opened: opening a pipe already waits.
        let meta = std::fs::metadata(&path).map_err(unread)?;
        if !meta.is_file() {
            return Err(refused("is not a file".into()));
        }
        let mut file = File::open(&path).map_err(unread)?;
        let mut start = [0; GZIP.len()];
        let is_compressed = file.read_exact(&mut start).is_ok() && start == GZIP;
        file.rewind().map_err(unread)?;
        let mut bytes = Vec::new();
        let full = if is_compressed {
            let broken = |error| {
                refused(format!(
                    "is compressed, and cannot be uncompressed: {error}\n  try: the file without compression; gzip -t \
                     tells whether a copy of it is whole"
                ))
            };
            room.read(MultiGzDecoder::new(BufReader::new(file)), &mut bytes).map_err(broken)?
        } else {
            // One that is too large is known to be without reading it.
            room.fits(meta.len(), "it", FEWER).map_err(|fault| refused(fault.0))?;
            room.read(file, &mut bytes).map_err(unread)?
        };
        if let Some(fault) = full {
            return Err(refused(fault.0));
        }
        bytes.shrink_to_fit();
        room.take(bytes.len() as u64, "it", FEWER).map_err(|fault| refused(fault.0))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
            let fault = "is not UTF-8 text\n  try: the file saved as UTF-8";
            DatasetError::of_file(&format!("{}:{line}", path.display()), fault.into())
        })?;
        Ok(Self { path, text })
    }

    /// Lines that are not blank, by number from 1 and range.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u32, Range<usize>)> + '_ {
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

    /// A line as messages name it.
    pub(super) fn at(&self, line: u32) -> String {
        format!("{}:{line}", self.path.display())
    }
}
