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
pub(crate) struct Bpe<T = Embedded> {
    tables: T,
    /// The longest token, in bytes.
    longest: usize,
    splitter: &'static Splitter,
}

/// The tables of a vocabulary.
pub(crate) trait Tables {
    /// The bytes of every token, one after another.
    fn bytes(&self) -> &[u8];
    /// Where each token begins, and at last where the last one ends.
    fn starts(&self) -> &[[u8; 4]];
    /// Hash table from bytes to id.
    fn slots(&self) -> &[[u8; 4]];
}

/// Tables that lie in the binary.
pub(crate) struct Embedded {
    bytes: &'static [u8],
    starts: &'static [[u8; 4]],
    slots: &'static [[u8; 4]],
}

impl Tables for Embedded {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.bytes
    }

    #[inline]
    fn starts(&self) -> &[[u8; 4]] {
        self.starts
    }

    #[inline]
    fn slots(&self) -> &[[u8; 4]] {
        self.slots
    }
}

/// Tables made from a rank file.
pub(crate) struct Loaded {
    bytes: Vec<u8>,
    starts: Vec<u8>,
    slots: Vec<u8>,
}

impl Tables for Loaded {
    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[inline]
    fn starts(&self) -> &[[u8; 4]] {
        self.starts.as_chunks().0
    }

    #[inline]
    fn slots(&self) -> &[[u8; 4]] {
        self.slots.as_chunks().0
    }
}

macro_rules! table {
    ($name:literal, $part:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".", $part))
    };
}

macro_rules! bpe {
    ($name:literal, $splitter:expr) => {
        Bpe {
            tables: Embedded {
                bytes: table!($name, "bytes"),
                starts: table!($name, "starts").as_chunks::<4>().0,
                slots: table!($name, "slots").as_chunks::<4>().0,
            },
            longest: 128,
            splitter: $splitter,
        }
    };
}

pub(crate) static O200K: Bpe = bpe!("o200k_base", &split::O200K);
pub(crate) static CL100K: Bpe = bpe!("cl100k_base", &split::CL100K);
pub(crate) static P50K: Bpe = bpe!("p50k_base", &split::GPT2);

/// The tokens of [`P50K`] without its runs of blanks.
pub(crate) static R50K: Bpe = Bpe {
    tables: Embedded {
        bytes: P50K.tables.bytes,
        starts: P50K.tables.starts.split_at(50_256 + 1).0,
        slots: table!("r50k_base", "slots").as_chunks::<4>().0,
    },
    longest: P50K.longest,
    splitter: P50K.splitter,
};

impl Bpe<Loaded> {
    /// From tokens in order of rank; one without bytes is none. Every byte has to be a token.
    pub(crate) fn new(tokens: &[Vec<u8>], splitter: &'static Splitter) -> Result<Self, String> {
        if tokens.len() > layout::MOST_TOKENS {
            return Err(format!("more than {} tokens", layout::MOST_TOKENS));
        }
        let (starts, slots) = (layout::starts(tokens), layout::slots(tokens));
        let tables = Loaded { bytes: tokens.concat(), starts, slots };
        let longest = tokens.iter().map(Vec::len).max().unwrap_or(0);
        let bpe = Self { tables, longest, splitter };
        match (0..=u8::MAX).find(|byte| bpe.find(&[*byte]).is_none()) {
            Some(byte) => Err(format!("byte {byte:#04x} is no token")),
            None => Ok(bpe),
        }
    }
}

impl<T: Tables> Bpe<T> {
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

    /// The ids of tokens are below; one that is left out has no bytes.
    pub(crate) fn len(&self) -> usize {
        self.tables.starts().len() - 1
    }

    /// The bytes of a token.
    pub(crate) fn token(&self, id: u32) -> &[u8] {
        let starts = self.tables.starts();
        let at = |index: usize| u32::from_le_bytes(starts[index]) as usize;
        &self.tables.bytes()[at(id as usize)..at(id as usize + 1)]
    }

    /// The token with these bytes.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() > self.longest {
            return None;
        }
        let slots = self.tables.slots();
        let hash = layout::hash(bytes);
        let mut at = layout::first_slot(hash, slots.len());
        loop {
            let slot = u32::from_le_bytes(slots[at]);
            if slot == layout::EMPTY {
                return None;
            }
            if let Some(id) = layout::id_if_tagged(slot, hash)
                && self.token(id) == bytes
            {
                return Some(id);
            }
            at = layout::next_slot(at, slots.len());
        }
    }
}

/// A piece whose stretches may be joined where their bytes together are a token.
struct Piece<'a, T = Embedded> {
    bpe: &'a Bpe<T>,
    bytes: &'a [u8],
}

impl<T: Tables> Joins for Piece<'_, T> {
    /// Begin and end.
    type Part = (u32, u32);

    fn join(&self, left: Self::Part, right: Self::Part) -> Option<(u32, Self::Part)> {
        let joined = (left.0, right.1);
        Some((self.bpe.find(self.slice(joined))?, joined))
    }
}

impl<'a, T: Tables> Piece<'a, T> {
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
        for bpe in [&O200K, &CL100K, &P50K, &R50K] {
            for id in (0..bpe.len() as u32).filter(|id| !bpe.token(*id).is_empty()) {
                assert_eq!(bpe.find(bpe.token(id)), Some(id));
            }
            assert_eq!((0..bpe.len() as u32).map(|id| bpe.token(id).len()).max(), Some(bpe.longest));
        }
        assert_eq!((P50K.len(), P50K.token(50_256)), (50_281, &b""[..]));
        let blanks = P50K.token(50_280);
        assert_eq!((R50K.len(), R50K.find(blanks), P50K.find(blanks)), (50_256, None, Some(50_280)));
    }

    #[test]
    fn tables_made_from_ranks_are_those_of_the_build() {
        let tokens: Vec<Vec<u8>> = (0..CL100K.len() as u32).map(|id| CL100K.token(id).to_vec()).collect();
        let made = Bpe::new(&tokens, &split::CL100K).unwrap();
        let tables = (made.tables.bytes(), made.tables.starts(), made.tables.slots());
        assert!(tables == (CL100K.tables.bytes(), CL100K.tables.starts(), CL100K.tables.slots()));
        assert!(Bpe::new(&tokens[1..], &split::CL100K).is_err_and(|reason| reason == "byte 0x21 is no token"));
    }
}
