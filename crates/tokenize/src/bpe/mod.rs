//! Byte-pair encoding over vocabularies that lie ready in the binary.
//!
//! A vocabulary is three read-only tables made by the build script, so loading one costs nothing: no parsing, no memory
//! of its own, only the pages that are touched. A piece of text is looked up whole first, which settles most words;
//! else its bytes are merged pair by pair, lowest rank first, as tiktoken defines it.
//!
//! - [`split`], `ascii`: text to pieces
//! - [`merge`]: a piece to tokens
//! - [`layout`]: the tables

mod ascii;
pub(crate) mod layout;
pub(crate) mod merge;
pub(crate) mod split;

use merge::Joins;
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

    fn count_piece(&self, bytes: &[u8]) -> usize {
        if self.find(bytes).is_some() {
            return 1;
        }
        let mut count = 0;
        Piece { bpe: self, bytes }.merge(|_| count += 1);
        count
    }

    fn encode_piece_into(&self, bytes: &[u8], ids: &mut Vec<u32>) {
        match self.find(bytes) {
            Some(id) => ids.push(id),
            None => Piece { bpe: self, bytes }.merge(|token| ids.extend(self.find(token))),
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

/// A piece whose stretches may be joined where their bytes together are a token.
struct Piece<'a> {
    bpe: &'a Bpe,
    bytes: &'a [u8],
}

impl Joins for Piece<'_> {
    /// Begin and end.
    type Part = (u32, u32);

    fn join(&self, left: Self::Part, right: Self::Part) -> Option<(u32, Self::Part)> {
        let joined = (left.0, right.1);
        Some((self.bpe.find(self.slice(joined))?, joined))
    }
}

impl<'a> Piece<'a> {
    fn slice(&self, part: (u32, u32)) -> &'a [u8] {
        &self.bytes[part.0 as usize..part.1 as usize]
    }

    fn merge(&self, mut token: impl FnMut(&'a [u8])) {
        let byte = |at| (at as u32, at as u32 + 1);
        merge::merge(self, self.bytes.len(), byte, |part| token(self.slice(part)));
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
