//! Pages compressed as gzip, at little cost for what cannot be compressed.
//!
//! Most of a page of floats is noise: the lower bytes of every value. Deflate would look for repetitions in it byte by
//! byte and find none. So each part of a page is looked at first, and noise goes out as the stored blocks that deflate
//! has for it.

use flate2::{Compress, Compression, Crc, FlushCompress};
use parquet::errors::{ParquetError, Result};

/// Magic, deflate, no name, no time, no system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// A last block of nothing.
const LAST_BLOCK: [u8; 5] = [1, 0, 0, 0xff, 0xff];
/// Bytes that are looked at together; a stored block takes up to 65,535.
const PIECE: usize = 1 << 15;
/// A page shorter than this is stored: to begin anew costs more than there is to gain, and most columns of most runs say
/// one thing, or nothing.
const SHORT: usize = 256;
/// Noise is what would shrink by less than this share.
const LEAST_GAIN: f64 = 0.03;

pub(crate) struct Gzip {
    deflate: Compress,
}

impl Gzip {
    pub(crate) fn new() -> Self {
        Self { deflate: Compress::new(Compression::fast(), false) }
    }

    /// Compresses bytes. Where they change their nature is told by `ends`, in ascending order.
    pub(crate) fn compress(&mut self, bytes: &[u8], ends: &[usize]) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(bytes.len() / 2 + 64);
        out.extend_from_slice(&HEAD);
        let mut waiting = 0..0;
        for piece in pieces(bytes.len(), ends) {
            if bytes.len() >= SHORT && !is_noise(&bytes[piece.clone()]) {
                waiting.end = piece.end;
                continue;
            }
            self.deflate(&bytes[waiting.clone()], &mut out)?;
            push_stored(&mut out, &bytes[piece.clone()]);
            waiting = piece.end..piece.end;
        }
        self.deflate(&bytes[waiting], &mut out)?;
        out.extend_from_slice(&LAST_BLOCK);
        let mut crc = Crc::new();
        crc.update(bytes);
        out.extend_from_slice(&crc.sum().to_le_bytes());
        out.extend_from_slice(&crc.amount().to_le_bytes());
        Ok(out)
    }

    /// Appends blocks that end with a whole byte and refer to nothing before them.
    fn deflate(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.deflate.reset();
        loop {
            out.reserve(bytes.len() / 8 + 256);
            let done = self.deflate.total_in() as usize;
            let flushed = self.deflate.compress_vec(&bytes[done..], out, FlushCompress::Sync);
            flushed.map_err(|error| ParquetError::External(Box::new(error)))?;
            if self.deflate.total_in() as usize == bytes.len() && out.len() < out.capacity() {
                return Ok(());
            }
        }
    }
}

fn pieces(length: usize, ends: &[usize]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut at = 0;
    let mut ends = ends.iter().copied().chain([length]).peekable();
    std::iter::from_fn(move || {
        while ends.next_if(|end| *end <= at).is_some() {}
        let end = (*ends.peek()?).min(at + PIECE);
        Some(std::mem::replace(&mut at, end)..end)
    })
}

/// Whether the bytes of a piece are spread so evenly that no code for them is shorter.
fn is_noise(piece: &[u8]) -> bool {
    let mut counts = [0u32; 256];
    piece.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let length = piece.len() as f64;
    let bits: f64 = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count))
        .map(|count| count * (length / count).log2())
        .sum();
    bits > 8.0 * length * (1.0 - LEAST_GAIN)
}

fn push_stored(out: &mut Vec<u8>, piece: &[u8]) {
    let length = piece.len() as u16;
    out.push(0);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(piece);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;

    fn undo(compressed: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(compressed).read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1u64;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..length).map(next).collect()
    }

    #[test]
    fn noise_is_stored_and_the_rest_is_packed() {
        let bytes = [noise(100_000), vec![7; 100_000], noise(50_000)].concat();
        let compressed = Gzip::new().compress(&bytes, &[100_000, 200_000]).unwrap();
        assert_eq!(undo(&compressed), bytes);
        assert!((150_000..151_000).contains(&compressed.len()), "{}", compressed.len());
    }

    proptest! {
        #[test]
        fn whatever_is_compressed_comes_back(
            parts in prop::collection::vec((0..70_000usize, any::<bool>(), any::<u8>()), 0..4),
        ) {
            let (mut bytes, mut ends) = (Vec::new(), Vec::new());
            for (length, is_noise, byte) in parts {
                bytes.extend(if is_noise { noise(length) } else { vec![byte; length] });
                ends.push(bytes.len());
            }
            let mut gzip = Gzip::new();
            prop_assert_eq!(undo(&gzip.compress(&bytes, &ends).unwrap()), &bytes[..]);
            prop_assert_eq!(undo(&gzip.compress(&bytes, &[]).unwrap()), &bytes[..]);
        }
    }
}
