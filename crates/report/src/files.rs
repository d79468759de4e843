//! Files on disk: some appear as a whole, others grow line by line.

use crate::staged::{Staged, is_temporary_of};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file as a whole: readers see the old file or the new one, never a part. Missing folders are created.
pub(crate) fn write_whole(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    replace(path, None, fill)
}

/// As [`write_whole`], readable only by the owner.
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

/// Whether a name is too long for the file system: that of the file, of a folder on its path, or the whole path.
pub(crate) fn is_too_long(dir: &Path, within: &Path) -> bool {
    let too_long =
        |path: &Path| path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::InvalidFilename);
    // Below a missing folder, names are not checked.
    too_long(&dir.join(within)) || within.components().any(|part| too_long(&dir.join(part)))
}

/// Removes a file that may not exist.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        // A path below a file does not exist either.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(()),
        other => other,
    }
}

/// Removes files, and the temporary files that killed processes left of them. Call it while no other process writes
/// them.
pub(crate) fn remove_with_temporaries(files: &[PathBuf]) -> io::Result<()> {
    files.iter().try_for_each(|path| remove_if_there(path))?;
    remove_temporaries(files, None)
}

/// Removes the temporary files of some files, except one.
pub(crate) fn remove_temporaries(files: &[PathBuf], except: Option<&Path>) -> io::Result<()> {
    let folders: BTreeSet<&Path> = files.iter().filter_map(|path| path.parent()).collect();
    for entry in folders.into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten() {
        let path = entry.path();
        if except != Some(&path) && files.iter().any(|of| is_temporary_of(&path, of)) {
            remove_if_there(&path)?;
        }
    }
    Ok(())
}

/// Bytes to collect before writing.
const TOGETHER: usize = 1 << 18;

/// Bytes that wait while the disk is full: there may be room again before the run is over.
const MOST_WAITING: usize = 64 << 20;

/// A file that grows during a run, by whole lines. What was flushed survives anything that happens to the process.
///
/// An error of the kind `WouldBlock` reports a disk that is full for now: what was given waits, and every further write
/// or flush tries again.
///
/// Lines go to its end, wherever that is: a file that another process cut would otherwise be filled up with zeros to
/// where it ended before.
#[derive(Debug)]
pub struct LinesFile {
    file: File,
    waiting: Vec<u8>,
    /// Bytes in the file, all of them whole lines.
    written: u64,
    /// The number of these lines.
    lines: u64,
    loss: Loss,
}

/// Lines that another process removed from a file while the run was on. More lines may follow, so this is reported when
/// the file is complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loss(Arc<AtomicU64>);

impl Loss {
    pub(crate) fn check(&self) -> io::Result<()> {
        match self.0.load(Ordering::Acquire) {
            0 => Ok(()),
            lines => {
                let text = format!("another process cut it while the run was on; lines lost: {lines}");
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, text))
            }
        }
    }
}

impl LinesFile {
    /// Creates an empty file, with the folders it needs.
    pub fn create(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        if file.metadata()?.len() > 0 {
            file.set_len(0)?;
        }
        Ok(Self { file, waiting: Vec::with_capacity(TOGETHER), written: 0, lines: 0, loss: Loss::default() })
    }

    /// The counter of lost lines, to read when everything is written.
    pub(crate) fn loss(&self) -> Loss {
        self.loss.clone()
    }

    /// Writes the collected bytes; an error contains how many of them are in the file.
    fn put(&mut self) -> Result<(), (usize, io::Error)> {
        let mut put = 0;
        while put < self.waiting.len() {
            match self.file.write(&self.waiting[put..]) {
                Ok(0) => return Err((put, io::ErrorKind::WriteZero.into())),
                Ok(bytes) => put += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err((put, error)),
            }
        }
        Ok(())
    }

    /// Removes a partial line after a failed write: no reader could parse it.
    fn cut_to_whole_lines(&mut self, put: usize) -> io::Result<()> {
        let there = &self.waiting[..put];
        let whole = there.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        self.written += whole as u64;
        self.lines += line_breaks(&self.waiting[..whole]);
        self.waiting.drain(..whole);
        let part = (put - whole) as u64;
        if part == 0 {
            return Ok(());
        }
        let length = self.file.metadata()?.len();
        self.file.set_len(length.saturating_sub(part))
    }

    /// Checks whether the file is still as long as it should be, and counts what is left if it is not.
    fn look_for_cut(&mut self) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        if !metadata.is_file() || metadata.len() >= self.written {
            return Ok(());
        }
        self.file.rewind()?;
        let mut left = BufReader::with_capacity(1 << 16, &self.file).take(metadata.len());
        let (mut whole, mut lines, mut line) = (0, 0, Vec::new());
        while io::BufRead::read_until(&mut left, b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            (whole, lines) = (whole + line.len() as u64, lines + 1);
            line.clear();
        }
        if whole < metadata.len() {
            self.file.set_len(whole)?;
        }
        self.loss.0.fetch_add(self.lines.saturating_sub(lines), Ordering::AcqRel);
        (self.written, self.lines) = (whole, lines);
        Ok(())
    }

    /// Why it could not be written, and what happened to the lines before.
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
        self.look_for_cut()?;
        if self.waiting.is_empty() {
            return Ok(());
        }
        if let Err((put, error)) = self.put() {
            // The first error is the one that explains.
            let is_cut = self.cut_to_whole_lines(put).is_ok();
            let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
            let failed = self.failed(&error);
            let may_wait = is_full && is_cut && self.waiting.len() <= MOST_WAITING;
            return Err(if may_wait { io::Error::new(io::ErrorKind::WouldBlock, failed.to_string()) } else { failed });
        }
        self.written += self.waiting.len() as u64;
        self.lines += line_breaks(&self.waiting);
        self.waiting.clear();
        is_still_there(&self.file).map_err(|error| self.failed(&error))
    }
}

fn line_breaks(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Checks that a file still has a name: a deleted file accepts writes and keeps nothing.
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
    fn a_failed_write_leaves_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.jsonl");
        let mut file = LinesFile::create(&path).unwrap();
        file.write_all(b"one\n").unwrap();
        file.flush().unwrap();
        file.write_all(b"two\nthree\n").unwrap();
        // Like a full disk: only a part of the bytes is written.
        file.file.write_all(b"two\nthr").unwrap();
        file.cut_to_whole_lines(b"two\nthr".len()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
        let failed = file.failed(&io::ErrorKind::StorageFull.into());
        assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
        assert_eq!(failed.to_string(), "no storage space; lines written before that and kept: 2");
    }

    #[test]
    fn lines_wait_for_a_full_disk_to_have_room_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.jsonl");
        let mut file = LinesFile::create(&path).unwrap();
        file.write_all(b"one\n").unwrap();
        file.flush().unwrap();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let disk = std::mem::replace(&mut file.file, full);
        for line in ["two\n", "three\n"] {
            file.write_all(line.as_bytes()).unwrap();
            assert_eq!(file.flush().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        }
        file.file = disk;
        file.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\nthree\n");
    }

    #[test]
    fn a_file_that_was_cut_continues_with_whole_lines_and_reports_the_loss() {
        for (left, kept, lost) in [(0, "", 3), (4, "one\n", 2), (6, "one\n", 2)] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("b.jsonl");
            let mut file = LinesFile::create(&path).unwrap();
            file.write_all(b"one\ntwo\n3\n").unwrap();
            file.flush().unwrap();
            let loss = file.loss();
            assert!(loss.check().is_ok());
            OpenOptions::new().write(true).open(&path).unwrap().set_len(left).unwrap();
            file.write_all(b"four\n").unwrap();
            file.flush().unwrap();
            file.write_all(b"five\n").unwrap();
            file.flush().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{kept}four\nfive\n"));
            let error = loss.check().unwrap_err().to_string();
            assert_eq!(error, format!("another process cut it while the run was on; lines lost: {lost}"));
        }
    }

    #[test]
    fn a_cut_is_noticed_when_nothing_more_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.jsonl");
        let mut file = LinesFile::create(&path).unwrap();
        file.write_all(b"one\n").unwrap();
        file.flush().unwrap();
        fs::write(&path, "").unwrap();
        file.flush().unwrap();
        assert!(file.loss().check().is_err());
    }

    #[test]
    fn a_name_that_is_too_long_is_found_below_missing_folders() {
        let dir = tempfile::tempdir().unwrap();
        let (fine, long) = ("x".repeat(255), "x".repeat(256));
        for (within, expected) in [
            (fine.clone(), false),
            (format!("a/{fine}"), false),
            (long.clone(), true),
            (format!("a/{long}"), true),
            (format!("{long}/a"), true),
            ("a/".repeat(4000), true),
        ] {
            assert_eq!(is_too_long(dir.path(), Path::new(&within)), expected, "{}", within.len());
        }
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
