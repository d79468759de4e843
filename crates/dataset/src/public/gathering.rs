//! Collects conversations, up to the number that is needed.
//!
//! Rows are read in order and converted on all cores, some hundreds at a time. The result does not depend on the number
//! of cores.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;

use aiperf_plan::PublicSource;
use aiperf_types::{Conversation, Media, Turn};

use super::kind::{Found, RowReader, With};
use super::row::{Fault, Row};
use super::rows;
use crate::error::DatasetError;
use crate::session_id::SessionIds;
use crate::source::Making;

/// Rows to convert at a time.
const BATCH: usize = 512;
/// Bytes that a turn takes beside its content.
const BYTES_A_TURN: u64 = (size_of::<Turn>() + size_of::<Conversation>()) as u64;
/// Labels of rows that a message names.
const NAMED: usize = 20;

pub(super) struct Gathering<'a> {
    kind: &'static dyn RowReader,
    with: With<'a>,
    making: Making<'a>,
    /// The most rows to use.
    most: u64,
    used: u64,
    rows: u64,
    batch: Vec<(u64, Row)>,
    conversations: Vec<Conversation>,
    places: Vec<(u32, u64)>,
    files: Vec<String>,
    dropped: Vec<(&'static str, u64)>,
    labels: Vec<String>,
    sessions: HashSet<String>,
    ids: SessionIds,
    unnamed: u64,
    bytes: u64,
}

/// All conversations of a set; at least one.
pub(super) struct Gathered {
    pub(super) conversations: Vec<Conversation>,
    pub(super) places: Vec<(u32, u64)>,
    pub(super) files: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl<'a> Gathering<'a> {
    pub(super) fn new(kind: &'static dyn RowReader, with: With<'a>, making: Making<'a>) -> Self {
        let plan = with.plan;
        let is_streamed = matches!(plan.set.source(), PublicSource::Hub(hub) if hub.is_streamed);
        let needed = plan.needed.filter(|_| is_streamed);
        Self {
            kind,
            with,
            making,
            most: [plan.entries, needed].into_iter().flatten().min().unwrap_or(u64::MAX),
            used: 0,
            rows: 0,
            batch: Vec::new(),
            conversations: Vec::new(),
            places: Vec::new(),
            files: Vec::new(),
            dropped: Vec::new(),
            labels: Vec::new(),
            sessions: HashSet::new(),
            ids: SessionIds::new(making.draws),
            unnamed: 0,
            bytes: 0,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.used >= self.most
    }

    /// Reads a file, as far as needed.
    pub(super) fn read(&mut self, path: &Path) -> Result<(), DatasetError> {
        self.files.push(path.display().to_string());
        let columns = self.kind.columns();
        let read = rows::each(path, columns.as_deref(), &mut |number, row| {
            self.batch.push((number, row));
            if self.batch.len() >= self.batch_size() {
                self.flush()?;
            }
            Ok(if self.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        });
        read.and_then(|()| self.flush()).map_err(|fault| DatasetError::of_file(path, fault))
    }

    /// No more rows than can still be used: fetching and reading others would be wasted.
    fn batch_size(&self) -> usize {
        let left = self.most.saturating_sub(self.used).max(1);
        usize::try_from(left).unwrap_or(BATCH).min(BATCH)
    }

    fn flush(&mut self) -> Result<(), Fault> {
        let batch = std::mem::take(&mut self.batch);
        let (kind, with) = (self.kind, self.with);
        let read = |(number, row): (u64, Row)| {
            let found = kind.read(row, with).map_err(|fault| format!("row {number}: {fault}"));
            (number, found)
        };
        for (number, found) in on_all_cores(batch, read) {
            self.rows += 1;
            (self.making.progress)();
            if !self.is_full() {
                self.add(number, found?)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, number: u64, found: Found) -> Result<(), Fault> {
        let Found { conversations, dropped, label } = found;
        for (reason, count) in dropped {
            match self.dropped.iter_mut().find(|(other, _)| *other == reason) {
                Some((_, all)) => *all += count,
                None => self.dropped.push((reason, count)),
            }
        }
        if let Some(label) = label.filter(|label| self.labels.len() < NAMED && !self.labels.contains(label)) {
            self.labels.push(label);
        }
        if conversations.is_empty() {
            return Ok(());
        }
        self.used += 1;
        for mut conversation in conversations {
            if conversation.session_id.is_empty() {
                conversation.session_id = self.ids.id(self.unnamed);
                self.unnamed += 1;
            } else if !self.sessions.insert(conversation.session_id.clone()) {
                return Err(format!(
                    "row {number}: session id '{}' occurs in another row too\n  try: the files as their publisher has them",
                    conversation.session_id
                ));
            }
            self.bytes += bytes(&conversation);
            if let Some(room) = self.making.room.filter(|room| self.bytes > *room) {
                return Err(format!(
                    "row {number}: there is no memory for more of it: {:.1} GB are taken, and {:.1} GB may be\n  try: fewer \
                     conversations (--num-dataset-entries {})",
                    self.bytes as f64 / 1e9,
                    room as f64 / 1e9,
                    (self.used / 2).max(1)
                ));
            }
            self.conversations.push(conversation);
            self.places.push((self.files.len() as u32 - 1, number));
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Gathered, DatasetError> {
        let name = self.with.plan.set.name();
        let counted = |(reason, count): &(&'static str, u64)| format!("{reason}: {count}");
        let dropped = self.dropped.iter().map(counted).collect::<Vec<_>>().join(", ");
        if self.conversations.is_empty() {
            let read = match self.rows {
                0 => "has no rows".to_owned(),
                rows => format!("none of its {rows} rows can be used: {dropped}"),
            };
            let way_out = if self.with.plan.filters.is_empty() || self.labels.is_empty() {
                "remove its files, to fetch them again, or another dataset".to_owned()
            } else {
                format!("other filters: there are sessions of {}", self.labels.join(", "))
            };
            return Err(DatasetError::of_file(name, format!("{read}\n  try: {way_out}")));
        }
        let notes = if dropped.is_empty() {
            Vec::new()
        } else {
            vec![format!("{name}: of {} rows, these are left out: {dropped}", self.rows)]
        };
        Ok(Gathered { conversations: self.conversations, places: self.places, files: self.files, notes })
    }
}

/// Applies a function to all items on all cores; the results are in order.
fn on_all_cores<T: Send, U: Send>(items: Vec<T>, apply: impl Fn(T) -> U + Sync) -> Vec<U> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len() / 8);
    if threads < 2 {
        return items.into_iter().map(apply).collect();
    }
    let each = items.len().div_ceil(threads);
    let mut items = items.into_iter();
    let parts: Vec<Vec<T>> = (0..threads).map(|_| items.by_ref().take(each).collect()).collect();
    let apply = &apply;
    thread::scope(|scope| {
        let work = |part: Vec<T>| scope.spawn(move || part.into_iter().map(apply).collect::<Vec<U>>());
        let threads: Vec<_> = parts.into_iter().map(work).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// About the memory that a conversation takes.
fn bytes(conversation: &Conversation) -> u64 {
    let media = |media: &Vec<Media>| media.iter().flat_map(|media| &media.contents).map(String::len).sum::<usize>();
    let turn = |turn: &Turn| {
        let contents = [&turn.texts, &turn.images, &turn.audios, &turn.videos].into_iter().map(media).sum::<usize>();
        // JSON values take about three times their text.
        let values = turn.raw_messages.iter().chain(&turn.raw_tools).flatten();
        let values = values.map(|value| 3 * value.to_string().len()).sum::<usize>();
        BYTES_A_TURN + (contents + values) as u64
    };
    conversation.turns.iter().map(turn).sum()
}
