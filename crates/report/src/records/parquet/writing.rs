//! The file during the run: rows are collected into row groups. A thread of the lowest priority turns these into
//! chunks, and the thread that hands over rows appends them in order.

use super::arrow_schema::arrow_schema;
use super::chunks::GroupEncoder;
use super::columns::Columns;
use crate::export::Completion;
use crate::files::is_still_there;
use crate::format::parquet_pages::Chunk;
use crate::run::RunResult;
use crate::staged::Staged;
use crate::summary::json::metrics_on_one_line;
use aiperf_transport::sys;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Version of the file's layout.
const SCHEMA_VERSION: &str = "1.0";
/// Bytes of rows in a row group: about 2,700 records with 100 chunks each, or 6,000 without. Turning it into chunks
/// takes about as much again.
const GROUP: usize = 4 << 20;
/// Groups that may wait for the thread. The thread that hands over rows does the work of further ones.
const MOST_WAITING: usize = 2;

/// The memory of all of it: the rows of one group more than may wait, and of one that is being collected; the buffers
/// of the two encoders; the chunks; and what an allocator keeps.
pub(crate) const HOLDS: usize = 64 << 20;

/// Rows of one group, and its chunks when they are done.
struct Group {
    rows: Vec<u8>,
    chunks: OnceLock<Result<Vec<Chunk>>>,
}

/// The state of the file. If it is dropped unfinished, it leaves nothing behind.
pub(crate) struct Writing {
    columns: Arc<Columns>,
    rows: Vec<u8>,
    /// In order, the oldest first.
    waiting: VecDeque<Arc<Group>>,
    to_thread: Sender<Arc<Group>>,
    /// For groups that the thread has not done.
    own: Option<GroupEncoder>,
    /// Buffers of written groups, for the next ones.
    spare: Vec<Vec<u8>>,
    file: SerializedFileWriter<File>,
    staged: Staged,
}

impl Writing {
    pub(crate) fn open(path: &Path, columns: Arc<Columns>) -> io::Result<Self> {
        let (staged, file) = Staged::begin_file(path, None)?;
        let created_by = concat!("aiperf version ", env!("CARGO_PKG_VERSION")).to_owned();
        let properties = WriterProperties::builder().set_created_by(created_by).build();
        let file = SerializedFileWriter::new(file, columns.schema().clone(), properties.into()).map_err(as_io)?;
        let (to_thread, groups) = mpsc::channel();
        let encoder = GroupEncoder::new(columns.clone()).map_err(as_io)?;
        std::thread::Builder::new().name("aiperf-parquet".into()).spawn(move || encode_groups(&groups, encoder))?;
        let (rows, spare, waiting) = (Vec::with_capacity(GROUP), Vec::new(), VecDeque::new());
        Ok(Self { columns, rows, waiting, to_thread, own: None, spare, file, staged })
    }

    /// The writer of rows, and the completion for the end of the run.
    pub(crate) fn ends(self) -> (RowsFile, Completion) {
        let shared = Arc::new(Mutex::new(Some(self)));
        let rows = RowsFile(shared.clone());
        let complete = Box::new(move |run: &RunResult| {
            let writing = lock(&shared).take().ok_or_else(gone)?;
            writing.finish(run)
        });
        (rows, complete)
    }

    fn take(&mut self, rows: &[u8]) -> io::Result<()> {
        if self.rows.len() + rows.len() > GROUP {
            self.close_group();
            self.append_done(MOST_WAITING)?;
        }
        self.rows.extend_from_slice(rows);
        Ok(())
    }

    fn close_group(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        let room = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(GROUP));
        let rows = std::mem::replace(&mut self.rows, room);
        let group = Arc::new(Group { rows, chunks: OnceLock::new() });
        // If the thread is gone, the group is encoded here.
        let _ = self.to_thread.send(group.clone());
        self.waiting.push_back(group);
    }

    /// Appends groups that are done, and encodes those beyond the number that may wait.
    fn append_done(&mut self, may_wait: usize) -> io::Result<()> {
        let is_due = |waiting: usize, group: &Arc<Group>| waiting > may_wait || group.chunks.get().is_some();
        while let Some(group) = self.waiting.front().filter(|group| is_due(self.waiting.len(), group)) {
            let own = if group.chunks.get().is_some() {
                None
            } else {
                let encoder = match &mut self.own {
                    Some(encoder) => encoder,
                    none => none.insert(GroupEncoder::new(self.columns.clone()).map_err(as_io)?),
                };
                Some(encoder.chunks(&group.rows))
            };
            match own.as_ref().or(group.chunks.get()) {
                Some(Ok(chunks)) => append(&mut self.file, chunks).map_err(as_io)?,
                Some(Err(error)) => return Err(io::Error::other(error.to_string())),
                None => {}
            }
            if let Some(Group { mut rows, .. }) = self.waiting.pop_front().and_then(Arc::into_inner)
                && rows.capacity() <= 2 * GROUP
            {
                rows.clear();
                self.spare.push(rows);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.append_done(MOST_WAITING)?;
        self.file.flush()?;
        is_still_there(self.file.inner())
    }

    fn finish(mut self, run: &RunResult) -> io::Result<()> {
        self.close_group();
        self.append_done(0)?;
        for (key, value) in [
            ("aiperf.schema_version", SCHEMA_VERSION.to_owned()),
            ("aiperf.version", run.version.clone()),
            ("aiperf.benchmark_id", run.info.benchmark_id.clone()),
            ("aiperf.units", self.columns.units()),
            ("aiperf.metrics", metrics_on_one_line(&run.metrics)),
            ("ARROW:schema", arrow_schema(&self.columns)),
        ] {
            self.file.append_key_value_metadata(KeyValue { key: key.to_owned(), value: Some(value) });
        }
        self.file.finish().map_err(as_io)?;
        is_still_there(self.file.inner())?;
        self.staged.publish()
    }
}

/// Turns groups into chunks, one after another, until the sender is gone.
fn encode_groups(groups: &Receiver<Arc<Group>>, mut encoder: GroupEncoder) {
    // If that is not possible, it competes with others for a core.
    let _ = sys::set_idle_priority();
    for group in groups {
        // The other thread did it in the meantime.
        if Arc::strong_count(&group) > 1 {
            let _ = group.chunks.set(encoder.chunks(&group.rows));
        }
    }
}

fn append(file: &mut SerializedFileWriter<File>, chunks: &[Chunk]) -> Result<()> {
    let mut group = file.next_row_group()?;
    for Chunk { bytes, close } in chunks {
        group.append_column(bytes, close.clone())?;
    }
    group.close()?;
    Ok(())
}

/// Takes the rows of encoders, in order of completion.
pub(crate) struct RowsFile(Arc<Mutex<Option<Writing>>>);

impl RowsFile {
    /// An error ends the file: what was written is removed at once, because the disk may be full.
    fn put(&self, put: impl FnOnce(&mut Writing) -> io::Result<()>) -> io::Result<()> {
        let mut writing = lock(&self.0);
        let result = writing.as_mut().ok_or_else(gone).and_then(put);
        if result.is_err() {
            *writing = None;
        }
        result
    }
}

impl Write for RowsFile {
    /// Takes whole rows.
    fn write(&mut self, rows: &[u8]) -> io::Result<usize> {
        self.put(|writing| writing.take(rows))?;
        Ok(rows.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put(Writing::flush)
    }
}

/// No other thread holds it while the run is on.
fn lock(shared: &Mutex<Option<Writing>>) -> MutexGuard<'_, Option<Writing>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn gone() -> io::Error {
    io::Error::other("it could not be written while the run was on")
}

/// The I/O error, if it was one.
fn as_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::{Metrics, RunTraits};
    use aiperf_types::EndpointKind;

    /// A row with one text, large enough for a group.
    fn long_row(columns: &Columns) -> Vec<u8> {
        let column = columns.iter().position(|column| column.name == "conversation_id").unwrap() as u16;
        let mut row = ((GROUP + 6) as u32).to_le_bytes().to_vec();
        row.extend_from_slice(&column.to_le_bytes());
        row.extend_from_slice(&(GROUP as u32).to_le_bytes());
        row.resize(row.len() + GROUP, b'a');
        row
    }

    #[test]
    fn the_thread_that_hands_over_rows_does_what_the_encoder_thread_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let columns = Columns::of(&Metrics::for_run(RunTraits::new(EndpointKind::Chat, true))).unwrap();
        let mut writing = Writing::open(&dir.path().join("records.parquet"), columns.into()).unwrap();
        // As if it never got a core.
        writing.to_thread = mpsc::channel().0;
        let row = long_row(&writing.columns);
        for groups in 0..MOST_WAITING + 3 {
            writing.take(&row).unwrap();
            assert_eq!(writing.waiting.len(), groups.min(MOST_WAITING));
        }
        assert_eq!(writing.file.flushed_row_groups().len(), 2);
        writing.append_done(0).unwrap();
        assert_eq!(writing.file.flushed_row_groups().len(), MOST_WAITING + 2);
    }
}
