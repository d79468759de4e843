//! The rows of a file that may be larger than memory: read once on all cores, and again by position whenever they are
//! needed.
//!
//! A compressed file is unpacked once, and a columnar one is written out row by row, to a file without a name that
//! vanishes with the process.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};

use crate::columns::Columns;
use crate::error::DatasetError;
use crate::plain_file::{BYTE_ORDER_MARK, PlainFile, not_uncompressed};
use crate::source::LARGEST_REQUEST;

/// Bytes that a thread reads at a time.
const PIECE: u64 = 4 << 20;
/// The most threads that read; more would wait for the disk.
const MOST_THREADS: usize = 8;

#[derive(Debug)]
pub(super) struct RowFile {
    path: PathBuf,
    file: File,
    /// Where rows begin: after a byte order mark, and after the header line if there is one.
    start: u64,
    end: u64,
    is_columnar: bool,
}

/// The position of a row: its first byte, and its length without surrounding blanks. Packed, because there may be many
/// millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(Rust, packed(4))]
pub(super) struct RowPosition {
    pub(super) offset: u64,
    pub(super) length: u32,
}

/// A fault, and its row within the piece.
struct Broken {
    offset: u64,
    fault: String,
}

impl RowFile {
    /// Opens a file of lines.
    pub(super) fn lines(path: &Path) -> Result<Self, DatasetError> {
        let refused = |fault: String| DatasetError::of_file(path, fault);
        let opened = PlainFile::open(path, "\n  try: a file with a line for each request").map_err(refused)?;
        let is_compressed = opened.is_compressed();
        let mut file = opened.file;
        if is_compressed {
            let mut unpacked = tempfile::tempfile().map_err(|error| refused(no_room(&error)))?;
            std::io::copy(&mut MultiGzDecoder::new(BufReader::new(file)), &mut unpacked).map_err(|error| {
                let is_full = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::FileTooLarge);
                refused(if is_full { no_room(&error) } else { not_uncompressed(&error) })
            })?;
            file = unpacked;
        }
        let unread = |error: std::io::Error| refused(format!("cannot be read: {error}"));
        let end = file.metadata().map_err(unread)?.len();
        let mut mark = [0; BYTE_ORDER_MARK.len()];
        let has_mark = file.read_exact_at(&mut mark, 0).is_ok() && mark == BYTE_ORDER_MARK.as_bytes();
        let start = if has_mark { BYTE_ORDER_MARK.len() as u64 } else { 0 };
        Ok(Self { path: path.to_owned(), file, start, end, is_columnar: false })
    }

    /// Opens a columnar file: each row becomes a line, a JSON object of the wanted columns. `check` receives the wanted
    /// columns that exist, and the columns that are not read.
    pub(super) fn columns(
        path: &Path,
        wanted: &[&str],
        check: impl FnOnce(&[&str], &[String]) -> Result<(), String>,
    ) -> Result<Self, DatasetError> {
        let refused = |fault: String| DatasetError::of_file(path, fault);
        let mut columns = Columns::open(path, Some(wanted)).map_err(refused)?;
        let names: Vec<String> = columns.names().into_iter().map(str::to_owned).collect();
        check(&names.iter().map(String::as_str).collect::<Vec<_>>(), columns.unread()).map_err(refused)?;
        let file = tempfile::tempfile().map_err(|error| refused(no_room(&error)))?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        let mut number = 0u64;
        while let Some(cells) = columns.next_row() {
            number += 1;
            let at_row = |fault: String| DatasetError::of_file(&format!("{}: row {number}", path.display()), fault);
            let mut row = serde_json::Map::new();
            for (name, cell) in names.iter().zip(cells.map_err(at_row)?) {
                let value = cell.json().ok_or_else(|| at_row(format!("{name} is no text\n  try: a column of text")))?;
                row.insert(name.clone(), value);
            }
            serde_json::to_writer(&mut out, &row).map_err(|error| refused(no_room(&error)))?;
            out.write_all(b"\n").map_err(|error| refused(no_room(&error)))?;
        }
        let file = out.into_inner().map_err(|error| refused(no_room(&error)))?;
        let end = file.metadata().map_err(|error| refused(no_room(&error)))?.len();
        Ok(Self { path: path.to_owned(), file, start: 0, end, is_columnar: true })
    }

    /// Takes the first line that is not blank as the names of columns.
    pub(super) fn take_header(&mut self) -> Result<Option<String>, DatasetError> {
        let mut header = None;
        let mut next = self.start;
        while header.is_none() && next < self.end {
            let mut line = self.bytes(next, PIECE.min(self.end - next))?;
            let end = line.iter().position(|byte| *byte == b'\n');
            next += end.map_or(line.len(), |end| end + 1) as u64;
            line.truncate(end.unwrap_or(line.len()));
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            header = Some(text).filter(|text| !text.is_empty());
        }
        self.start = next;
        Ok(header)
    }

    /// Reads every row that is not blank on all cores. `read` collects the rows of one piece of the file; the pieces
    /// are returned in order, with a digest of the whole. The error is that of the first faulty row.
    pub(super) fn scan<T: Send + Default>(
        &self,
        read: impl Fn(&mut T, RowPosition, &str) -> Result<(), String> + Sync,
    ) -> Result<(Vec<T>, [u8; 32]), DatasetError> {
        let pieces = usize::try_from((self.end - self.start).div_ceil(PIECE)).unwrap_or(usize::MAX);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (next, until) = (AtomicUsize::new(0), AtomicUsize::new(pieces));
        let done = Mutex::new((Vec::new(), None::<(usize, Broken)>));
        std::thread::scope(|scope| {
            for _ in 0..cores.min(MOST_THREADS).min(pieces) {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= until.load(Ordering::Relaxed) {
                            return;
                        }
                        let found = self.read_piece(number as u64, &read);
                        let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        match found {
                            Ok((made, digest)) => done.0.push((number, made, digest)),
                            Err(broken) => {
                                until.fetch_min(number, Ordering::Relaxed);
                                if done.1.as_ref().is_none_or(|(first, _)| number < *first) {
                                    done.1 = Some((number, broken));
                                }
                            }
                        }
                    }
                });
            }
        });
        let (mut made, broken) = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, Broken { offset, fault })) = broken {
            return Err(DatasetError::of_file(&self.at(offset), fault));
        }
        made.sort_unstable_by_key(|(number, ..)| *number);
        let digest = made.iter().fold(Sha256::new(), |all, (.., digest)| all.chain_update(digest)).finalize().into();
        Ok((made.into_iter().map(|(_, made, _)| made).collect(), digest))
    }

    /// Reads the rows that begin in a piece.
    fn read_piece<T: Default>(
        &self,
        number: u64,
        read: &impl Fn(&mut T, RowPosition, &str) -> Result<(), String>,
    ) -> Result<(T, [u8; 32]), Broken> {
        let first = self.start + number * PIECE;
        let last = (first + PIECE).min(self.end);
        let unread = |error: std::io::Error| Broken { offset: first, fault: format!("cannot be read: {error}") };
        let mut bytes = vec![0; (last - first) as usize];
        self.file.read_exact_at(&mut bytes, first).map_err(unread)?;
        let digest = Sha256::digest(&bytes).into();
        // A row belongs to the piece with its first byte.
        let mut begin = 0;
        if number > 0 {
            let mut before = [0];
            self.file.read_exact_at(&mut before, first - 1).map_err(unread)?;
            if before != [b'\n'] {
                begin = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
            }
        }
        if begin < bytes.len() && bytes.last() != Some(&b'\n') {
            self.read_on(&mut bytes, first).map_err(unread)?;
        }
        let mut made = T::default();
        while begin < bytes.len() {
            let end = bytes[begin..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| begin + end);
            let (offset, line) = (first + begin as u64, &bytes[begin..end]);
            begin = end + 1;
            let broken = |fault: String| Broken { offset, fault };
            if line.len() as u64 > LARGEST_REQUEST {
                return Err(broken(format!(
                    "a row of {} MB, and one may have {} MB\n  try: smaller rows",
                    line.len() / 1_000_000,
                    LARGEST_REQUEST / 1_000_000
                )));
            }
            let line = std::str::from_utf8(line)
                .map_err(|_| broken("is not UTF-8 text\n  try: the file saved as UTF-8".into()))?;
            let row = line.trim();
            if !row.is_empty() {
                let blanks = (line.len() - line.trim_start().len()) as u64;
                read(&mut made, RowPosition { offset: offset + blanks, length: row.len() as u32 }, row)
                    .map_err(broken)?;
            }
        }
        Ok((made, digest))
    }

    /// Reads the rest of a piece's last row.
    fn read_on(&self, bytes: &mut Vec<u8>, first: u64) -> std::io::Result<()> {
        let mut step = 64 * 1024;
        loop {
            let (from, length) = (first + bytes.len() as u64, bytes.len());
            let more = (self.end - from).min(step) as usize;
            if more == 0 || length as u64 > LARGEST_REQUEST + PIECE {
                return Ok(());
            }
            bytes.resize(length + more, 0);
            self.file.read_exact_at(&mut bytes[length..], from)?;
            if let Some(end) = bytes[length..].iter().position(|byte| *byte == b'\n') {
                bytes.truncate(length + end + 1);
                return Ok(());
            }
            step *= 2;
        }
    }

    /// Reads a row again.
    pub(super) fn row(&self, place: RowPosition) -> Result<String, DatasetError> {
        let bytes = self.bytes(place.offset, u64::from(place.length))?;
        String::from_utf8(bytes).map_err(|_| self.changed(place.offset))
    }

    fn bytes(&self, offset: u64, length: u64) -> Result<Vec<u8>, DatasetError> {
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, offset).map_err(|_| self.changed(offset))?;
        Ok(bytes)
    }

    fn changed(&self, offset: u64) -> DatasetError {
        let fault =
            "cannot be read again: the file has changed since the run began\n  try: a copy that does not change";
        DatasetError::of_file(&self.at(offset), fault.into())
    }

    /// The location of a row, for messages. Counts the lines up to the row: only faults need this, and they are few.
    pub(super) fn at(&self, offset: u64) -> String {
        let (mut line, mut next) = (1, 0);
        while next < offset {
            let Ok(bytes) = self.bytes(next, PIECE.min(offset - next)) else { break };
            line += bytes.iter().filter(|byte| **byte == b'\n').count();
            next += bytes.len() as u64;
        }
        let path = self.path.display();
        if self.is_columnar { format!("{path}: row {line}") } else { format!("{path}:{line}") }
    }
}

fn no_room(error: &dyn std::fmt::Display) -> String {
    format!(
        "cannot be unpacked to a temporary file: {error}\n  try: another folder for temporary files, with room: TMPDIR=DIR"
    )
}
