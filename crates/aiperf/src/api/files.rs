//! Files of the run that clients may download. Nothing outside the artifact directory is served, whatever a path or a
//! link points to.

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Directory entries that a listing visits at most; a run has some dozens.
const MOST_LOOKED_AT: usize = 10_000;
/// Levels of nested folders.
const DEEPEST: usize = 16;

/// A file that clients can download.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Listed {
    /// Relative to the artifact directory.
    pub(super) name: String,
    pub(super) size: u64,
}

/// Why a file cannot be downloaded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unavailable {
    /// The path does not name a file below the directory.
    Escapes,
    Missing,
}

/// Every plain file below a directory, by name. Links are not followed. If there are very many, the first ones found.
pub(super) fn list(dir: &Path) -> Vec<Listed> {
    let mut out = Vec::new();
    walk(dir, "", 0, &mut { MOST_LOOKED_AT }, &mut out);
    out.sort();
    out
}

fn walk(dir: &Path, prefix: &str, depth: usize, left: &mut usize, out: &mut Vec<Listed>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
        let path = format!("{prefix}{name}");
        if is_hidden(&name) {
            continue;
        }
        if kind.is_dir() && depth < DEEPEST {
            walk(&entry.path(), &format!("{path}/"), depth + 1, left, out);
        } else if kind.is_file()
            && let Ok(metadata) = entry.metadata()
        {
            out.push(Listed { name: path, size: metadata.len() });
        }
    }
}

/// Whether a name is that of a marker or of an unfinished file.
fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

/// Opens a file below a directory, by its path in a URL, and returns it with its size. Each folder of the path is
/// opened relative to the one before, so that no other process can replace it in between.
pub(super) fn open_below(dir: &Path, path: &str) -> Result<(File, u64), Unavailable> {
    let path = decoded(path).ok_or(Unavailable::Escapes)?;
    let parts: Vec<&str> = path.split('/').collect();
    let is_bad = |part: &&str| part.is_empty() || is_hidden(part) || part.contains(['\\', '\0']);
    if parts.iter().any(is_bad) || parts.len() > DEEPEST {
        return Err(Unavailable::Escapes);
    }
    let (file, folders) = parts.split_last().ok_or(Unavailable::Escapes)?;
    let missing = |_: Errno| Unavailable::Missing;
    let folder_flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let mut at: OwnedFd = open(dir, folder_flags, Mode::empty()).map_err(missing)?;
    for folder in folders {
        at = openat(&at, *folder, folder_flags | OFlag::O_NOFOLLOW, Mode::empty()).map_err(missing)?;
    }
    // `O_NONBLOCK`, because the open of a pipe would wait for a writer.
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file = File::from(openat(&at, *file, flags, Mode::empty()).map_err(missing)?);
    let size = plain_size(&file).map_err(|_| Unavailable::Missing)?;
    Ok((file, size))
}

fn plain_size(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok(metadata.len()) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// Decodes percent escapes, once.
fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
            out.push(u8::try_from(16 * high + low).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

/// The content type of a file, by its name.
pub(super) fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("json") => "application/json",
        Some("jsonl") => "application/x-ndjson",
        Some("csv") => "text/csv; charset=utf-8",
        Some("txt" | "log" | "ansi" | "md") => "text/plain; charset=utf-8",
        Some("parquet") => "application/vnd.apache.parquet",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    /// A directory with files, a folder and links that lead out of it, next to a secret.
    fn directory() -> tempfile::TempDir {
        let temp = tempfile::tempdir().unwrap();
        let out = temp.path().join("out");
        std::fs::create_dir_all(out.join("phases/load")).unwrap();
        std::fs::write(out.join("a b.json"), "{}").unwrap();
        std::fs::write(out.join("phases/load/x.csv"), "1,2").unwrap();
        std::fs::write(out.join(".aiperf_results_ready.json"), "{}").unwrap();
        std::fs::write(temp.path().join("secret"), "s").unwrap();
        symlink(temp.path().join("secret"), out.join("link")).unwrap();
        symlink(temp.path(), out.join("folder")).unwrap();
        symlink("phases", out.join("inside")).unwrap();
        nix::unistd::mkfifo(&out.join("pipe"), Mode::S_IRWXU).unwrap();
        temp
    }

    fn read(dir: &Path, path: &str) -> Result<String, Unavailable> {
        let (mut file, size) = open_below(dir, path)?;
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(size, text.len() as u64);
        Ok(text)
    }

    #[test]
    fn files_can_be_downloaded_also_from_folders() {
        let temp = directory();
        let out = temp.path().join("out");
        let listed = list(&out);
        let names: Vec<(&str, u64)> = listed.iter().map(|file| (file.name.as_str(), file.size)).collect();
        assert_eq!(names, [("a b.json", 2), ("phases/load/x.csv", 3)]);
        assert_eq!(read(&out, "a%20b.json").unwrap(), "{}");
        assert_eq!(read(&out, "phases/load/x.csv").unwrap(), "1,2");
        assert_eq!(read(&out, "phases%2Fload%2fx.csv").unwrap(), "1,2");
        assert_eq!(read(&out, "nope"), Err(Unavailable::Missing));
    }

    #[test]
    fn nothing_outside_can_be_downloaded() {
        let temp = directory();
        let out = temp.path().join("out");
        let secret = temp.path().join("secret").display().to_string();
        for path in [
            "../secret",
            "%2e%2e/secret",
            "phases/../../secret",
            "..",
            ".",
            "",
            "/",
            &secret,
            "a%00",
            "%",
            "%zz",
            "%ff",
        ] {
            assert_eq!(read(&out, path), Err(Unavailable::Escapes), "{path}");
        }
        for path in ["..%5csecret", "phases//load/x.csv", ".aiperf_results_ready.json"] {
            assert_eq!(read(&out, path), Err(Unavailable::Escapes), "{path}");
        }
        for path in
            ["link", "folder/secret", "folder/out/a b.json", "inside/load/x.csv", "phases", "pipe", "%252e%252e/secret"]
        {
            assert!(read(&out, path).is_err(), "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_path_leads_out_or_breaks_anything(path in "(\\.|/|%2e|%2F|%|[a-z]|link|folder|secret|\\PC){0,12}") {
            let temp = directory();
            if let Ok(text) = read(&temp.path().join("out"), &path) {
                prop_assert!(text != "s");
            }
        }
    }
}
