//! Maps by numbers that count up.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by the number of something, such as a session or a stream.
pub type NumberMap<V, K = u64> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Numbers that count up need no more than to be spread: no attacker chooses them. A server that names other streams only
/// looks for them.
#[derive(Debug, Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0 ^ u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        // An odd constant near 2^64 over the golden ratio; the halves are folded, as both ends of a hash are used.
        let wide = u128::from(number) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (wide >> 64) as u64 ^ wide as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    #[test]
    fn numbers_that_count_up_are_spread_over_both_ends_of_a_hash() {
        let hasher = BuildHasherDefault::<NumberHasher>::default();
        let hashes: Vec<u64> = (0..1000_u64).map(|number| hasher.hash_one(number)).collect();
        let different = |part: fn(u64) -> u64| hashes.iter().map(|hash| part(*hash)).collect::<HashSet<_>>().len();
        assert!(different(|hash| hash & 0xfff) > 750 && different(|hash| hash >> 57) == 128);
    }
}
