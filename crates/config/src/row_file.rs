//! A look into files of rows before they are read: uncompressed, and without a byte order mark.

use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

const GZIP: &[u8] = &[0x1f, 0x8b];
/// The first bytes of Parquet, and of Arrow as a file and as a stream.
const COLUMNAR: &[&[u8]] = &[b"PAR1", b"ARROW1", &[0xff; 4]];
/// Bytes of a file that are searched for its first row.
pub(crate) const LOOKED_AT: u64 = 16 << 20;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// `None` unless it is a plain file: a pipe would block, and a device would never end.
fn plain_file(path: &Path) -> Option<File> {
    if path.is_file() { File::open(path).ok() } else { None }
}

/// The text of a file, if it is a plain one.
pub(crate) fn open(path: &Path) -> Option<Box<dyn BufRead>> {
    let mut file = BufReader::new(plain_file(path)?);
    let is_compressed = file.fill_buf().ok()?.starts_with(GZIP);
    let mut text: Box<dyn BufRead> =
        if is_compressed { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { Box::new(file) };
    // Errors of decompression are reported when the whole file is read.
    let is_marked = text.fill_buf().is_ok_and(|start| start.starts_with(BYTE_ORDER_MARK));
    text.consume(if is_marked { BYTE_ORDER_MARK.len() } else { 0 });
    Some(text)
}

/// The beginning of a file, at most this many bytes.
pub(crate) fn beginning(path: &Path, most: u64) -> Option<String> {
    let mut bytes = Vec::new();
    // Of a truncated file, the part that is there.
    let _ = open(path)?.take(most).read_to_end(&mut bytes);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a file has columns instead of rows of text.
pub(crate) fn is_columnar(path: &Path) -> bool {
    let mut start = Vec::new();
    plain_file(path).is_some_and(|file| file.take(6).read_to_end(&mut start).is_ok())
        && COLUMNAR.iter().any(|magic| start.starts_with(magic))
}

/// The number of lines that are not blank. No line is kept in memory: one may be long.
pub(crate) fn count(path: &Path) -> u64 {
    let Some(mut text) = open(path) else { return 0 };
    let (mut count, mut has_text) = (0, false);
    while let Ok(bytes) = text.fill_buf() {
        if bytes.is_empty() {
            break;
        }
        for byte in bytes {
            match byte {
                b'\n' => count += u64::from(std::mem::take(&mut has_text)),
                byte => has_text |= !byte.is_ascii_whitespace(),
            }
        }
        let length = bytes.len();
        text.consume(length);
    }
    count + u64::from(has_text)
}

/// The first line that is not blank, as far as the file is searched.
pub(crate) fn first_line(path: &Path) -> Option<String> {
    let text = beginning(path, LOOKED_AT)?;
    text.lines().find(|line| !line.trim().is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn compressed_and_marked_files_are_read_as_their_text() {
        let folder = tempfile::tempdir().unwrap();
        let text = "\u{feff}\n{\"a\": 1}\n \n{\"a\": 2}";
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let packed = gzip.finish().unwrap();
        let path = folder.path().join("rows");
        for bytes in [text.as_bytes(), &packed] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!((count(&path), first_line(&path).as_deref()), (2, Some("{\"a\": 1}")));
            assert_eq!(beginning(&path, 5).unwrap(), "\n{\"a\"");
        }
        std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
        assert!(beginning(&path, 5).is_some());
        assert!(open(folder.path()).is_none());
    }
}
