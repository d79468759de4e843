//! Rows of columnar files, Parquet and Arrow: each as typed cells, a batch of rows in memory at a time.
//!
//! The first bytes of a file decide which of the two it is, not its name. Pages may be compressed with Snappy, Zstandard,
//! gzip or LZ4.
//!
//! Layout:
//! - `cell`: a value of a row, and the values that both formats have
//! - `parquet`: Parquet files
//! - `arrow`: Arrow files and streams

mod arrow;
mod cell;
mod parquet;

use std::path::Path;

use ::parquet::errors::ParquetError;

pub use self::cell::Cell;
use crate::plain_file::PlainFile;

const PARQUET: &[u8] = b"PAR1";
const ARROW: &[u8] = b"ARROW1";
/// What a stream of Arrow begins with, in place of a file's name.
const ARROW_STREAM: &[u8] = &[0xff; 4];
/// How deep lists and structs may be nested: readers of them call themselves.
const DEEPEST: usize = 64;

/// A columnar file, all or some of its columns, row by row. Errors do not name the file.
pub struct Columns {
    names: Vec<String>,
    unread: Vec<String>,
    source: Box<dyn Rows>,
}

/// The rows of an open file.
trait Rows: Send {
    /// The cells of the next row, or `None` past the last.
    fn next_row(&mut self) -> Result<Option<Vec<Cell>>, Fault>;
}

/// Why a file is not read.
#[derive(Debug)]
enum Fault {
    /// It is damaged, cut, or not written as its format wants it.
    Broken(String),
    /// It is whole, and holds what we do not read.
    Refused(String),
}

/// What was found in a file before its rows.
struct Opened {
    /// The names of all columns.
    names: Vec<String>,
    source: Box<dyn Rows>,
}

impl Columns {
    /// Whether these are the first bytes of a columnar file; six are enough.
    pub fn begin_with(start: &[u8]) -> bool {
        [PARQUET, ARROW, ARROW_STREAM].iter().any(|magic| start.starts_with(magic))
    }

    /// Opens a file to read those of its columns that are wanted, as far as it has them; `None` reads all.
    pub fn open(path: &Path, wanted: Option<&[&str]>) -> Result<Self, String> {
        let PlainFile { file, start, .. } = PlainFile::open(path, "")?;
        let is_wanted = |name: &str| wanted.is_none_or(|wanted| wanted.contains(&name));
        let (what, opened) = if start.starts_with(PARQUET) {
            ("Parquet", guarded(|| parquet::open(file, is_wanted)))
        } else if start.starts_with(ARROW) {
            ("Arrow", guarded(|| arrow::open_file(file, is_wanted)))
        } else if start.starts_with(ARROW_STREAM) {
            ("Arrow", guarded(|| arrow::open_stream(file, is_wanted)))
        } else {
            return Err(
                "is neither Parquet nor Arrow\n  such a file begins with PAR1 or ARROW1\n  try: a .parquet, .arrow \
                        or .ipc file as pyarrow writes it"
                    .into(),
            );
        };
        let Opened { names, source } = opened.map_err(|fault| fault.message(what))?;
        let (names, unread) = names.into_iter().partition(|name| is_wanted(name));
        Ok(Self { names, unread, source })
    }

    /// The names of the columns that are read, in the order of the cells.
    pub fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    /// The names of the columns that are not read.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// The cells of the next row, or `None` past the last. Nothing follows a row that cannot be read.
    pub fn next_row(&mut self) -> Option<Result<Vec<Cell>, String>> {
        let row = guarded(|| self.source.next_row());
        if row.is_err() {
            self.source = Box::new(NoRows);
        }
        row.map_err(|fault| fault.message("of rows")).transpose()
    }
}

struct NoRows;

impl Rows for NoRows {
    fn next_row(&mut self) -> Result<Option<Vec<Cell>>, Fault> {
        Ok(None)
    }
}

impl Fault {
    fn message(self, what: &str) -> String {
        match self {
            Self::Broken(why) => format!(
                "is a {what} file that cannot be read: {why}\n  try: a whole copy of it, with pages of snappy, zstd, \
                 gzip or lz4"
            ),
            Self::Refused(message) => message,
        }
    }

    fn lengths() -> Self {
        Self::Broken("its lengths do not fit together".into())
    }

    fn cut() -> Self {
        Self::Broken("it is cut, or its writer was not closed: its end is not there".into())
    }

    fn deep() -> Self {
        Self::Broken(format!("its columns are nested more than {DEEPEST} deep"))
    }
}

impl From<ParquetError> for Fault {
    fn from(error: ParquetError) -> Self {
        Self::Broken(error.to_string())
    }
}

/// Runs a reader: that of Parquet trusts a file's lengths, and panics where they are wrong.
fn guarded<T>(read: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    aiperf_types::guard::guarded(read).unwrap_or_else(|| Err(Fault::lengths()))
}
