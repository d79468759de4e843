//! Files, links and folders under temporary names, until they are complete.
//!
//! `tempfile` removes such files in destructors, which a process that a signal ends does not run. It also gives them
//! random names, by which a later run could not find what a killed one left.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is not complete yet.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporaries() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what is incomplete, for a process that ends now: nothing is begun or completed after this.
pub fn discard_temporaries() {
    let all = temporaries();
    all.iter().for_each(|path| remove(path));
    std::mem::forget(all);
}

fn remove(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

/// A file, a link or a folder that does not have its final name yet. Unless it is published, it is removed; also if the
/// process ends early.
#[derive(Debug)]
pub struct Staged {
    target: PathBuf,
    beside: PathBuf,
    has_ended: bool,
}

impl Staged {
    /// Makes something under a temporary name next to `path`.
    pub fn begin<T>(path: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(Self, T)> {
        let mut all = temporaries();
        let mut number = 0;
        while all.contains(&numbered_name(path, number)) {
            number += 1;
        }
        let beside = numbered_name(path, number);
        let made = match make(&beside) {
            // A killed process with the same number left it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove(&beside);
                make(&beside)
            }
            made => made,
        };
        let made = made.inspect_err(|_| remove(&beside))?;
        all.push(beside.clone());
        Ok((Self { target: path.to_owned(), beside, has_ended: false }, made))
    }

    /// An empty file to be written while the run is on. Missing folders are created.
    pub(crate) fn begin_file(path: &Path, mode: Option<u32>) -> io::Result<(Self, File)> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Self::begin(path, |beside| open_new(beside, mode))
    }

    /// A complete file. Missing folders are created.
    pub(crate) fn write(
        path: &Path,
        mode: Option<u32>,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> io::Result<Self> {
        let (staged, file) = Self::begin_file(path, mode)?;
        let mut file = BufWriter::with_capacity(1 << 16, file);
        fill(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(staged)
    }

    /// The temporary path.
    pub fn path(&self) -> &Path {
        &self.beside
    }

    /// Makes something in a folder.
    pub fn add<T>(&self, make: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        let _none_after_the_end = temporaries();
        make(&self.beside)
    }

    /// Renames it to its final name.
    pub fn publish(self) -> io::Result<()> {
        self.end_by(|beside, path| fs::rename(beside, path))
    }

    /// Does something else with the temporary path, which comes first, and the final one.
    pub fn end_by<T>(mut self, end: impl FnOnce(&Path, &Path) -> io::Result<T>) -> io::Result<T> {
        let mut all = temporaries();
        let ended = end(&self.beside, &self.target)?;
        all.retain(|one| *one != self.beside);
        self.has_ended = true;
        Ok(ended)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.has_ended {
            let mut all = temporaries();
            all.retain(|one| *one != self.beside);
            remove(&self.beside);
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
    numbered_name(path, 0)
}

/// The same for a further one that a process has at the same time.
fn numbered_name(path: &Path, number: u32) -> PathBuf {
    let (name, process) = (path.file_name().unwrap_or_default().to_string_lossy(), std::process::id());
    let number = if number == 0 { String::new() } else { format!("-{number}") };
    path.with_file_name(format!(".{}.{process}{number}.tmp", shortened(&name)))
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
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    path.parent() == of.parent() && process.is_some_and(|process| process.split('-').all(is_number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_whole;
    use std::io::Write;

    #[test]
    fn two_files_for_one_path_do_not_meet() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let staged = ["first", "second"].map(|text| Staged::write(&path, None, |file| file.write_all(text.as_bytes())));
        let [first, second] = staged.map(Result::unwrap);
        assert!([&first, &second].iter().all(|staged| is_temporary_of(staged.path(), &path)));
        second.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        first.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_made_or_published_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let made = Staged::begin(&dir.path().join("x"), |part| {
            fs::create_dir(part)?;
            fs::write(part.join("a"), "")?;
            Err::<(), _>(io::ErrorKind::StorageFull.into())
        });
        assert!(made.is_err());
        let (staged, ()) = Staged::begin(&dir.path().join("x"), |part| fs::write(part, "")).unwrap();
        assert!(staged.end_by(|_, _| Err::<(), _>(io::ErrorKind::AlreadyExists.into())).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

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
