//! The text of a file, and its rows.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;

use flate2::read::MultiGzDecoder;

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
    pub(super) fn read(path: PathBuf) -> Result<Self, DatasetError> {
        let unread = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => DatasetError::of_file(&path, "no such file".into()),
            _ => DatasetError::of_file(&path, format!("cannot be read: {error}")),
        };
        // Looked at before it is opened: opening a pipe already waits.
        if !std::fs::metadata(&path).map_err(unread)?.is_file() {
            return Err(DatasetError::of_file(&path, "is not a file".into()));
        }
        let mut bytes = Vec::new();
        File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(unread)?;
        if bytes.starts_with(GZIP) {
            let mut plain = Vec::new();
            MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain).map_err(unread)?;
            bytes = plain;
        }
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
