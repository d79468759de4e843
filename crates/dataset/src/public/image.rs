//! Images of rows as data URLs.

use aiperf_types::Media;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::kind::unnamed;
use super::row::{member, text};
use crate::columns::Cell;

/// How files of images begin, and what they are called.
const TYPES: &[(&[u8], usize, &str)] = &[
    (b"\xff\xd8\xff", 0, "jpeg"),
    (b"\x89PNG\r\n\x1a\n", 0, "png"),
    (b"GIF8", 0, "gif"),
    (b"WEBP", 8, "webp"),
    (b"BM", 0, "bmp"),
];

/// The first image of a value that can be used: bytes, a structure with bytes, a URL, or a list of these. Its bytes stay as
/// they are: to compress it again would only take from it.
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
    let (_, _, name) = TYPES.iter().find(is_of)?;
    Some(format!("data:image/{name};base64,{}", STANDARD.encode(bytes)))
}
