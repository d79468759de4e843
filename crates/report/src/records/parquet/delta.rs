//! Whole numbers by their differences: the format's DELTA_BINARY_PACKED.
//!
//! Instants of neighbouring records are close to each other, and counts are often equal.

use crate::format::parquet_pages::{push_bits, push_varint};

/// Values of a block, which has its own smallest difference.
const BLOCK: usize = 128;
/// Values with as many bits as the widest of them needs.
const MINIBLOCK: usize = 32;

pub(crate) fn push_deltas(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = i64>) {
    push_varint(out, BLOCK as u64);
    push_varint(out, (BLOCK / MINIBLOCK) as u64);
    push_varint(out, values.len() as u64);
    let mut values = values;
    let mut last = values.next().unwrap_or(0);
    push_varint(out, zigzag(last));
    let mut block = Vec::with_capacity(BLOCK);
    loop {
        block.clear();
        block.extend(values.by_ref().take(BLOCK).map(|value| value.wrapping_sub(std::mem::replace(&mut last, value))));
        if block.is_empty() {
            return;
        }
        push_block(out, &block);
    }
}

fn push_block(out: &mut Vec<u8>, deltas: &[i64]) {
    let least = deltas.iter().copied().min().unwrap_or(0);
    push_varint(out, zigzag(least));
    let above = |delta: &i64| delta.wrapping_sub(least) as u64;
    let miniblocks = deltas.chunks(MINIBLOCK);
    let bits = |miniblock: &[i64]| 64 - miniblock.iter().map(above).fold(0, |all, one| all | one).leading_zeros() as u8;
    let widths = out.len();
    out.extend_from_slice(&[0; BLOCK / MINIBLOCK]);
    for (at, miniblock) in miniblocks.enumerate() {
        let bits = bits(miniblock);
        out[widths + at] = bits;
        // A partial miniblock is padded.
        push_bits(out, miniblock.iter().map(above).chain(std::iter::repeat(0)).take(MINIBLOCK), bits);
    }
}

/// Maps small numbers of either sign to small numbers.
fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deltas(values: &[i64]) -> Vec<u8> {
        let mut out = Vec::new();
        push_deltas(&mut out, values.iter().copied());
        out
    }

    #[test]
    fn equal_steps_take_no_bits() {
        // The first example of the format's description.
        assert_eq!(deltas(&[1, 2, 3, 4, 5]), [128, 1, 4, 5, 2, 2, 0, 0, 0, 0]);
    }

    #[test]
    fn steps_are_packed_above_the_smallest() {
        // The second one: differences -2 -2 -2 1 1 1 1.
        let mut expected = vec![128, 1, 4, 8, 14, 3, 2, 0, 0, 0];
        expected.extend([0b1100_0000, 0b0011_1111]);
        expected.extend([0; 6]);
        assert_eq!(deltas(&[7, 5, 3, 1, 2, 3, 4, 5]), expected);
    }

    #[test]
    fn no_values_are_a_head_alone() {
        assert_eq!(deltas(&[]), [128, 1, 4, 0, 0]);
    }
}
