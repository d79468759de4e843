//! Up to which number every record is in.

use std::collections::VecDeque;

/// How far ahead of the first number that is missing another may be: further than any run has requests in flight.
const FURTHEST: u64 = 1 << 24;

/// Up to which number every record is in, and when that one was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    next: u64,
    sent: u64,
    /// Numbers that came in since the last look, with when they were sent.
    fresh: Vec<(u64, u64)>,
    /// When `next` and those after it were sent, of those that are in.
    ahead: VecDeque<Option<u64>>,
}

impl Order {
    /// Adds numbers, with when each was sent.
    pub(crate) fn add(&mut self, sent: &mut Vec<(u64, u64)>) {
        self.fresh.append(sent);
    }

    /// Sees how far records are complete by now: no request that is missing was sent before the instant this gives.
    pub(crate) fn catch_up(&mut self) -> u64 {
        for (number, sent) in self.fresh.drain(..) {
            let Some(place) = number.checked_sub(self.next).filter(|&place| place < FURTHEST) else { continue };
            let place = place as usize;
            if self.ahead.len() <= place {
                self.ahead.resize(place + 1, None);
            }
            self.ahead[place] = Some(sent);
        }
        while let Some(&Some(sent)) = self.ahead.front() {
            self.ahead.pop_front();
            self.next += 1;
            self.sent = self.sent.max(sent);
        }
        self.sent
    }

    /// Waits no longer for what was sent before an instant.
    pub(crate) fn skip_to(&mut self, limit: u64) {
        let last = self.ahead.iter().rposition(|sent| sent.is_some_and(|sent| sent < limit));
        let skipped = last.map_or(0, |last| last + 1);
        self.ahead.drain(..skipped).flatten().for_each(|sent| self.sent = self.sent.max(sent));
        self.next += skipped as u64;
    }

    /// Bytes held, roughly.
    pub(crate) fn size(&self) -> usize {
        (self.fresh.capacity() + self.ahead.capacity()) * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_never_comes_is_skipped_with_all_that_were_sent_by_then() {
        let mut order = Order::default();
        order.add(&mut vec![(0, 10), (2, 30), (4, 50), (5, 60)]);
        assert_eq!(order.catch_up(), 10);
        order.skip_to(55);
        assert_eq!((order.next, order.catch_up(), order.ahead.len()), (5, 60, 0));
        // One that was skipped changes nothing when it comes after all.
        order.add(&mut vec![(1, 20), (6, 70)]);
        assert_eq!((order.catch_up(), order.next), (70, 7));
    }

    #[test]
    fn nothing_is_skipped_that_was_sent_later() {
        let mut order = Order::default();
        order.add(&mut vec![(1, 20)]);
        assert_eq!(order.catch_up(), 0);
        order.skip_to(20);
        assert_eq!((order.next, order.catch_up()), (0, 0));
    }
}
