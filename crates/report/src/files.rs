//! Files on disk: whole ones appear at once, lines are appended.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
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
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = temporary_name(path);
    let written = open_new(&beside, mode).and_then(|file| {
        let mut file = BufWriter::with_capacity(1 << 16, file);
        fill(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?;
        fs::rename(&beside, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
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
fn temporary_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// Removes a file that may not be there.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// A file that grows during a run. What was flushed survives anything that happens to the process.
#[derive(Debug)]
pub struct LinesFile(BufWriter<File>);

impl LinesFile {
    /// Starts an empty file, with the folders it needs.
    pub fn create(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).write(true).truncate(true).open(path)?;
        Ok(Self(BufWriter::with_capacity(1 << 18, file)))
    }
}

impl Write for LinesFile {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.0.write(lines)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
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
}
