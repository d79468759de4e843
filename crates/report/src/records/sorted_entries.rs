//! Entries in the order of their keys, for any number and any order of arrival.
//!
//! A bounded number of bytes is kept in memory. Beyond that, they go to a scratch file as one sorted run, and at the
//! end the runs are merged: ten million entries of 700 bytes are about 840 runs, which take 27 MB to read side by side.
//! The scratch file has no name once it is open, so nothing remains of it however the process ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes to keep in memory.
const TOGETHER: usize = 8 << 20;
/// Bytes of a run to read at a time.
const READ: usize = 32 << 10;

/// The sort key: bytes, so that it can be read back as it was written.
pub(crate) type Key = [u8; 14];
/// A key and the length of its entry.
const HEADER: usize = size_of::<Key>() + size_of::<u64>();

/// The key of a request: its number, its turn, and the phase that has this number.
pub(crate) fn key(number: u64, turn: u32, phase: u16) -> Key {
    let mut key = [0; 14];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key[8..12].copy_from_slice(&turn.to_be_bytes());
    key[12..].copy_from_slice(&phase.to_be_bytes());
    key
}

/// Appends an entry with its key, in the form for [`SortedEntries::take`].
pub(crate) fn push_entry(out: &mut Vec<u8>, key: Key, push: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&key);
    out.extend_from_slice(&[0; 8]);
    let start = out.len();
    push(out);
    let length = (out.len() - start) as u64;
    out[start - 8..start].copy_from_slice(&length.to_le_bytes());
}

/// The key and the length, header included, of the entry that begins here.
fn header(bytes: &[u8]) -> Option<(Key, usize)> {
    let (key, rest) = bytes.split_first_chunk::<14>()?;
    let (length, _) = rest.split_first_chunk::<8>()?;
    Some((*key, HEADER + u64::from_le_bytes(*length) as usize))
}

/// Collects entries and returns them in order. Entries with the same key stay in the order of arrival.
#[derive(Debug)]
pub(crate) struct SortedEntries {
    /// The scratch file is made beside this file.
    path: PathBuf,
    together: usize,
    waiting: Vec<u8>,
    scratch: Option<File>,
    /// The range of each run in the scratch file.
    runs: Vec<Range<u64>>,
}

impl SortedEntries {
    /// The collected bytes, and as many again while they are sorted.
    pub(crate) const HOLDS: usize = 2 * TOGETHER;

    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), together: TOGETHER, waiting: Vec::new(), scratch: None, runs: Vec::new() }
    }

    /// Takes whole entries, as [`push_entry`] makes them.
    pub(crate) fn take(&mut self, entries: &[u8]) -> io::Result<()> {
        self.waiting.extend_from_slice(entries);
        if self.waiting.len() >= self.together { self.spill() } else { Ok(()) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.runs.is_empty()
    }

    /// Visits every entry in order, without its header.
    pub(crate) fn visit(&self, mut visit: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut sources: Vec<Source<'_>> = Vec::with_capacity(self.runs.len() + 1);
        if let Some(file) = &self.scratch {
            let run = |range: &Range<u64>| Source::Run(Run { file, left: range.clone(), buffer: Vec::new(), at: 0 });
            sources.extend(self.runs.iter().map(run));
        }
        sources.push(Source::Memory { bytes: &self.waiting, order: sorted(&self.waiting).into_iter() });
        // Of equal keys, the earlier run is first.
        let mut next = BinaryHeap::with_capacity(sources.len());
        for (index, source) in sources.iter_mut().enumerate() {
            next.extend(source.key()?.map(|key| Reverse((key, index))));
        }
        while let Some(Reverse((_, index))) = next.pop() {
            let source = &mut sources[index];
            visit(source.entry())?;
            next.extend(source.key()?.map(|key| Reverse((key, index))));
        }
        Ok(())
    }

    /// Writes the collected entries as a run.
    fn spill(&mut self) -> io::Result<()> {
        let scratch = match &self.scratch {
            Some(scratch) => scratch,
            None => self.scratch.insert(open_scratch(&self.path)?),
        };
        let start = self.runs.last().map_or(0, |run| run.end);
        let mut out = BufWriter::with_capacity(1 << 16, scratch);
        for (_, range) in sorted(&self.waiting) {
            out.write_all(&self.waiting[range])?;
        }
        out.flush()?;
        drop(out);
        self.runs.push(start..start + self.waiting.len() as u64);
        self.waiting.clear();
        Ok(())
    }
}

/// A file without a name, on the disk of the results.
fn open_scratch(path: &Path) -> io::Result<File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    tempfile::tempfile_in(folder)
}

/// The ranges of entries, in the order of their keys.
fn sorted(entries: &[u8]) -> Vec<(Key, Range<usize>)> {
    let mut at = 0;
    let each = std::iter::from_fn(|| {
        let (key, length) = header(&entries[at..])?;
        let start = at;
        at = (at + length).min(entries.len());
        Some((key, start..at))
    });
    let mut order: Vec<_> = each.collect();
    order.sort_by_key(|(key, _)| *key);
    order
}

enum Source<'a> {
    Run(Run<'a>),
    Memory { bytes: &'a [u8], order: std::vec::IntoIter<(Key, Range<usize>)> },
}

impl Source<'_> {
    /// The key of the next entry.
    fn key(&mut self) -> io::Result<Option<Key>> {
        match self {
            Self::Run(run) => run.key(),
            Self::Memory { order, .. } => Ok(order.as_slice().first().map(|(key, _)| *key)),
        }
    }

    /// The next entry, whose key was read before.
    fn entry(&mut self) -> &[u8] {
        match self {
            Self::Run(run) => run.entry(),
            Self::Memory { bytes, order } => order
                .next()
                .and_then(|(_, range)| bytes.get(range))
                .and_then(|entry| entry.get(HEADER..))
                .unwrap_or(&[]),
        }
    }
}

/// A run during reading.
struct Run<'a> {
    file: &'a File,
    /// The unread part.
    left: Range<u64>,
    buffer: Vec<u8>,
    /// The start of the next entry in the buffer.
    at: usize,
}

impl Run<'_> {
    fn key(&mut self) -> io::Result<Option<Key>> {
        if self.at == self.buffer.len() && self.left.is_empty() {
            return Ok(None);
        }
        self.fill(HEADER)?;
        let (key, length) = header(&self.buffer[self.at..]).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.fill(length)?;
        Ok(Some(key))
    }

    fn entry(&mut self) -> &[u8] {
        let rest = &self.buffer[self.at..];
        let entry = header(rest).and_then(|(_, length)| rest.get(HEADER..length)).unwrap_or(&[]);
        self.at += HEADER + entry.len();
        entry
    }

    /// Fills the buffer with at least `wanted` bytes from the next entry on.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        let there = self.buffer.len() - self.at;
        if there >= wanted {
            return Ok(());
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let most = (self.left.end - self.left.start).min((wanted - there).max(READ) as u64);
        self.buffer.resize(there + most as usize, 0);
        self.file.read_exact_at(&mut self.buffer[there..], self.left.start)?;
        self.left.start += most;
        if self.buffer.len() < wanted { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes and reads entries back, with `together` bytes in memory.
    fn sorted_texts(entries: &[(Key, String)], together: usize) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let mut taken = SortedEntries { together, ..SortedEntries::new(&dir.path().join("sub/x.json")) };
        for (key, text) in entries {
            let mut bytes = Vec::new();
            push_entry(&mut bytes, *key, |out| out.extend_from_slice(text.as_bytes()));
            taken.take(&bytes).unwrap();
        }
        assert_eq!(taken.is_empty(), entries.is_empty());
        let mut out = Vec::new();
        let visited = taken.visit(|entry| {
            out.push(String::from_utf8(entry.to_vec()).unwrap());
            Ok(())
        });
        visited.unwrap();
        let left = std::fs::read_dir(dir.path().join("sub")).into_iter().flatten().count();
        assert_eq!(left, 0, "a visible scratch file");
        out
    }

    #[test]
    fn an_entry_may_be_longer_than_one_read() {
        let long = "x".repeat(3 * READ);
        let entries = [(key(2, 0, 0), long.clone()), (key(1, 0, 0), "a".to_owned()), (key(0, 0, 0), long.clone())];
        assert_eq!(sorted_texts(&entries, 1), [long.clone(), "a".to_owned(), long]);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        let mut taken = SortedEntries { together: 1, ..SortedEntries::new(&dir.path().join("file/x.json")) };
        let mut bytes = Vec::new();
        push_entry(&mut bytes, key(0, 0, 0), |_| {});
        assert!(taken.take(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn entries_are_returned_in_the_order_of_their_keys_from_memory_or_disk(
            keys in prop::collection::vec((0u64..40, 0u32..3, 0u16..2), 0..120),
            together in 1usize..3000,
        ) {
            let entry = |(at, &(number, turn, phase)): (usize, &(u64, u32, u16))| {
                (key(number, turn, phase), format!("{number} {turn} {phase} {at}{}", "é".repeat(at % 7)))
            };
            let mut entries: Vec<(Key, String)> = keys.iter().enumerate().map(entry).collect();
            let read = sorted_texts(&entries, together);
            let mut order = keys.clone();
            order.sort();
            let numbers = |text: &String| {
                let mut parts = text.split(' ');
                let mut next = || parts.next().unwrap().parse::<u64>().unwrap();
                (next(), next() as u32, next() as u16)
            };
            prop_assert_eq!(read.iter().map(numbers).collect::<Vec<_>>(), order);
            // A stable sort of everything gives the same.
            entries.sort_by_key(|(key, _)| *key);
            prop_assert_eq!(read, entries.into_iter().map(|(_, text)| text).collect::<Vec<_>>());
        }
    }
}
