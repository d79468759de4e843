//! Files on disk: whole ones appear at once, lines are appended.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

/// Writes a file as a whole: readers see the old one or the new one, never a part. Missing folders are made.
pub(crate) fn write_whole(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    replace(path, None, fill)
}

/// As [`write_whole`], readable by the owner alone.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, Some(0o600), |file| file.write_all(bytes))
}

fn replace(
    path: &Path,
    mode: Option<u32>,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    Staged::write(path, mode, fill)?.publish()
}

/// A file that is written as a whole and not yet seen by its name. Without being published it goes again.
#[derive(Debug)]
pub(crate) struct Staged {
    path: PathBuf,
    beside: Option<PathBuf>,
}

impl Staged {
    pub(crate) fn write(
        path: &Path,
        mode: Option<u32>,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> io::Result<Self> {
        let (staged, file) = Self::begin(path, mode)?;
        let mut file = BufWriter::with_capacity(1 << 16, file);
        fill(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(staged)
    }

    /// An empty file to be written while the run is on.
    pub(crate) fn begin(path: &Path, mode: Option<u32>) -> io::Result<(Self, File)> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let beside = temporary_name(path);
        let file = open_new(&beside, mode)?;
        Ok((Self { path: path.to_owned(), beside: Some(beside) }, file))
    }

    pub(crate) fn publish(mut self) -> io::Result<()> {
        let Some(beside) = &self.beside else { return Ok(()) };
        fs::rename(beside, &self.path)?;
        self.beside = None;
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let _ = fs::remove_file(beside);
        }
    }
}

fn open_new(path: &Path, mode: Option<u32>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    if let Some(mode) = mode {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    }
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)
}

/// A name in the same folder, so that the rename stays on one file system.
pub(crate) fn temporary_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// Whether a path is the temporary name of another, of whichever process.
pub(crate) fn is_temporary_of(path: &Path, of: &Path) -> bool {
    let [name, of_name] = [path, of].map(|path| path.file_name().unwrap_or_default().to_string_lossy());
    let process = name
        .strip_prefix('.')
        .and_then(|name| name.strip_prefix(&*of_name))
        .and_then(|rest| rest.strip_prefix('.'))
        .and_then(|rest| rest.strip_suffix(".tmp"));
    path.parent() == of.parent() && process.is_some_and(|process| process.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Removes a file that may not be there.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Bytes that wait to be written together.
const TOGETHER: usize = 1 << 18;

/// A file that grows during a run, by whole lines. What was flushed survives anything that happens to the process.
#[derive(Debug)]
pub struct LinesFile {
    file: File,
    waiting: Vec<u8>,
    /// Bytes in the file, all of them whole lines.
    written: u64,
    /// How many lines these are.
    lines: u64,
}

impl LinesFile {
    /// Starts an empty file, with the folders it needs.
    pub fn create(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).write(true).truncate(true).open(path)?;
        Ok(Self { file, waiting: Vec::with_capacity(TOGETHER), written: 0, lines: 0 })
    }

    /// What did not fit leaves a part of a line behind, which no reader could make sense of.
    fn cut_to_whole_lines(&mut self) -> io::Result<()> {
        let there = self.file.stream_position()?.saturating_sub(self.written);
        let there = self.waiting.get(..there as usize).unwrap_or_default();
        let whole = there.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        self.written += whole as u64;
        self.lines += line_breaks(&self.waiting[..whole]);
        self.file.set_len(self.written)
    }

    /// Why it could not be written, and what became of what was.
    fn failed(&self, error: &io::Error) -> io::Error {
        let lines = self.lines;
        let text = match is_still_there(&self.file) {
            Ok(()) => format!("{error}; lines written before that and kept: {lines}"),
            Err(deleted) => format!("{deleted}; lines lost with it: {lines}"),
        };
        io::Error::new(error.kind(), text)
    }
}

impl Write for LinesFile {
    /// Takes whole lines.
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(lines);
        if self.waiting.len() >= TOGETHER {
            self.flush()?;
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.file.write_all(&self.waiting) {
            // The first error is the one that explains.
            let _ = self.cut_to_whole_lines();
            return Err(self.failed(&error));
        }
        self.written += self.waiting.len() as u64;
        self.lines += line_breaks(&self.waiting);
        self.waiting.clear();
        is_still_there(&self.file).map_err(|error| self.failed(&error))
    }
}

fn line_breaks(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// A file that was deleted takes everything and keeps nothing.
pub fn is_still_there(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) == 0 {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the file was deleted while the run was on"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_litter() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sub/x.json");
        write_whole(&path, |file| file.write_all(b"old")).unwrap();
        let failed = write_whole(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("disk gone"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn lines_are_on_disk_after_a_flush() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b.jsonl");
        let mut file = LinesFile::create(&path).unwrap();
        file.write_all(b"{}\n").unwrap();
        file.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"{}\n");
    }

    #[test]
    fn what_did_not_fit_leaves_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.jsonl");
        let mut file = LinesFile::create(&path).unwrap();
        file.write_all(b"one\n").unwrap();
        file.flush().unwrap();
        file.write_all(b"two\nthree\n").unwrap();
        // As a full disk does: a part of what waits gets there.
        file.file.write_all(b"two\nthr").unwrap();
        file.cut_to_whole_lines().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
        let failed = file.failed(&io::ErrorKind::StorageFull.into());
        assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
        assert_eq!(failed.to_string(), "no storage space; lines written before that and kept: 2");
    }

    #[test]
    fn a_file_that_was_deleted_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.jsonl");
        let mut file = LinesFile::create(&path).unwrap();
        fs::remove_file(&path).unwrap();
        file.write_all(b"{}\n").unwrap();
        let failed = file.flush().unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::NotFound);
        assert_eq!(failed.to_string(), "the file was deleted while the run was on; lines lost with it: 1");
    }
}
