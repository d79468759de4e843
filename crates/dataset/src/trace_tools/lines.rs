//! Lines of a file, one at a time: a trace is larger than what is kept of it.

use crate::error::DatasetError;
use crate::json_kind::kind;
use crate::plain_file::{BYTE_ORDER_MARK, PlainFile, is_compressed, not_uncompressed};
use crate::source::LARGEST_REQUEST;
use flate2::bufread::MultiGzDecoder;
use serde_json::{Map, Value};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

/// A file that is read once, from the first line to the last.
pub(super) struct Lines {
    place: String,
    from: Box<dyn BufRead>,
    line: u64,
    bytes: Vec<u8>,
    /// The longest line that fits.
    longest: u64,
}

/// Bytes of memory per byte of a row while it is parsed: in a list of ids, two bytes of text are a value and a number.
const BYTES_A_BYTE: u64 = 32;

impl Lines {
    /// Opens a file, and uncompresses it if necessary.
    pub(super) fn open(path: &Path) -> Result<Self, DatasetError> {
        let way_out = "\n  try: the path of a trace, a file of JSON lines";
        let opened = PlainFile::open(path, way_out).map_err(|fault| DatasetError::of_file(path, fault))?;
        let from = BufReader::with_capacity(1 << 18, opened.file);
        Self::of(path.display().to_string(), from)
    }

    /// The lines of a reader; `place` is its name in messages.
    pub(super) fn of(place: String, mut from: impl BufRead + 'static) -> Result<Self, DatasetError> {
        // The first read is enough to recognise gzip: no reader returns one byte if it has two.
        let start = from.fill_buf().map_err(|error| unread(&place, 1, &error))?;
        let from: Box<dyn BufRead> = match is_compressed(start) {
            true => Box::new(BufReader::with_capacity(1 << 18, MultiGzDecoder::new(from))),
            false => Box::new(from),
        };
        Ok(Self { place, from, line: 0, bytes: Vec::new(), longest: LARGEST_REQUEST })
    }

    /// Limits lines to those that can be parsed in `room` bytes of memory.
    pub(super) fn within(mut self, room: Option<u64>) -> Self {
        self.longest = room.map_or(LARGEST_REQUEST, |room| (room / BYTES_A_BYTE).clamp(1, LARGEST_REQUEST));
        self
    }

    /// The next line that is not blank, trimmed, and its number from 1.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &str)>, DatasetError> {
        loop {
            self.bytes.clear();
            self.line += 1;
            let read = (&mut self.from).take(self.longest + 1).read_until(b'\n', &mut self.bytes);
            if read.map_err(|error| unread(&self.place, self.line, &error))? == 0 {
                return Ok(None);
            }
            // A compressed file can contain a row that is larger than memory.
            if self.bytes.len() as u64 > self.longest && !self.bytes.ends_with(b"\n") {
                let most = self.longest as f64 / 1e6;
                let why = if self.longest < LARGEST_REQUEST { ", more than there is memory to read" } else { "" };
                let fault = format!("is longer than {most:.0} MB{why}\n  try: one JSON object a line");
                return Err(self.fault(self.line, fault));
            }
            if self.line == 1 && self.bytes.starts_with(BYTE_ORDER_MARK.as_bytes()) {
                self.bytes.drain(..BYTE_ORDER_MARK.len());
            }
            if !self.bytes.trim_ascii().is_empty() {
                break;
            }
        }
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => Ok(Some((self.line, text.trim()))),
            Err(_) => Err(self.fault(self.line, "is not UTF-8 text\n  try: the file saved as UTF-8")),
        }
    }

    /// The fault of a line.
    pub(super) fn fault(&self, line: u64, what: impl Into<String>) -> DatasetError {
        DatasetError::File { place: format!("{}:{line}", self.place), fault: what.into() }
    }

    /// The fault of a file without rows.
    pub(super) fn empty(&self) -> DatasetError {
        DatasetError::File {
            place: self.place.clone(),
            fault: "is empty\n  try: a file with one JSON object a line".into(),
        }
    }
}

fn unread(place: &str, line: u64, error: &std::io::Error) -> DatasetError {
    let fault = match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => not_uncompressed(error),
        _ => format!("cannot be read: {error}"),
    };
    DatasetError::File { place: format!("{place}:{line}"), fault }
}

pub(super) fn members(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(other) => Err(format!("is {}, and a row is a JSON object", kind(&other))),
        Err(error) => {
            let what = error.to_string();
            let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
            Err(format!("is not JSON: {what} at column {}", error.column()))
        }
    }
}

/// A whole number; a text that contains one is accepted too.
pub(super) fn whole(value: &Value) -> Option<i128> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let of_float = |number: f64| (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i128);
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Some(number.into()),
            (_, Some(number)) => Some(number.into()),
            _ => number.as_f64().and_then(of_float),
        },
        Value::String(text) => match text.trim().parse::<i128>() {
            Ok(number) => Some(number),
            Err(_) => text.trim().parse().ok().and_then(of_float),
        },
        _ => None,
    }
}

/// A finite number; a text that contains one is accepted too.
pub(super) fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// A value for a message, shortened.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
