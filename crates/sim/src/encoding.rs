//! Content encodings of responses.

use std::io::Write;
use std::str::FromStr;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use thiserror::Error;

/// How the bodies of inference responses are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentEncoding {
    Gzip,
    /// The zlib format, as HTTP defines the word.
    Deflate,
}

impl ContentEncoding {
    const ALL: [ContentEncoding; 2] = [ContentEncoding::Gzip, ContentEncoding::Deflate];

    /// The name in `content-encoding`.
    pub fn name(self) -> &'static str {
        match self {
            ContentEncoding::Gzip => "gzip",
            ContentEncoding::Deflate => "deflate",
        }
    }
}

impl FromStr for ContentEncoding {
    type Err = EncodingError;

    fn from_str(text: &str) -> Result<Self, EncodingError> {
        Self::ALL.into_iter().find(|encoding| encoding.name() == text).ok_or_else(|| EncodingError(text.to_owned()))
    }
}

/// Text that is no encoding.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is neither gzip nor deflate")]
pub struct EncodingError(String);

/// Encodes the body of one response, piece by piece.
pub(crate) enum Encoder {
    Gzip(Box<GzEncoder<Vec<u8>>>),
    Deflate(Box<ZlibEncoder<Vec<u8>>>),
}

impl Encoder {
    pub(crate) fn new(encoding: ContentEncoding) -> Self {
        let level = Compression::fast();
        match encoding {
            ContentEncoding::Gzip => Encoder::Gzip(Box::new(GzEncoder::new(Vec::new(), level))),
            ContentEncoding::Deflate => Encoder::Deflate(Box::new(ZlibEncoder::new(Vec::new(), level))),
        }
    }

    pub(crate) fn encoding(&self) -> ContentEncoding {
        match self {
            Encoder::Gzip(_) => ContentEncoding::Gzip,
            Encoder::Deflate(_) => ContentEncoding::Deflate,
        }
    }

    /// Bytes that give back the whole event without waiting for those after it.
    pub(crate) fn event(&mut self, event: &[u8]) -> Vec<u8> {
        // Writing to memory does not fail.
        let _ = match self {
            Encoder::Gzip(encoder) => encoder.write_all(event).and_then(|()| encoder.flush()),
            Encoder::Deflate(encoder) => encoder.write_all(event).and_then(|()| encoder.flush()),
        };
        self.take()
    }

    /// The last event, or a whole body, and the end of the encoding.
    pub(crate) fn last(&mut self, event: &[u8]) -> Vec<u8> {
        let _ = match self {
            Encoder::Gzip(encoder) => encoder.write_all(event).and_then(|()| encoder.try_finish()),
            Encoder::Deflate(encoder) => encoder.write_all(event).and_then(|()| encoder.try_finish()),
        };
        self.take()
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(match self {
            Encoder::Gzip(encoder) => encoder.get_mut(),
            Encoder::Deflate(encoder) => encoder.get_mut(),
        })
    }
}
