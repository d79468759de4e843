//! Rows of columnar files, Parquet and Arrow: each as typed cells, with one batch of rows in memory at a time.
//!
//! The first bytes of a file decide which of the two it is, not its name. Pages may be compressed with Snappy,
//! Zstandard, gzip or LZ4.

mod arrow_lengths;
mod cell;

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;

pub use self::cell::Cell;
use self::cell::cell;
use crate::plain_file::PlainFile;

const PARQUET: &[u8] = b"PAR1";
const ARROW: &[u8] = b"ARROW1";
/// Where the messages of an Arrow file begin. They have the form of a stream; an index of their positions follows them.
const FIRST_MESSAGE: u64 = 8;
/// The first bytes of an Arrow stream; an Arrow file has its magic text there.
const ARROW_STREAM: &[u8] = &[0xff; 4];
/// Rows decoded at a time: prompts may be long.
const BATCH_ROWS: usize = 256;

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// A columnar file, all or some of its columns, row by row. Error messages leave out the name of the file.
pub struct Columns {
    schema: SchemaRef,
    unread: Vec<String>,
    rows: Option<u64>,
    batches: Batches,
    batch: Option<RecordBatch>,
    next: usize,
}

/// A file whose schema has been read.
struct Opened {
    schema: SchemaRef,
    unread: Vec<String>,
    rows: Option<u64>,
    batches: Batches,
}

impl Columns {
    /// Whether these are the first bytes of a columnar file. Six bytes are enough.
    pub fn begin_with(start: &[u8]) -> bool {
        [PARQUET, ARROW, ARROW_STREAM].iter().any(|magic| start.starts_with(magic))
    }

    /// Opens a file to read the `wanted` columns that it has; `None` reads all.
    pub fn open(path: &Path, wanted: Option<&[&str]>) -> Result<Self, String> {
        let PlainFile { file, start, .. } = PlainFile::open(path, "")?;
        Self::of(&start, file, wanted)
    }

    /// Like [`Self::open`], for a file in memory.
    pub fn of_bytes(bytes: Bytes, wanted: Option<&[&str]>) -> Result<Self, String> {
        let start = bytes.slice(..bytes.len().min(ARROW.len()));
        Self::of(&start, Held(bytes), wanted)
    }

    fn of(start: &[u8], from: impl ColumnarData, wanted: Option<&[&str]>) -> Result<Self, String> {
        let (what, opened) = if start.starts_with(PARQUET) {
            ("Parquet", guarded(|| parquet(from.chunks(), wanted).map_err(ArrowError::from)))
        } else if start.starts_with(ARROW) {
            ("Arrow", guarded(|| arrow(from.reader()?, from.reader()?, FIRST_MESSAGE, wanted)))
        } else if start.starts_with(ARROW_STREAM) {
            ("Arrow", guarded(|| arrow(from.reader()?, from.reader()?, 0, wanted)))
        } else {
            return Err(
                "is neither Parquet nor Arrow\n  such a file begins with PAR1 or ARROW1\n  try: a .parquet, .arrow \
                        or .ipc file as pyarrow writes it"
                    .into(),
            );
        };
        let Opened { schema, unread, rows, batches } = opened.map_err(|error| broken(what, &error))?;
        Ok(Self { schema, unread, rows, batches, batch: None, next: 0 })
    }

    /// The names of the columns to read, in the order of the cells.
    pub fn names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// The names of the other columns.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// The number of rows. Only Parquet files contain it.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// The cells of the next row, or `None` after the last.
    pub fn next_row(&mut self) -> Option<Result<Vec<Cell>, String>> {
        loop {
            if let Some(batch) = self.batch.as_ref().filter(|batch| self.next < batch.num_rows()) {
                let row = self.next;
                self.next += 1;
                return Some(batch.columns().iter().map(|column| cell(column, row)).collect());
            }
            match guarded(|| self.batches.next().transpose()) {
                Ok(Some(batch)) => (self.batch, self.next) = (Some(batch), 0),
                Ok(None) => return None,
                Err(error) => {
                    self.batches = Box::new(std::iter::empty());
                    return Some(Err(broken("of rows", &error)));
                }
            }
        }
    }
}

fn broken(what: &str, error: &ArrowError) -> String {
    format!(
        "is a file {what} that cannot be read: {error}\n  try: a whole copy of it, with pages of snappy, zstd, gzip or lz4"
    )
}

/// Runs a reader. Some readers trust the lengths in a file and panic if they are wrong.
fn guarded<T>(read: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    aiperf_types::guard::guarded(read)
        .unwrap_or_else(|| Err(ArrowError::ParseError("its lengths do not fit together".to_owned())))
}

/// A columnar file on disk or in memory.
trait ColumnarData {
    type Chunks: ChunkReader + 'static;
    type Reader: Read + Seek + Send + 'static;

    fn chunks(&self) -> Result<Self::Chunks, std::io::Error>;
    /// A separate reader, at the beginning.
    fn reader(&self) -> Result<Self::Reader, std::io::Error>;
}

struct Held(Bytes);

impl ColumnarData for Held {
    type Chunks = Bytes;
    type Reader = Cursor<Bytes>;

    fn chunks(&self) -> Result<Bytes, std::io::Error> {
        Ok(self.0.clone())
    }

    fn reader(&self) -> Result<Cursor<Bytes>, std::io::Error> {
        Ok(Cursor::new(self.0.clone()))
    }
}

impl ColumnarData for File {
    type Chunks = File;
    type Reader = BufReader<File>;

    fn chunks(&self) -> Result<File, std::io::Error> {
        self.try_clone()
    }

    fn reader(&self) -> Result<BufReader<File>, std::io::Error> {
        let mut file = self.try_clone()?;
        file.rewind()?;
        Ok(BufReader::new(file))
    }
}

fn parquet(from: std::io::Result<impl ChunkReader + 'static>, wanted: Option<&[&str]>) -> Result<Opened, ParquetError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(from?)?.with_batch_size(BATCH_ROWS);
    let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).ok();
    let unread = unread(builder.schema(), wanted);
    let mask = ProjectionMask::roots(builder.parquet_schema(), positions(builder.schema(), wanted));
    let reader = builder.with_projection(mask).build()?;
    Ok(Opened { schema: reader.schema(), unread, rows, batches: Box::new(reader) })
}

fn arrow<R: Read + Seek + Send + 'static>(
    mut look: R,
    mut read: R,
    begin: u64,
    wanted: Option<&[&str]>,
) -> Result<Opened, ArrowError> {
    let is_stream = begin != FIRST_MESSAGE;
    if !is_stream {
        check_end(&mut look)?;
    }
    look.seek(SeekFrom::Start(begin))?;
    let is_ended = arrow_lengths::check(&mut look)?;
    // The Arrow reader accepts a stream that is cut between two batches.
    if is_stream && !is_ended {
        return Err(cut());
    }
    look.seek(SeekFrom::Start(begin))?;
    let whole = StreamReader::try_new(look, None)?.schema();
    let kept = positions(&whole, wanted);
    let schema = whole.project(&kept)?.into();
    // Two readers of one file share its position.
    read.seek(SeekFrom::Start(begin))?;
    let unread = unread(&whole, wanted);
    Ok(Opened { schema, unread, rows: None, batches: Box::new(StreamReader::try_new(read, Some(kept))?) })
}

/// A file, unlike a stream, ends with the bytes it begins with. A file that does not has lost rows.
fn check_end(file: &mut (impl Read + Seek)) -> Result<(), ArrowError> {
    let mut end = [0; ARROW.len()];
    let is_whole =
        file.seek(SeekFrom::End(-(ARROW.len() as i64))).is_ok() && file.read_exact(&mut end).is_ok() && end == ARROW;
    if is_whole { Ok(()) } else { Err(cut()) }
}

fn cut() -> ArrowError {
    ArrowError::ParseError("it is cut, or its writer was not closed: its end is not there".to_owned())
}

fn unread(schema: &SchemaRef, wanted: Option<&[&str]>) -> Vec<String> {
    let is_read = |name: &String| wanted.is_none_or(|wanted| wanted.contains(&name.as_str()));
    schema.fields().iter().map(|field| field.name().clone()).filter(|name| !is_read(name)).collect()
}

fn positions(schema: &SchemaRef, wanted: Option<&[&str]>) -> Vec<usize> {
    let is_wanted = |name: &str| wanted.is_none_or(|wanted| wanted.contains(&name));
    let fields = schema.fields().iter().enumerate();
    fields.filter(|(_, field)| is_wanted(field.name())).map(|(index, _)| index).collect()
}
