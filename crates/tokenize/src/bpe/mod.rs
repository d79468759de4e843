//! Byte-pair encoding over vocabularies that lie ready in the binary.
//!
//! A vocabulary is three read-only tables made by the build script, so loading one costs nothing: no parsing, no memory of
//! its own, only the pages that are touched. A piece of text is looked up whole first, which settles most words; else
//! its bytes are merged pair by pair, lowest rank first, as tiktoken defines it.
//!
//! - [`split`]: text to pieces
//! - `merge`: a piece to tokens
//! - `layout`: the tables

mod layout;
mod merge;
pub(crate) mod split;

use split::Splitter;

/// A vocabulary and how text is cut up for it.
pub(crate) struct Bpe {
    /// The bytes of every token, one after another.
    bytes: &'static [u8],
    /// Where each token begins, and at last where the last one ends.
    starts: &'static [[u8; 4]],
    /// Hash table from bytes to id.
    slots: &'static [[u8; 4]],
    /// The longest token, in bytes.
    longest: usize,
    splitter: &'static Splitter,
}

macro_rules! bpe {
    ($name:literal, $longest:literal, $splitter:expr) => {
        Bpe {
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bytes")),
            starts: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".starts")).as_chunks::<4>().0,
            slots: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".slots")).as_chunks::<4>().0,
            longest: $longest,
            splitter: $splitter,
        }
    };
}

pub(crate) static O200K: Bpe = bpe!("o200k_base", 128, &split::O200K);
pub(crate) static CL100K: Bpe = bpe!("cl100k_base", 128, &split::CL100K);

impl Bpe {
    /// How many tokens a text has.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.splitter.pieces(text).map(|piece| self.count_piece(piece.as_bytes())).sum()
    }

    /// Appends the tokens of a text.
    pub(crate) fn encode_into(&self, text: &str, ids: &mut Vec<u32>) {
        for piece in self.splitter.pieces(text) {
            self.encode_piece_into(piece.as_bytes(), ids);
        }
    }

    /// How many tokens there are; their ids are below.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The bytes of a token.
    pub(crate) fn token(&self, id: u32) -> &'static [u8] {
        let at = |index: usize| u32::from_le_bytes(self.starts[index]) as usize;
        &self.bytes[at(id as usize)..at(id as usize + 1)]
    }

    /// The token with these bytes.
    fn find(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() > self.longest {
            return None;
        }
        let hash = layout::hash(bytes);
        let mut at = layout::first_slot(hash, self.slots.len());
        loop {
            let slot = u32::from_le_bytes(self.slots[at]);
            if slot == layout::EMPTY {
                return None;
            }
            if let Some(id) = layout::id_if_tagged(slot, hash)
                && self.token(id) == bytes
            {
                return Some(id);
            }
            at = layout::next_slot(at, self.slots.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_found_by_its_bytes() {
        for bpe in [&O200K, &CL100K] {
            for id in 0..bpe.len() as u32 {
                assert_eq!(bpe.find(bpe.token(id)), Some(id));
            }
            assert_eq!((0..bpe.len() as u32).map(|id| bpe.token(id).len()).max(), Some(bpe.longest));
        }
    }
}
