//! Byte-pair merging: of all neighbouring parts that may be joined, the pair of lowest rank is, until none may.
//!
//! Two ways to the same end. Short texts are searched through for the lowest pair every time, on the stack; long ones,
//! such as a line of Chinese or a page without spaces, keep their pairs in a heap, so that no text costs the square of
//! its length.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Most parts that are searched through.
const SHORT: usize = 64;

/// Rank of a pair that may not be joined.
const NEVER: u32 = u32::MAX;

/// Which parts may be joined.
pub(crate) trait Joins {
    /// A stretch of text.
    type Part: Copy;

    /// The rank of joining two neighbours and what they become.
    fn join(&self, left: Self::Part, right: Self::Part) -> Option<(u32, Self::Part)>;
}

/// Joins parts until none may be, and shows each that is left; the same parts give the same result every time.
pub(crate) fn merge<J: Joins>(joins: &J, parts: impl ExactSizeIterator<Item = J::Part>, each: impl FnMut(J::Part)) {
    if parts.len() <= SHORT { merge_short(joins, parts, each) } else { merge_long(joins, parts, each) }
}

fn merge_short<J: Joins>(joins: &J, mut from: impl ExactSizeIterator<Item = J::Part>, mut each: impl FnMut(J::Part)) {
    let mut count = from.len();
    let Some(first) = from.next() else { return };
    let mut parts = [first; SHORT];
    for (part, given) in parts[1..].iter_mut().zip(from) {
        *part = given;
    }
    // pairs[i] is what parts i and i+1 would become.
    let pair = |left, right| joins.join(left, right).unwrap_or((NEVER, left));
    let mut pairs = [(NEVER, first); SHORT];
    for i in 1..count {
        pairs[i - 1] = pair(parts[i - 1], parts[i]);
    }
    while count > 1 {
        let mut lowest = 0;
        for i in 1..count - 1 {
            if pairs[i].0 < pairs[lowest].0 {
                lowest = i;
            }
        }
        let (rank, joined) = pairs[lowest];
        if rank == NEVER {
            break;
        }
        parts.copy_within(lowest + 2..count, lowest + 1);
        pairs.copy_within(lowest + 1..count, lowest);
        parts[lowest] = joined;
        count -= 1;
        if lowest + 1 < count {
            pairs[lowest] = pair(joined, parts[lowest + 1]);
        }
        if lowest > 0 {
            pairs[lowest - 1] = pair(parts[lowest - 1], joined);
        }
    }
    parts[..count].iter().for_each(|part| each(*part));
}

/// A pair that was joinable when it was seen; of equal ranks the leftmost comes first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    rank: u32,
    left: usize,
    right: usize,
    end: usize,
}

fn merge_long<J: Joins>(joins: &J, parts: impl ExactSizeIterator<Item = J::Part>, mut each: impl FnMut(J::Part)) {
    // A list: next[i] is the part after i, previous[i] the one before. A swallowed part has no next.
    let mut parts: Vec<J::Part> = parts.collect();
    let length = parts.len();
    let mut next: Vec<usize> = (1..=length).collect();
    let mut previous: Vec<usize> = (0..length).map(|i| i.wrapping_sub(1)).collect();
    let seen = |parts: &[J::Part], left: usize, right: usize, end: usize| {
        let (rank, _) = joins.join(parts[left], parts[right])?;
        Some(Reverse(Pair { rank, left, right, end }))
    };
    let mut pairs: BinaryHeap<Reverse<Pair>> =
        (1..length).filter_map(|right| seen(&parts, right - 1, right, right + 1)).collect();
    while let Some(Reverse(Pair { left, right, end, .. })) = pairs.pop() {
        if next[left] != right || next[right] != end {
            continue;
        }
        let Some((_, joined)) = joins.join(parts[left], parts[right]) else { continue };
        parts[left] = joined;
        next[left] = end;
        next[right] = 0;
        if end < length {
            previous[end] = left;
            pairs.extend(seen(&parts, left, end, next[end]));
        }
        if left > 0 {
            pairs.extend(seen(&parts, previous[left], left, end));
        }
    }
    let mut at = 0;
    while at < length {
        each(parts[at]);
        at = next[at];
    }
}
