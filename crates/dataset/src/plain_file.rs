//! Files that users name: opened only where they are files, and known by how they begin.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::path::Path;

pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";
const GZIP: &[u8] = &[0x1f, 0x8b];
/// Bytes that tell what a file is.
const BEGINNING: u64 = 8;

/// A file at its beginning.
pub(crate) struct PlainFile {
    pub(crate) file: File,
    pub(crate) bytes: u64,
    pub(crate) start: Vec<u8>,
}

impl PlainFile {
    /// Opens a file. What is wrong is said without its name, and with a way out where one is given.
    pub(crate) fn open(path: &Path, way_out: &str) -> Result<Self, String> {
        let unread = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => format!("no such file{way_out}"),
            _ => format!("cannot be read: {error}"),
        };
        // Looked at before it is opened: opening a pipe already waits.
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

/// Whether these are the first bytes of what gzip wrote.
pub(crate) fn is_compressed(start: &[u8]) -> bool {
    start.starts_with(GZIP)
}

/// What is wrong with a compressed file, and the way out.
pub(crate) fn not_uncompressed(error: &std::io::Error) -> String {
    format!(
        "is compressed, and cannot be uncompressed: {error}\n  try: the file without compression; gzip -t tells whether a \
         copy of it is whole"
    )
}
