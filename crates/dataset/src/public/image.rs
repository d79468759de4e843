//! Images of rows as data URLs.

use aiperf_types::Media;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::kind::unnamed;
use super::row::{member, text};
use crate::columns::Cell;
use crate::image_file::ImageFile;

/// First bytes of other image formats, their offset, and what precedes the base64.
const OTHERS: &[(&[u8], usize, &str)] = &[
    (b"GIF8", 0, "data:image/gif;base64,"),
    (b"WEBP", 8, "data:image/webp;base64,"),
    (b"BM", 0, "data:image/bmp;base64,"),
];

/// The first usable image of a value: bytes, a structure with bytes, a URL, or a list of these. Its bytes are not
/// recompressed: that would only lose quality.
pub(super) fn first(cell: &Cell) -> Option<Media> {
    match cell {
        Cell::List(cells) => cells.iter().find_map(first),
        Cell::Bytes(bytes) => data_url(bytes).map(unnamed),
        Cell::Object(_) => {
            let bytes = member(cell, "bytes").and_then(first);
            bytes.or_else(|| member(cell, "url").or_else(|| member(cell, "path")).and_then(first))
        }
        _ => text(cell).filter(|text| text.contains("://") || text.starts_with("data:")).map(unnamed),
    }
}

fn data_url(bytes: &[u8]) -> Option<String> {
    let is_of = |(magic, at, _): &&(&[u8], usize, &str)| bytes.get(*at..).is_some_and(|from| from.starts_with(magic));
    let other = || OTHERS.iter().find(is_of).map(|(.., head)| *head);
    let head = ImageFile::of(bytes).map(|known| known.head).or_else(other)?;
    Some(format!("{head}{}", STANDARD.encode(bytes)))
}
