//! Seeds of the runs of a sweep.

use sha2::{Digest, Sha256};

/// The own seed of a labelled run: 63 bits of a hash of the base seed and the label.
pub(crate) fn derived(base: i64, label: &str) -> i64 {
    let digest = Sha256::digest(format!("{base}:variation:{label}").as_bytes());
    let mut first = [0u8; 8];
    first.copy_from_slice(&digest[..8]);
    (u64::from_be_bytes(first) & (u64::MAX >> 1)) as i64
}
