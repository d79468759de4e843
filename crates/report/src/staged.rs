//! Files under temporary names, until they are complete.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files that are not complete yet.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporaries() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a temporary file, which is removed if the process ends early.
pub(crate) fn begin_temporary<T>(path: &Path, make: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let mut all = temporaries();
    let made = make(path)?;
    if !all.iter().any(|one| one == path) {
        all.push(path.to_owned());
    }
    Ok(made)
}

/// Renames a temporary file to its final name, or removes it.
pub(crate) fn end_temporary<T>(path: &Path, end: impl FnOnce(&Path) -> T) -> T {
    let mut all = temporaries();
    all.retain(|one| one != path);
    end(path)
}

/// Removes incomplete files, for a process that ends now: no file is begun or completed after this.
pub fn discard_temporaries() {
    let all = temporaries();
    all.iter().for_each(|path| drop(fs::remove_file(path)));
    std::mem::forget(all);
}

/// A complete file that does not have its final name yet. Unless it is published, it is removed.
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
        let file = begin_temporary(&beside, |beside| open_new(beside, mode))?;
        Ok((Self { path: path.to_owned(), beside: Some(beside) }, file))
    }

    pub(crate) fn publish(mut self) -> io::Result<()> {
        let Some(beside) = &self.beside else { return Ok(()) };
        end_temporary(beside, |beside| fs::rename(beside, &self.path))?;
        self.beside = None;
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let _ = end_temporary(beside, |beside| fs::remove_file(beside));
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

/// Bytes of a name to keep in a temporary one: with its additions, it is still valid on any file system.
const KEPT_OF_NAME: usize = 100;

/// A name in the same folder, so that the rename stays on one file system.
pub(crate) fn temporary_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{}.{}.tmp", shortened(&name), std::process::id()))
}

/// A shortened name; two long names that begin alike stay different.
fn shortened(name: &str) -> Cow<'_, str> {
    if name.len() <= KEPT_OF_NAME {
        return Cow::Borrowed(name);
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(name.as_bytes());
    let end = (0..=KEPT_OF_NAME).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    let kept = &name[..end];
    Cow::Owned(format!("{kept}~{:016x}", hasher.finish()))
}

/// Whether a path is the temporary name of another, of any process.
pub(crate) fn is_temporary_of(path: &Path, of: &Path) -> bool {
    let [name, of_name] = [path, of].map(|path| path.file_name().unwrap_or_default().to_string_lossy());
    let process = name
        .strip_prefix('.')
        .and_then(|name| name.strip_prefix(&*shortened(&of_name)))
        .and_then(|rest| rest.strip_prefix('.'))
        .and_then(|rest| rest.strip_suffix(".tmp"));
    path.parent() == of.parent() && process.is_some_and(|process| process.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_whole;
    use std::io::Write;

    #[test]
    fn a_file_with_the_longest_name_is_written_and_its_temporary_one_is_known() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["x".repeat(255), "\u{9519}".repeat(85)] {
            let path = dir.path().join(&name);
            write_whole(&path, |file| file.write_all(b"all")).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"all");
            assert!(is_temporary_of(&temporary_name(&path), &path));
            let other = dir.path().join(format!("{}y", &name[..name.floor_char_boundary(252)]));
            assert!(!is_temporary_of(&temporary_name(&path), &other));
        }
    }
}
