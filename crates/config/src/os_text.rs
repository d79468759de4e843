//! Arguments of the operating system as text. A path need not be UTF-8, but flags, files and messages are text. So an
//! invalid byte becomes a character of the last private plane, and becomes a byte again in a path.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The character that represents byte 0.
const FIRST: u32 = 0x10_FF00;

/// An argument as text, without loss of bytes.
pub fn argument(argument: OsString) -> String {
    let keep = |argument: OsString| {
        let mut out = String::new();
        for chunk in argument.as_bytes().utf8_chunks() {
            out.push_str(chunk.valid());
            out.extend(chunk.invalid().iter().filter_map(|byte| char::from_u32(FIRST + u32::from(*byte))));
        }
        out
    };
    argument.into_string().unwrap_or_else(keep)
}

fn byte(c: char) -> Option<u8> {
    u8::try_from(u32::from(c).checked_sub(FIRST)?).ok().filter(|byte| !byte.is_ascii())
}

/// The path that a text names.
pub fn path(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    OsString::from_vec(bytes).into()
}

/// Whether every character of an argument was valid.
pub(crate) fn is_text(text: &str) -> bool {
    text.chars().all(|c| byte(c).is_none())
}

/// A text for output.
pub(crate) fn shown(text: &str) -> String {
    text.chars().map(|c| if byte(c).is_some() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_path_that_is_not_utf8_stays_the_same() {
        for bytes in [&b"plain"[..], b"\xff\xfe/a", "\u{e9}\u{1f600}".as_bytes(), b"a\xc3", b"\xed\xa0\x80"] {
            let text = argument(OsString::from_vec(bytes.to_vec()));
            assert_eq!(path(&text).as_os_str().as_bytes(), bytes);
            assert_eq!(is_text(&text), std::str::from_utf8(bytes).is_ok());
        }
        assert_eq!(shown(&argument(OsString::from_vec(b"a\xff".to_vec()))), "a\u{fffd}");
    }
}
