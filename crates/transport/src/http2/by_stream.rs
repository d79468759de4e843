//! A map by the number of a stream. Every frame looks its stream up, some of them twice.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub(crate) type ByStream<T> = HashMap<u32, T, BuildHasherDefault<StreamHasher>>;

/// Spreads the numbers of streams. The client chooses the keys. A server can only look for others, so it cannot make
/// keys collide.
#[derive(Clone, Copy, Default)]
pub(crate) struct StreamHasher(u64);

impl Hasher for StreamHasher {
    fn write_u32(&mut self, number: u32) {
        self.0 = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("the key is a number")
    }

    fn finish(&self) -> u64 {
        // The table takes its slot from the low bits. Those of the product depend on few bits of the number; those in its
        // middle depend on all.
        self.0.rotate_left(32)
    }
}
