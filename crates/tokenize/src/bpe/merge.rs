//! A piece of text to tokens: bytes are merged pair by pair, lowest rank first, until no pair is a token.
//!
//! Two ways to the same end. Short pieces are searched through for the lowest pair every time, on the stack; long ones,
//! such as a line of Chinese or a page without spaces, keep their pairs in a heap, so that no text costs the square of its
//! length.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Bpe;

/// Longest piece that is searched through.
const SHORT: usize = 64;

/// Rank of a pair that is no token.
const NONE: u32 = u32::MAX;

impl Bpe {
    /// How many tokens a piece has.
    pub(super) fn count_piece(&self, piece: &[u8]) -> usize {
        if self.find(piece).is_some() {
            return 1;
        }
        let mut count = 0;
        self.merge(piece, |_| count += 1);
        count
    }

    /// Appends the tokens of a piece.
    pub(super) fn encode_piece_into(&self, piece: &[u8], ids: &mut Vec<u32>) {
        match self.find(piece) {
            Some(id) => ids.push(id),
            None => self.merge(piece, |token| ids.extend(self.find(token))),
        }
    }

    /// Gives the bytes of every token of a piece.
    fn merge<'a>(&self, piece: &'a [u8], token: impl FnMut(&'a [u8])) {
        if piece.len() <= SHORT { self.merge_short(piece, token) } else { self.merge_long(piece, token) }
    }

    fn rank(&self, bytes: &[u8]) -> u32 {
        self.find(bytes).unwrap_or(NONE)
    }

    fn merge_short<'a>(&self, piece: &'a [u8], mut token: impl FnMut(&'a [u8])) {
        // Part i begins at starts[i]; ranks[i] is the rank of parts i and i+1 together.
        let mut starts: [u8; SHORT + 2] = std::array::from_fn(|i| i as u8);
        let mut ranks = [NONE; SHORT + 1];
        let mut parts = piece.len();
        for i in 0..parts.saturating_sub(1) {
            ranks[i] = self.rank(&piece[i..i + 2]);
        }
        while parts > 1 {
            let pairs = &ranks[..parts - 1];
            let Some((lowest, rank)) = pairs.iter().enumerate().min_by_key(|(_, rank)| **rank) else { break };
            if *rank == NONE {
                break;
            }
            starts.copy_within(lowest + 2..=parts, lowest + 1);
            ranks.copy_within(lowest + 1..parts, lowest);
            parts -= 1;
            let joined = |i: usize| &piece[starts[i] as usize..starts[i + 2] as usize];
            if lowest + 1 < parts {
                ranks[lowest] = self.rank(joined(lowest));
            }
            if lowest > 0 {
                ranks[lowest - 1] = self.rank(joined(lowest - 1));
            }
        }
        for ends in starts[..=parts].windows(2) {
            token(&piece[ends[0] as usize..ends[1] as usize]);
        }
    }

    fn merge_long<'a>(&self, piece: &'a [u8], mut token: impl FnMut(&'a [u8])) {
        // Parts form a list: next[i] is where the part at i ends, previous[i] where the one before it begins.
        let length = piece.len();
        let mut next: Vec<usize> = (1..=length).collect();
        let mut previous: Vec<usize> = (0..length).map(|i| i.wrapping_sub(1)).collect();
        let mut pairs: BinaryHeap<Reverse<(u32, usize, usize)>> =
            (0..length - 1).filter_map(|i| Some(Reverse((self.find(&piece[i..i + 2])?, i, i + 2)))).collect();
        while let Some(Reverse((_, begin, end))) = pairs.pop() {
            let middle = next[begin];
            // A pair is out of date when one of its parts has grown or has been swallowed.
            if middle == 0 || middle >= length || next[middle] != end {
                continue;
            }
            next[begin] = end;
            next[middle] = 0;
            if end < length {
                previous[end] = begin;
                let after = next[end];
                pairs.extend(self.find(&piece[begin..after]).map(|rank| Reverse((rank, begin, after))));
            }
            if begin > 0 {
                let before = previous[begin];
                pairs.extend(self.find(&piece[before..end]).map(|rank| Reverse((rank, before, end))));
            }
        }
        let mut begin = 0;
        while begin < length {
            token(&piece[begin..next[begin]]);
            begin = next[begin];
        }
    }
}
