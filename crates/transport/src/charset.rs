//! Bodies of text, in the charset that their head declares.
//!
//! Names are read as Python reads them, where browsers read them otherwise: to these, Latin-1 and ASCII are
//! Windows-1252.

use crate::body;
use aiperf_types::media_type::is_binary;
use aiperf_types::{Exchange, Failure};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use std::borrow::Cow;

/// How bytes become text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Charset {
    Ascii,
    /// Every byte is the character of its number.
    Latin1,
    /// By its byte order mark; without one, the little end first.
    Utf16,
    Other(&'static Encoding),
}

impl Charset {
    /// By a name of it, in lower case.
    fn of(name: &str) -> Option<Self> {
        let name = name.replace(['_', ' '], "-");
        Some(match name.as_str() {
            "ascii" | "us-ascii" | "646" => Self::Ascii,
            "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "8859" | "cp819" | "l1" => Self::Latin1,
            "utf-16" | "utf16" | "u16" => Self::Utf16,
            "u8" | "utf" | "utf-8-sig" => Self::Other(UTF_8),
            "utf-16-be" => Self::Other(UTF_16BE),
            "utf-16-le" => Self::Other(UTF_16LE),
            name => Self::Other(Encoding::for_label(name.as_bytes())?),
        })
    }

    /// The text, if all of it can be read.
    fn read(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Self::Ascii => bytes.is_ascii().then(|| String::from_utf8_lossy(bytes)),
            Self::Latin1 => Some(encoding_rs::mem::decode_latin1(bytes)),
            Self::Utf16 => {
                let (encoding, bytes) = match bytes {
                    [0xfe, 0xff, rest @ ..] => (UTF_16BE, rest),
                    [0xff, 0xfe, rest @ ..] => (UTF_16LE, rest),
                    all => (UTF_16LE, all),
                };
                encoding.decode_without_bom_handling_and_without_replacement(bytes)
            }
            Self::Other(encoding) => encoding.decode_without_bom_handling_and_without_replacement(bytes),
        }
    }
}

/// The text of a body of this exchange, in UTF-8; bytes that are no text, by its media type, stay as they are.
/// Text without a declared charset is UTF-8, and so is text of an unknown charset, as long as it can be.
pub fn text<'a>(exchange: &Exchange, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, Failure> {
    if is_binary(&body::media_type(exchange)) {
        return Ok(bytes.into());
    }
    let name = body::content_parameter(exchange, "charset").filter(|name| !name.is_empty());
    let charset = name.as_deref().map(Charset::of);
    match (&name, charset) {
        (Some(name), Some(Some(charset))) if charset != Charset::Other(UTF_8) => match charset.read(bytes) {
            Some(Cow::Borrowed(_)) => Ok(bytes.into()),
            Some(Cow::Owned(text)) => Ok(text.into_bytes().into()),
            None => {
                let why = format!("the response body is not in the charset '{name}' that it declares");
                Err(Failure::Text(why))
            }
        },
        _ => match std::str::from_utf8(bytes) {
            Ok(_) => Ok(bytes.into()),
            Err(error) => Err(not_utf8(&error, name.filter(|_| charset == Some(None)))),
        },
    }
}

/// Text in a charset by its name; `None` for UTF-8, where nothing is declared, and where it cannot be read.
pub(crate) fn read(name: Option<&str>, bytes: &[u8]) -> Option<String> {
    let charset = Charset::of(&name?.to_ascii_lowercase()).filter(|charset| *charset != Charset::Other(UTF_8))?;
    charset.read(bytes).map(Cow::into_owned)
}

/// The text of a body, with what cannot be read replaced.
pub fn text_lossy(exchange: &Exchange, bytes: &[u8]) -> String {
    let text = text(exchange, bytes).unwrap_or(bytes.into());
    String::from_utf8_lossy(&text).into_owned()
}

fn not_utf8(error: &std::str::Utf8Error, unknown: Option<String>) -> Failure {
    match unknown {
        Some(name) => Failure::UnknownCharset(name),
        None => {
            let why = format!("the response body is not UTF-8 from byte {}", error.valid_up_to());
            Failure::Text(why)
        }
    }
}

/// Whether a response declares that its body is no text. One that declares nothing may be either.
pub fn declares_bytes(exchange: &Exchange) -> bool {
    body::header(exchange, "content-type").is_some() && is_binary(&body::media_type(exchange))
}
