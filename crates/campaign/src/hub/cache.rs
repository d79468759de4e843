//! The hub's cache on disk, in the layout of Hugging Face's own tools, which share it.
//!
//! ```text
//! models--org--name/refs/main               the commit that the branch points at
//! models--org--name/blobs/<entity tag>      a file's bytes, once
//! models--org--name/snapshots/<commit>/...  links to them, by the files' names
//! .locks/models--org--name/<entity tag>.lock
//! ```
//!
//! A file appears under its name only when it is complete. A process that writes a blob holds its lock.

use super::error::HubError;
use super::repo::RepoName;
use aiperf_report::Staged;
use aiperf_tokenize::lookup;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a lock that another process holds is tried.
const TRY_LOCK_EVERY: Duration = Duration::from_millis(50);

/// One repository in the cache.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    root: PathBuf,
    folder: PathBuf,
    name: String,
}

impl Entry {
    pub(super) fn new(cache: &Path, repo: &RepoName) -> Self {
        let name = repo.folder();
        Self { root: cache.to_owned(), folder: cache.join(&name), name }
    }

    /// The folder of a cached revision.
    pub(super) fn snapshot(&self, revision: &str) -> Option<PathBuf> {
        lookup::snapshot(&self.folder, revision)
    }

    /// A file of a cached revision.
    pub(super) fn file(&self, revision: &str, path: &str) -> Option<PathBuf> {
        Some(self.snapshot(revision)?.join(path)).filter(|file| file.is_file())
    }

    pub(super) fn blob(&self, tag: &str) -> PathBuf {
        self.folder.join("blobs").join(tag)
    }

    pub(super) fn incomplete(&self, tag: &str) -> PathBuf {
        self.folder.join("blobs").join(format!("{tag}.incomplete"))
    }

    /// Waits until no other process writes a blob; see [`lock`].
    pub(super) fn lock(&self, tag: &str, is_over: &dyn Fn() -> bool) -> Result<Option<File>, HubError> {
        lock(&self.root.join(".locks").join(&self.name).join(format!("{tag}.lock")), is_over)
    }

    /// Opens the partial file of a blob, to continue it.
    pub(super) fn open_incomplete(&self, tag: &str) -> Result<File, HubError> {
        let path = self.incomplete(tag);
        let open = || {
            create_parent(&path)?;
            File::options().create(true).truncate(false).read(true).write(true).open(&path)
        };
        open().map_err(|source| HubError::Cache { path: path.clone(), source })
    }

    /// Gives a complete blob its name.
    pub(super) fn complete(&self, tag: &str, file: &File) -> Result<(), HubError> {
        let path = self.blob(tag);
        complete(file, &self.incomplete(tag), &path).map_err(|source| HubError::Cache { path, source })
    }

    /// Links a blob into the snapshot of a commit, under a file's name.
    pub(super) fn link(&self, commit: &str, path: &str, tag: &str) -> Result<PathBuf, HubError> {
        let file = self.folder.join("snapshots").join(commit).join(path);
        if file.is_file() {
            return Ok(file);
        }
        let up = "../".repeat(2 + path.matches('/').count());
        let make = || {
            create_parent(&file)?;
            let target = format!("{up}blobs/{tag}");
            let (staged, is_link) = Staged::begin(&file, |new| match std::os::unix::fs::symlink(&target, new) {
                Ok(()) => Ok(true),
                // Some file systems have no links.
                Err(_) => File::create_new(new).map(|_| false),
            })?;
            if !is_link {
                fs::copy(self.blob(tag), staged.path())?;
            }
            staged.publish()
        };
        make().map_err(|source| HubError::Cache { path: file.clone(), source })?;
        Ok(file)
    }

    /// Records the commit of a revision.
    pub(super) fn note(&self, revision: &str, commit: &str) -> Result<(), HubError> {
        // A commit points at itself.
        if revision == commit {
            return Ok(());
        }
        let path = self.folder.join("refs").join(revision);
        if fs::read_to_string(&path).is_ok_and(|noted| noted == commit) {
            return Ok(());
        }
        let write = || {
            create_parent(&path)?;
            Staged::begin(&path, |new| fs::write(new, commit))?.0.publish()
        };
        write().map_err(|source| HubError::Cache { path: path.clone(), source })
    }
}

/// Gives a downloaded file its name. Its bytes are on the disk before, because the name means that it is complete. A
/// partial download is no [`Staged`] file: its name is that of Hugging Face's tools, and another process may continue it.
pub(super) fn complete(file: &File, incomplete: &Path, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    fs::rename(incomplete, path)
}

/// Takes the lock of a file as soon as it is free; `None` if the wait is over. Dropping the returned file releases the
/// lock.
pub(super) fn lock(path: &Path, is_over: &dyn Fn() -> bool) -> Result<Option<File>, HubError> {
    let failed = |source| HubError::Cache { path: path.to_owned(), source };
    create_parent(path).map_err(failed)?;
    let file = File::options().create(true).truncate(false).write(true).open(path).map_err(failed)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if is_over() => return Ok(None),
            Err(TryLockError::WouldBlock) => std::thread::sleep(TRY_LOCK_EVERY),
            // Without file locks, the rename of the complete file must be enough.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => return Ok(Some(file)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

fn create_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::repo::RepoKind;

    #[test]
    fn names_that_could_leave_the_cache_are_invalid() {
        for id in ["gpt2", "org/Model-7B.v1_x"] {
            assert_eq!(RepoName::new(RepoKind::Model, id).unwrap().id(), id);
        }
        for id in ["", "/", "a/", "a/b/c", "../x", "a/..", ".a/b", "a b", "a\\b", "a--b/c", "é/x", "a/b?c"] {
            assert!(RepoName::new(RepoKind::Model, id).is_err(), "{id}");
        }
        for path in ["", "/etc/passwd", "../x", "a/../b", "a\\b", "./a", "a/"] {
            assert!(!lookup::is_below(path), "{path}");
        }
        assert!(lookup::is_below("data/train.jsonl") && lookup::is_below("refs/pr/1"));
    }

    #[test]
    fn a_link_leads_to_its_blob_from_any_depth() {
        let cache = tempfile::tempdir().unwrap();
        let entry = Entry::new(cache.path(), &RepoName::new(RepoKind::Dataset, "org/set").unwrap());
        let file = entry.open_incomplete("tag").unwrap();
        fs::write(entry.incomplete("tag"), "bytes").unwrap();
        entry.complete("tag", &file).unwrap();
        entry.note("main", "c0ffee").unwrap();
        for path in ["a.json", "deep/er/a.json"] {
            let linked = entry.link("c0ffee", path, "tag").unwrap();
            assert_eq!(fs::read_to_string(&linked).unwrap(), "bytes");
            assert!(fs::read_link(&linked).unwrap().is_relative());
            assert_eq!(entry.file("main", path), Some(linked));
        }
        let folder = cache.path().join("datasets--org--set");
        assert_eq!(fs::read_to_string(folder.join("refs/main")).unwrap(), "c0ffee");
        assert_eq!(entry.file("main", "b.json"), None);
    }
}
