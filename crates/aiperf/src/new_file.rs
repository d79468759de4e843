//! Files that users name on the command line.

use aiperf_report::Staged;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Refuses the file of a flag in a missing folder, so that a mistyped path is found before any work.
pub(crate) fn check_folder(flag: &str, path: &Path) -> Result<(), String> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => {
            let (path, folder) = (path.display(), folder.display());
            Err(format!("{flag} {path}: there is no folder {folder}\n  try: mkdir -p {folder}, or another file"))
        }
    }
}

/// Opens a file for writing. An existing file is overwritten only with `force`; a device or a pipe needs none. A pipe
/// without a reader is an error, because opening it would wait forever.
pub(crate) fn create(path: &Path, force: bool) -> io::Result<File> {
    let is_other = path.metadata().is_ok_and(|there| !there.is_file());
    let mut options = OpenOptions::new();
    match force || is_other {
        true => options.write(true).create(true).truncate(true),
        false => options.write(true).create_new(true),
    };
    if !is_other {
        return options.open(path);
    }
    let file = options.custom_flags(OFlag::O_NONBLOCK.bits()).open(path).map_err(|error| {
        match error.raw_os_error() == Some(Errno::ENXIO as i32) {
            true => io::Error::other("it is a pipe that no process reads; start its reader first"),
            false => error,
        }
    })?;
    // Writes wait for the reader, as for any other file.
    let flags = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?) - OFlag::O_NONBLOCK;
    fcntl(&file, FcntlArg::F_SETFL(flags))?;
    Ok(file)
}

/// A file that appears only when it is complete. Until then it is written under another name next to its path, and an
/// existing file at the path stays unchanged.
#[derive(Debug)]
pub(crate) struct WholeFile {
    file: File,
    /// `None` for a device or a pipe: they are written directly.
    place: Option<Place>,
}

#[derive(Debug)]
struct Place {
    staged: Staged,
    force: bool,
}

impl WholeFile {
    /// As [`create`]. If a later write is known to fail, the error is returned now.
    pub(crate) fn create(path: &Path, force: bool) -> io::Result<Self> {
        let there = match path.metadata() {
            Ok(there) if !there.is_file() => return Ok(Self { file: create(path, force)?, place: None }),
            // A dangling link exists too.
            Ok(_) | Err(_) if !force && path.symlink_metadata().is_ok() => return Err(ErrorKind::AlreadyExists.into()),
            there => there.ok(),
        };
        // The target of a link is replaced, not the link, and only if the target is writable.
        let path = if there.is_some() { path.canonicalize()? } else { path.to_owned() };
        if there.is_some() {
            OpenOptions::new().write(true).open(&path)?;
        }
        let (staged, file) = Staged::begin(&path, |part| File::create_new(part))?;
        if let Some(there) = there {
            let _ = file.set_permissions(there.permissions());
        }
        Ok(Self { file, place: Some(Place { staged, force }) })
    }

    /// Moves the file to its path.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.place {
            Some(Place { staged, force: true }) => staged.publish(),
            Some(Place { staged, force: false }) => staged.end_by(place_new),
            None => Ok(()),
        }
    }
}

/// Gives a file its path unless there is another.
fn place_new(part: &Path, path: &Path) -> io::Result<()> {
    // A hard link, because a rename would replace a file that was created in the meantime.
    match fs::hard_link(part, path) {
        Ok(()) => fs::remove_file(part),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // Not every file system has links.
        Err(_) => fs::rename(part, path),
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A folder that appears only when all its files are written.
#[derive(Debug)]
pub(crate) struct WholeFolder(Staged);

impl WholeFolder {
    /// Creates a temporary folder in `parent`, which is created if it is missing.
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        // Its final name is known at the end.
        Staged::begin(&parent.join("aiperf"), |part| fs::create_dir(part)).map(|(staged, ())| Self(staged))
    }

    /// Its temporary path.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Creates a file in it.
    pub(crate) fn file(&self, name: &str) -> io::Result<File> {
        self.0.add(|part| File::create_new(part.join(name)))
    }

    /// Renames it to its final name, with a number appended if the name exists; returns the path.
    pub(crate) fn finish(self, name: &str) -> io::Result<PathBuf> {
        self.0.end_by(|part, _| {
            let (mut path, mut number) = (part.with_file_name(name), 1_u64);
            loop {
                // A rename never replaces a folder with content. Replacing an empty one loses nothing.
                match fs::rename(part, &path) {
                    Ok(()) => return Ok(path),
                    Err(_) if path.symlink_metadata().is_ok() => {
                        number += 1;
                        path = part.with_file_name(format!("{name}-{number}"));
                    }
                    Err(error) => return Err(error),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn names(dir: &TempDir) -> Vec<String> {
        let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn an_existing_file_stays_until_the_new_one_is_complete() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "old").unwrap();
        let mut file = WholeFile::create(&path, true).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(file);
        assert_eq!((names(&dir), fs::read(&path).unwrap()), (vec!["a".to_owned()], b"old".to_vec()));
        let mut file = WholeFile::create(&path, true).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert_eq!((names(&dir), fs::read(&path).unwrap()), (vec!["a".to_owned()], b"new".to_vec()));
    }

    #[test]
    fn nothing_is_overwritten_without_force_not_even_a_file_created_in_the_meantime() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("a");
        let file = WholeFile::create(&path, false).unwrap();
        fs::write(&path, "mine").unwrap();
        assert_eq!(file.finish().unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(WholeFile::create(&path, false).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((names(&dir), fs::read(&path).unwrap()), (vec!["a".to_owned()], b"mine".to_vec()));
    }

    #[test]
    fn a_folder_appears_when_it_is_complete_and_replaces_none() {
        let dir = TempDir::new().unwrap();
        let parent = dir.path().join("new/er");
        let folder = WholeFolder::create(&parent).unwrap();
        folder.file("a").unwrap().write_all(b"1").unwrap();
        assert!(!parent.join("n").exists());
        drop(folder);
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 0);
        for wanted in ["n", "n-2", "n-3"] {
            let folder = WholeFolder::create(&parent).unwrap();
            folder.file("a").unwrap();
            assert_eq!(folder.finish("n").unwrap(), parent.join(wanted));
        }
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 3);
    }

    #[test]
    fn a_pipe_without_a_reader_is_refused_and_one_with_a_reader_is_written() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for refused in [WholeFile::create(&path, true).map(drop), create(&path, false).map(drop)] {
            assert!(refused.unwrap_err().to_string().contains("no process reads"));
        }
        let reader = std::thread::spawn({
            let path = path.clone();
            move || fs::read_to_string(path)
        });
        let mut file = loop {
            match WholeFile::create(&path, true) {
                Ok(file) => break file,
                Err(_) => std::thread::yield_now(),
            }
        };
        file.write_all(b"whole").unwrap();
        file.finish().unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), "whole");
    }

    #[test]
    fn a_link_stays_one() {
        let dir = TempDir::new().unwrap();
        let (path, link) = (dir.path().join("a"), dir.path().join("link"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut file = WholeFile::create(&link, true).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}
