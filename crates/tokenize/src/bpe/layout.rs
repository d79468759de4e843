//! The hash table that finds a token by its bytes. The build script makes that of the default vocabulary.

/// A slot of a table in the binary: a number, in little-endian bytes.
pub(crate) type Slot = [u8; 4];

/// A slot without a token.
pub(crate) const EMPTY: u32 = u32::MAX;

/// Bits of a slot that hold the id; the rest is part of the hash, so that most wrong tokens need no look at their
/// bytes.
const ID_BITS: u32 = 18;

/// The most tokens that a table has room for.
pub(crate) const MOST_TOKENS: usize = (1 << ID_BITS) - 1;

/// The hash table from bytes to id, of tokens one after another that begin at `starts`. A token without bytes has no
/// slot.
pub(crate) fn slots(bytes: &[u8], starts: &[u32]) -> Vec<Slot> {
    // At most half full: a miss, the common case while merging, is then known after one or two slots.
    let mut table = vec![EMPTY; ((starts.len() - 1) * 2).next_power_of_two()];
    for (id, ends) in starts.windows(2).enumerate().filter(|(_, ends)| ends[0] < ends[1]) {
        let hash = hash(&bytes[ends[0] as usize..ends[1] as usize]);
        let mut at = first_slot(hash, table.len());
        while table[at] != EMPTY {
            at = next_slot(at, table.len());
        }
        table[at] = slot(hash, id as u32);
    }
    table.into_iter().map(u32::to_le_bytes).collect()
}

/// The hash of a token's bytes.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut hash = bytes.len() as u64;
    for word in words {
        hash = mix(hash ^ u64::from_le_bytes(*word));
    }
    let tail = tail.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    mix(hash ^ tail)
}

/// Spreads a number over all bits.
pub(crate) fn mix(value: u64) -> u64 {
    let wide = u128::from(value ^ 0x9e37_79b9_7f4a_7c15) * u128::from(0xd6e8_feb8_6659_fd93_u64);
    (wide >> 64) as u64 ^ wide as u64
}

/// Where to look first in a table of a power of two.
pub(crate) fn first_slot(hash: u64, slots: usize) -> usize {
    (hash >> 32) as usize & (slots - 1)
}

/// Where to look next.
pub(crate) fn next_slot(slot: usize, slots: usize) -> usize {
    (slot + 1) & (slots - 1)
}

/// What a slot holds for a token.
pub(crate) fn slot(hash: u64, id: u32) -> u32 {
    tag(hash) | id
}

/// The id in a slot, if it may be of a token with this hash.
pub(crate) fn id_if_tagged(slot: u32, hash: u64) -> Option<u32> {
    let id = slot & ((1 << ID_BITS) - 1);
    (slot == tag(hash) | id).then_some(id)
}

fn tag(hash: u64) -> u32 {
    (hash as u32) << ID_BITS
}
