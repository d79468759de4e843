//! Compressed responses: zstd or gzip, whichever the client accepts.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt;
use std::io::{self, Write};

/// The lowest level: it gives most of the gain for little CPU time, which the benchmark needs.
const ZSTD_LEVEL: i32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Zstd,
    Gzip,
}

impl Encoding {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// The best encoding that a client accepts, by its `Accept-Encoding`.
    pub(super) fn accepted(by: &str) -> Option<Self> {
        let takes = |name: &str| {
            by.split(',').any(|item| {
                let mut parts = item.split(';').map(str::trim);
                let is_named = parts.next().is_some_and(|coding| coding.eq_ignore_ascii_case(name));
                let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
                is_named && weight.is_none_or(|weight| weight.trim().parse::<f64>().is_ok_and(|weight| weight > 0.0))
            })
        };
        [Self::Zstd, Self::Gzip].into_iter().find(|encoding| takes(encoding.name()))
    }

    /// Compresses all bytes at once.
    pub(super) fn compressed(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut stream = self.stream()?;
        let mut out = stream.push(bytes)?;
        out.extend(stream.finish()?);
        Ok(out)
    }

    pub(super) fn stream(self) -> io::Result<Stream> {
        Ok(match self {
            Self::Zstd => Stream::Zstd(Box::new(zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?)),
            Self::Gzip => Stream::Gzip(GzEncoder::new(Vec::new(), Compression::fast())),
        })
    }
}

/// Compresses a body piece by piece.
pub(super) enum Stream {
    Zstd(Box<zstd::stream::write::Encoder<'static, Vec<u8>>>),
    Gzip(GzEncoder<Vec<u8>>),
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zstd(_) => "zstd",
            Self::Gzip(_) => "gzip",
        })
    }
}

impl Stream {
    /// Adds one piece, and returns the bytes that are compressed so far.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Zstd(encoder) => {
                encoder.write_all(bytes)?;
                Ok(std::mem::take(encoder.get_mut()))
            }
            Self::Gzip(encoder) => {
                encoder.write_all(bytes)?;
                Ok(std::mem::take(encoder.get_mut()))
            }
        }
    }

    /// Ends the stream, and returns the remaining bytes.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Zstd(encoder) => encoder.finish(),
            Self::Gzip(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;

    fn unpacked(encoding: Encoding, packed: &[u8]) -> Vec<u8> {
        match encoding {
            Encoding::Zstd => zstd::decode_all(packed).unwrap(),
            Encoding::Gzip => {
                let mut back = Vec::new();
                flate2::read::GzDecoder::new(packed).read_to_end(&mut back).unwrap();
                back
            }
        }
    }

    proptest! {
        #[test]
        fn no_client_gets_an_encoding_that_it_did_not_name(taken in "(gzip|zstd|\\*|;|q=|Q=|0|1|\\.|,| |-|\\PC){0,12}") {
            if let Some(encoding) = Encoding::accepted(&taken) {
                prop_assert!(taken.to_ascii_lowercase().contains(encoding.name()), "{taken}");
            }
        }

        #[test]
        fn any_bytes_survive_a_round_trip(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            for encoding in [Encoding::Zstd, Encoding::Gzip] {
                prop_assert_eq!(&unpacked(encoding, &encoding.compressed(&bytes).unwrap()), &bytes);
            }
        }
    }

    #[test]
    fn a_client_gets_an_encoding_that_it_accepts() {
        assert_eq!(Encoding::accepted("gzip, deflate, br, zstd"), Some(Encoding::Zstd));
        assert_eq!(Encoding::accepted("GZIP;q=0.5, zstd;q=0"), Some(Encoding::Gzip));
        for none in ["", "identity", "br", "gzip;q=0", "gzip;q=x", "zstandard", "*"] {
            assert_eq!(Encoding::accepted(none), None, "{none}");
        }
    }

    #[test]
    fn a_body_compressed_piece_by_piece_is_complete() {
        let text = "how fast is it really? ".repeat(10_000);
        for encoding in [Encoding::Zstd, Encoding::Gzip] {
            let mut stream = encoding.stream().unwrap();
            let mut out = Vec::new();
            text.as_bytes().chunks(1000).for_each(|piece| out.extend(stream.push(piece).unwrap()));
            out.extend(stream.finish().unwrap());
            assert!(out.len() < text.len() / 10);
            assert_eq!(unpacked(encoding, &out), text.as_bytes());
        }
    }
}
