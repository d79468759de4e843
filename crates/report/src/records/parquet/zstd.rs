//! Pages compressed with Zstandard.
//!
//! Most of a page of floats is noise, the lower bytes of every value, and the rest needs its own codes. So each part of
//! a page becomes separate blocks, and noise is stored as it is.

use parquet::errors::{ParquetError, Result};
use std::io;
use zstd::stream::raw::{Encoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::compress_bound;

/// The fastest level that codes bytes by their frequency; lower levels only look for repetitions.
const LEVEL: i32 = 1;
/// Bytes that a block or an end may add.
const HEADS: usize = 32;

pub(crate) struct Compressor {
    encoder: Encoder<'static>,
    /// Capacity for the largest page so far.
    room: Vec<u8>,
}

impl Compressor {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { encoder: Encoder::new(LEVEL).map_err(external)?, room: Vec::new() })
    }

    /// Compresses bytes. `ends` are the positions where the kind of data changes, in ascending order.
    pub(crate) fn compress(&mut self, bytes: &[u8], ends: &[usize]) -> Result<Vec<u8>> {
        self.put(bytes, ends).map_err(external)?;
        Ok(self.room.as_slice().to_vec())
    }

    fn put(&mut self, bytes: &[u8], ends: &[usize]) -> io::Result<()> {
        self.encoder.reinit()?;
        self.encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
        self.room.clear();
        self.room.reserve(compress_bound(bytes.len()) + (ends.len() + 2) * HEADS);
        let mut out = OutBuffer::around(&mut self.room);
        let mut start = 0;
        for end in ends.iter().copied().chain([bytes.len()]) {
            let mut part = InBuffer::around(&bytes[start..end]);
            while part.pos() < end - start {
                self.encoder.run(&mut part, &mut out)?;
            }
            all_out(self.encoder.flush(&mut out)?)?;
            start = end;
        }
        all_out(self.encoder.finish(&mut out, true)?)
    }
}

/// The capacity is enough for any result.
fn all_out(left: usize) -> io::Result<()> {
    if left == 0 { Ok(()) } else { Err(io::Error::other("a compressed page is longer than it may be")) }
}

fn external(error: io::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        let halves = noise(100_000).into_iter().map(|byte| byte & 15);
        let bytes: Vec<u8> = noise(100_000).into_iter().chain(halves).collect();
        let compressed = Compressor::new().unwrap().compress(&bytes, &[100_000]).unwrap();
        assert_eq!(zstd::decode_all(&*compressed).unwrap(), bytes);
        assert!((150_000..151_000).contains(&compressed.len()), "{}", compressed.len());
    }

    proptest! {
        #[test]
        fn any_bytes_are_restored(
            parts in prop::collection::vec((0..70_000usize, any::<bool>(), any::<u8>()), 0..4),
        ) {
            let (mut bytes, mut ends) = (Vec::new(), Vec::new());
            for (length, is_noise, byte) in parts {
                bytes.extend(if is_noise { noise(length) } else { vec![byte; length] });
                ends.push(bytes.len());
            }
            let mut compressor = Compressor::new().unwrap();
            prop_assert_eq!(zstd::decode_all(&*compressor.compress(&bytes, &ends).unwrap()).unwrap(), &bytes[..]);
            prop_assert_eq!(zstd::decode_all(&*compressor.compress(&bytes, &[]).unwrap()).unwrap(), &bytes[..]);
        }
    }
}
