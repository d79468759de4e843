//! Files that users ask for by name.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file to be written. One that is there is written over only by `force`; a device or a pipe loses nothing.
pub(crate) fn create(path: &Path, force: bool) -> io::Result<File> {
    let loses_nothing = force || path.metadata().is_ok_and(|there| !there.is_file());
    let mut options = OpenOptions::new();
    match loses_nothing {
        true => options.write(true).create(true).truncate(true),
        false => options.write(true).create_new(true),
    };
    options.open(path)
}
