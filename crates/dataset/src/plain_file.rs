//! Files that users name: only regular files are opened, and their first bytes decide the type.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::path::Path;

pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";
const GZIP: &[u8] = &[0x1f, 0x8b];
/// Bytes that identify a file type.
const BEGINNING: u64 = 8;

/// An open file and its first bytes.
pub(crate) struct PlainFile {
    pub(crate) file: File,
    pub(crate) bytes: u64,
    pub(crate) start: Vec<u8>,
}

impl PlainFile {
    /// Opens a file. The error leaves out its name and ends with the `way_out`.
    pub(crate) fn open(path: &Path, way_out: &str) -> Result<Self, String> {
        let unread = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => format!("no such file{way_out}"),
            _ => format!("cannot be read: {error}"),
        };
        // Checked before opening: opening a pipe would block.
        let meta = std::fs::metadata(path).map_err(unread)?;
        if !meta.is_file() {
            return Err(format!("is not a file{way_out}"));
        }
        let mut file = File::open(path).map_err(unread)?;
        let mut start = Vec::new();
        file.by_ref().take(BEGINNING).read_to_end(&mut start).map_err(unread)?;
        file.rewind().map_err(unread)?;
        Ok(Self { file, bytes: meta.len(), start })
    }

    pub(crate) fn is_compressed(&self) -> bool {
        is_compressed(&self.start)
    }
}

/// Whether these are the first bytes of a gzip file.
pub(crate) fn is_compressed(start: &[u8]) -> bool {
    start.starts_with(GZIP)
}

/// The fault of a compressed file, and the way out.
pub(crate) fn not_uncompressed(error: &std::io::Error) -> String {
    format!(
        "is compressed, and cannot be uncompressed: {error}\n  try: the file without compression; gzip -t checks whether a \
         copy of it is whole"
    )
}
