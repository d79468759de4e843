//! Byte-pair encoding over vocabularies that lie in the binary, or that a rank file holds.
//!
//! A builtin vocabulary is the bytes of its tokens and their lengths, written by the build script. Its hash table is made
//! at its first use: some milliseconds, instead of megabytes in the binary. The binary contains that of the default
//! vocabulary, because most runs need it. A piece of text is looked up whole first, which settles most words; else its
//! bytes are merged pair by pair, lowest rank first, as tiktoken defines it.
//!
//! - [`split`], `ascii`: text to pieces
//! - [`merge`]: a piece to tokens
//! - [`layout`]: the hash table

mod ascii;
pub(crate) mod layout;
pub(crate) mod merge;
pub(crate) mod split;

use crate::interrupt;
use layout::Slot;
use merge::Joins;
use split::Splitter;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Pieces of a text that are counted before it is asked whether to go on: about a millisecond.
pub(crate) const PIECES_A_QUESTION: usize = 4096;

/// A vocabulary and how text is cut up for it.
pub(crate) struct Bpe {
    /// The bytes of every token, one after another.
    bytes: Cow<'static, [u8]>,
    /// Where each token begins, and at last where the last one ends.
    starts: Vec<u32>,
    /// Hash table from bytes to id.
    slots: Cow<'static, [Slot]>,
    /// The longest token, in bytes.
    longest: usize,
    splitter: &'static Splitter,
}

/// A vocabulary that lies in the binary, made ready when it is first used.
pub(crate) type Builtin = LazyLock<Bpe>;

macro_rules! table {
    ($name:literal, $part:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".", $part))
    };
}

macro_rules! builtin {
    ($name:literal, $splitter:expr) => {
        builtin!($name, table!($name, "lengths"), $splitter)
    };
    ($name:literal, $lengths:expr, $splitter:expr) => {
        builtin!($name, $lengths, made_slots, $splitter)
    };
    ($name:literal, $lengths:expr, $slots:expr, $splitter:expr) => {
        LazyLock::new(|| {
            Bpe::of(
                Cow::Borrowed(table!($name, "bytes")),
                $lengths.iter().map(|length| usize::from(*length)),
                $slots,
                $splitter,
            )
        })
    };
}

pub(crate) static O200K: Builtin = builtin!(
    "o200k_base",
    table!("o200k_base", "lengths"),
    |_, _| Cow::Borrowed(table!("o200k_base", "slots").as_chunks().0),
    &split::O200K
);
pub(crate) static CL100K: Builtin = builtin!("cl100k_base", &split::CL100K);
pub(crate) static P50K: Builtin = builtin!("p50k_base", &split::GPT2);
/// The tokens of [`P50K`] without its runs of blanks.
pub(crate) static R50K: Builtin = builtin!("p50k_base", table!("p50k_base", "lengths")[..50_256], &split::GPT2);

fn made_slots(bytes: &[u8], starts: &[u32]) -> Cow<'static, [Slot]> {
    layout::slots(bytes, starts).into()
}

impl Bpe {
    /// From tokens in order of rank; one without bytes is none. Every byte has to be a token.
    pub(crate) fn new(tokens: &[Vec<u8>], splitter: &'static Splitter) -> Result<Self, String> {
        if tokens.len() > layout::MOST_TOKENS {
            return Err(format!("more than {} tokens", layout::MOST_TOKENS));
        }
        let bpe = Self::of(Cow::Owned(tokens.concat()), tokens.iter().map(Vec::len), made_slots, splitter);
        match (0..=u8::MAX).find(|byte| bpe.find(&[*byte]).is_none()) {
            Some(byte) => Err(format!("byte {byte:#04x} is no token")),
            None => Ok(bpe),
        }
    }

    /// From the bytes of all tokens and the length of each. `slots` gets the bytes, and where each token begins.
    fn of(
        bytes: Cow<'static, [u8]>,
        lengths: impl ExactSizeIterator<Item = usize>,
        slots: impl FnOnce(&[u8], &[u32]) -> Cow<'static, [Slot]>,
        splitter: &'static Splitter,
    ) -> Self {
        let mut longest = 0;
        let mut starts = Vec::with_capacity(lengths.len() + 1);
        starts.push(0);
        for length in lengths {
            longest = longest.max(length);
            starts.push(starts[starts.len() - 1] + length as u32);
        }
        let slots = slots(&bytes, &starts);
        Self { bytes, starts, slots, longest, splitter }
    }

    /// How many tokens a text has.
    pub(crate) fn count(&self, text: &str) -> usize {
        let mut count = 0;
        for (number, piece) in self.splitter.pieces(text).enumerate() {
            if number % PIECES_A_QUESTION == PIECES_A_QUESTION - 1 && interrupt::is_over() {
                break;
            }
            count += self.count_piece(piece.as_bytes());
        }
        count
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
        self.starts.len() - 1
    }

    /// The bytes of a token.
    pub(crate) fn token(&self, id: u32) -> &[u8] {
        let id = id as usize;
        &self.bytes[self.starts[id] as usize..self.starts[id + 1] as usize]
    }

    /// The token with these bytes.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<u32> {
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
        for bpe in [&*O200K, &CL100K, &P50K, &R50K] {
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
    fn the_table_in_the_binary_is_the_one_that_would_be_made() {
        assert!(O200K.slots == layout::slots(&O200K.bytes, &O200K.starts));
    }

    #[test]
    fn a_vocabulary_from_ranks_is_that_of_the_binary() {
        let tokens: Vec<Vec<u8>> = (0..CL100K.len() as u32).map(|id| CL100K.token(id).to_vec()).collect();
        let made = Bpe::new(&tokens, &split::CL100K).unwrap();
        let is_same = made.bytes == CL100K.bytes && made.starts == CL100K.starts && made.slots == CL100K.slots;
        assert!(is_same && made.longest == CL100K.longest);
        assert!(Bpe::new(&tokens[1..], &split::CL100K).is_err_and(|reason| reason == "byte 0x21 is no token"));
    }
}
