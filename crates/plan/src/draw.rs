//! Random draws as functions of (seed, purpose, index).
//!
//! No draw depends on another or on the order of threads: each index of each purpose is its own ChaCha8 stream.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::{Digest, Sha256};

/// The root of every draw of a run.
#[derive(Clone, Debug)]
pub struct Draws {
    root: String,
    seeded: bool,
}

impl Draws {
    /// From the user's seed, or else from the run's identity.
    pub fn new(seed: Option<u64>, identity: &str) -> Self {
        match seed {
            Some(seed) => Self { root: seed.to_string(), seeded: true },
            None => Self { root: identity.to_owned(), seeded: false },
        }
    }

    /// Whether the user gave a seed.
    pub fn is_seeded(&self) -> bool {
        self.seeded
    }

    /// The draws of one purpose.
    pub fn purpose(&self, name: &str) -> Purpose {
        let digest = Sha256::new().chain_update(&self.root).chain_update(":").chain_update(name).finalize();
        Purpose { key: digest.into() }
    }
}

/// The draws of one purpose, by index.
#[derive(Clone, Debug)]
pub struct Purpose {
    key: [u8; 32],
}

impl Purpose {
    /// The generator of one index.
    pub fn at(&self, index: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::from_seed(self.key);
        rng.set_stream(index);
        rng
    }

    /// 128 random bits for an index.
    pub fn bits128(&self, index: u64) -> u128 {
        use rand::Rng;
        let mut rng = self.at(index);
        u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())
    }
}

/// Spreads the bits of a number over all 64: SplitMix64's finaliser. Zero stays zero.
pub fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_seed_purpose_and_index_only() {
        let draws = Draws::new(Some(7), "x");
        let again = Draws::new(Some(7), "y");
        assert_eq!(draws.purpose("isl").bits128(3), again.purpose("isl").bits128(3));
        assert_ne!(draws.purpose("isl").bits128(3), draws.purpose("isl").bits128(4));
        assert_ne!(draws.purpose("isl").bits128(3), draws.purpose("osl").bits128(3));
        assert_ne!(draws.purpose("isl").bits128(3), Draws::new(Some(8), "x").purpose("isl").bits128(3));
    }
}
