//! Files that settings name, read whole: plain files of limited size. A device would never end, and a pipe without a
//! writer would block.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A configuration file, a `.env`, a template: larger than any file written by hand.
pub const SETTINGS: u64 = 16 << 20;
/// A key or a token.
pub(crate) const SECRET: u64 = 64 << 10;

/// The text of a file of at most `most` bytes, or what is wrong with it: the text that follows the file's name in a
/// message.
pub fn text(path: &Path, most: u64) -> Result<String, String> {
    let unread = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    // The check comes before the open: opening a pipe already blocks.
    if !std::fs::metadata(path).map_err(unread)?.is_file() {
        return Err("is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)).map_err(unread)?;
    if bytes.len() as u64 > most {
        return Err(format!("is larger than {} kB", most >> 10));
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
}
