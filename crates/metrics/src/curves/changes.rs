//! The changes within an interval, in the order of time.

use crate::curves::change::{Content, Transition};

/// The order of changes at the same instant: a request begins before its content, and ends after it.
const BEGIN: u64 = 0;
const CONTENT: u64 = 1 << 30;
const END: u64 = 2 << 30;
const NUMBERS: u64 = CONTENT - 1;
/// Buckets of the sort per number: so few numbers share one that little is left to sort.
const BUCKETS_EACH: usize = 2;
/// The most numbers in a bucket.
const FULLEST: u32 = 32;

#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// The time since the origin, and the number of the change: one integer, which sorts fast.
    order: Vec<u64>,
    scratch: Vec<u64>,
    ends: Vec<u32>,
    contents: Vec<Content>,
    transitions: Vec<Transition>,
    origin: u64,
    length: u64,
}

impl Changes {
    /// Drops all changes. New ones lie between `origin` and `end`, less than 2^32 ns apart; earlier ones are moved to
    /// the origin.
    pub(crate) fn restart(&mut self, origin: u64, end: u64) {
        self.order.clear();
        self.contents.clear();
        self.transitions.clear();
        self.origin = origin;
        self.length = end - origin;
    }

    #[inline]
    pub(crate) fn push_content(&mut self, at: u64, content: Content) {
        self.order.push(at.saturating_sub(self.origin) << 32 | CONTENT | self.contents.len() as u64);
        self.contents.push(content);
    }

    pub(crate) fn push_transition(&mut self, at: u64, transition: Transition) {
        let rank = if transition.is_end() { END } else { BEGIN };
        self.order.push(at.saturating_sub(self.origin) << 32 | rank | self.transitions.len() as u64);
        self.transitions.push(transition);
    }

    /// Sorts them by time.
    pub(crate) fn sort(&mut self) {
        sort(&mut self.order, self.length, &mut self.scratch, &mut self.ends);
    }

    /// Runs of contents, each with the transition that ends it; the last may have none.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (Run<'_>, Option<(u64, &Transition)>)> {
        let mut rest = self.order.as_slice();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let length = rest.iter().position(|place| place & CONTENT == 0).unwrap_or(rest.len());
            let (order, after) = rest.split_at(length);
            let transition =
                after.first().map(|place| (self.origin + (place >> 32), &self.transitions[number(*place)]));
            rest = after.get(1..).unwrap_or_default();
            Some((Run { order, contents: &self.contents, origin: self.origin }, transition))
        })
    }
}

fn number(place: u64) -> usize {
    (place & NUMBERS) as usize
}

/// Contents with no transition between them.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    order: &'a [u64],
    contents: &'a [Content],
    origin: u64,
}

impl<'a> Run<'a> {
    pub(crate) fn is_empty(self) -> bool {
        self.order.is_empty()
    }

    #[inline]
    pub(crate) fn iter(self) -> impl Iterator<Item = (u64, &'a Content)> {
        self.order.iter().map(move |place| (self.origin + (place >> 32), &self.contents[number(*place)]))
    }
}

/// Sorts numbers whose upper halves are below `limit`: into buckets of equal width, then within each.
fn sort(numbers: &mut Vec<u64>, limit: u64, scratch: &mut Vec<u64>, ends: &mut Vec<u32>) {
    let widest = limit.saturating_sub(1);
    let buckets = (numbers.len() * BUCKETS_EACH).next_power_of_two();
    let shift = 32 + (64 - widest.leading_zeros()).saturating_sub(buckets.trailing_zeros());
    let bucket = |number: u64| (number >> shift) as usize;
    ends.clear();
    ends.resize(buckets, 0);
    scratch.resize(numbers.len(), 0);
    numbers.iter().for_each(|&number| ends[bucket(number)] += 1);
    let (mut begin, mut fullest) = (0, 0);
    for end in ends.iter_mut() {
        fullest = fullest.max(*end);
        begin += std::mem::replace(end, begin);
    }
    if fullest > FULLEST {
        numbers.sort_unstable();
        return;
    }
    for &number in &*numbers {
        let place = &mut ends[bucket(number)];
        scratch[*place as usize] = number;
        *place += 1;
    }
    std::mem::swap(numbers, scratch);
    for at in 1..numbers.len() {
        let number = numbers[at];
        let mut free = at;
        while free > 0 && numbers[free - 1] > number {
            numbers[free] = numbers[free - 1];
            free -= 1;
        }
        numbers[free] = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted() {
        let mut state = 7_u64;
        let mut draw = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        for (count, widest) in [(0, 1), (1, 1), (2, 1), (5000, 1 << 31), (5000, 300), (300, 1), (70, 1 << 20)] {
            let mut numbers: Vec<u64> = (0..count).map(|number| ((draw() % widest) << 32) | number).collect();
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            sort(&mut numbers, widest, &mut Vec::new(), &mut Vec::new());
            assert_eq!(numbers, sorted);
        }
    }
}
