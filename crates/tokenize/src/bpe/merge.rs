//! Byte-pair merging: of all neighbouring parts that may be joined, the pair of lowest rank is, until none may.
//!
//! Three ways to the same end. Short texts are searched through for the lowest pair every time, on the stack. Long ones,
//! such as a line of Chinese, keep their pairs in a heap. Very long ones, such as megabytes without a space, are merged
//! in windows: time grows with the length alone, memory does not grow at all.
//!
//! Windows give the same result as the whole text, because of this: a row of tokens is the result of merging exactly if
//! merging any two neighbours on their own gives these two. For consider the first join across an end of a token in the
//! whole text. Until then both neighbours have seen only joins of their own, in the order in which they also come when
//! the two are merged alone; so alone they would be joined there too.

use crate::interrupt;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Most parts that are searched through.
const SHORT: usize = 64;

/// Rank of a pair that may not be joined.
const NEVER: u32 = u32::MAX;

/// Parts in a window.
const WINDOW: usize = 4096;

/// Of a window's tokens, those within this many parts of its end are merged again in the next one: what follows may
/// join them otherwise.
const MARGIN: usize = 512;

/// How far back it may turn out that a window has to begin earlier and be wider, since its tokens and those before do
/// not fit; beyond, they are taken all the same. Bounds the memory: some 100 bytes for each of so many parts. No text is
/// known that needs more than a few windows.
const WIDEST: usize = 1 << 18;

/// Which parts may be joined.
pub(crate) trait Joins {
    /// A stretch of text.
    type Part: Copy;

    /// The rank of joining two neighbours and what they become.
    fn join(&self, left: Self::Part, right: Self::Part) -> Option<(u32, Self::Part)>;
}

/// Joins parts until none may be, and shows each that is left; the same parts give the same result every time.
pub(crate) fn merge<J: Joins>(joins: &J, length: usize, part: impl Fn(usize) -> J::Part, each: impl FnMut(J::Part)) {
    if length <= SHORT {
        merge_short(joins, (0..length).map(part), each);
    } else if length <= WINDOW {
        Heap::default().merge(joins, (0..length).map(part), each);
    } else {
        Windows { joins, length, part, window: WINDOW, margin: MARGIN }.merge(each);
    }
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    rank: u32,
    left: u32,
    right: u32,
    end: u32,
}

/// Merges with the pairs in a heap; kept, so that a window costs no memory anew.
struct Heap<P> {
    /// A list: next[i] is the part after i, previous[i] the one before. A swallowed part has no next.
    parts: Vec<P>,
    next: Vec<u32>,
    previous: Vec<u32>,
    pairs: BinaryHeap<Reverse<Pair>>,
}

impl<P> Default for Heap<P> {
    fn default() -> Self {
        Self { parts: Vec::new(), next: Vec::new(), previous: Vec::new(), pairs: BinaryHeap::new() }
    }
}

impl<P: Copy> Heap<P> {
    fn merge<J: Joins<Part = P>>(
        &mut self,
        joins: &J,
        parts: impl ExactSizeIterator<Item = P>,
        mut each: impl FnMut(P),
    ) {
        self.join_all(joins, parts);
        self.tokens().for_each(|(_, part)| each(part));
    }

    /// What is left, each with where it begins.
    fn tokens(&self) -> impl Iterator<Item = (usize, P)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let token = (at, *self.parts.get(at)?);
            at = self.next[at] as usize;
            Some(token)
        })
    }

    fn join_all<J: Joins<Part = P>>(&mut self, joins: &J, from: impl ExactSizeIterator<Item = P>) {
        let Self { parts, next, previous, pairs } = self;
        parts.clear();
        parts.extend(from);
        let length = parts.len() as u32;
        next.clear();
        next.extend(1..=length);
        previous.clear();
        previous.extend((0..length).map(|at| at.wrapping_sub(1)));
        let seen = |parts: &[P], left: u32, right: u32, end: u32| {
            let (rank, _) = joins.join(parts[left as usize], parts[right as usize])?;
            Some(Reverse(Pair { rank, left, right, end }))
        };
        pairs.clear();
        pairs.extend((1..length).filter_map(|right| seen(parts, right - 1, right, right + 1)));
        while let Some(Reverse(Pair { left, right, end, .. })) = pairs.pop() {
            if next[left as usize] != right || next[right as usize] != end {
                continue;
            }
            let Some((_, joined)) = joins.join(parts[left as usize], parts[right as usize]) else { continue };
            parts[left as usize] = joined;
            next[left as usize] = end;
            next[right as usize] = 0;
            if end < length {
                previous[end as usize] = left;
                pairs.extend(seen(parts, left, end, next[end as usize]));
            }
            if left > 0 {
                pairs.extend(seen(parts, previous[left as usize], left, end));
            }
        }
    }
}

/// A text that is merged window by window.
struct Windows<'a, J, F> {
    joins: &'a J,
    length: usize,
    part: F,
    window: usize,
    margin: usize,
}

impl<J: Joins, F: Fn(usize) -> J::Part> Windows<'_, J, F> {
    fn merge(&self, mut each: impl FnMut(J::Part)) {
        let mut heap = Heap::default();
        // Tokens with where they begin: any two neighbours fit. The oldest are shown when there are too many.
        let mut settled: VecDeque<(usize, J::Part)> = VecDeque::new();
        let (mut begin, mut width, mut furthest) = (0, self.window, 0);
        while begin < self.length && !interrupt::is_over() {
            let end = self.length.min(begin + width);
            self.join(&mut heap, begin, end);
            let tokens: Vec<_> = heap.tokens().map(|(at, part)| (begin + at, part)).collect();
            // The next window begins where the last token ends that lies before the margin.
            let reach = end.saturating_sub(self.margin);
            let (taken, cut) = match tokens.partition_point(|(at, _)| *at <= reach).saturating_sub(1) {
                _ if end == self.length => (tokens.len(), end),
                taken => (taken, tokens[taken].0),
            };
            let after_first = tokens.get(1).map_or(end, |(at, _)| *at);
            let fits = settled.back().is_none_or(|(last, _)| self.fit(&mut heap, *last, begin, after_first));
            if taken == 0 || !fits && width < WIDEST {
                if !fits {
                    begin = retreat(&mut settled, begin, width);
                }
                width *= 2;
                continue;
            }
            settled.extend(&tokens[..taken]);
            begin = cut;
            if cut > furthest {
                (furthest, width) = (cut, self.window);
            }
            while settled.front().is_some_and(|(at, _)| at + WIDEST < begin)
                && let Some((_, part)) = settled.pop_front()
            {
                each(part);
            }
        }
        settled.into_iter().for_each(|(_, part)| each(part));
    }

    /// Whether two neighbouring tokens stay what they are when merged together.
    fn fit(&self, heap: &mut Heap<J::Part>, begin: usize, middle: usize, end: usize) -> bool {
        self.join(heap, begin, end);
        heap.tokens().map(|(at, _)| begin + at).eq([begin, middle])
    }

    fn join(&self, heap: &mut Heap<J::Part>, begin: usize, end: usize) {
        heap.join_all(self.joins, (begin..end).map(&self.part));
    }
}

/// Takes back the tokens of so many parts before an end; returns where they begin.
fn retreat<P>(settled: &mut VecDeque<(usize, P)>, end: usize, parts: usize) -> usize {
    let mut begin = end;
    while end - begin < parts
        && let Some((at, _)) = settled.pop_back()
    {
        begin = at;
    }
    begin
}

#[cfg(test)]
mod tests;
