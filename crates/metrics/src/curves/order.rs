//! Up to which request every one is known.

use std::collections::VecDeque;

/// How far ahead of the first number that is missing another may be: further than any run has requests in flight.
const FURTHEST: u64 = 1 << 24;

/// A request that is known: its phase among those that are swept together, its number there, and when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) phase: u16,
    pub(crate) number: u64,
    pub(crate) at: u64,
}

/// Up to which request every one is known, and when that one was sent. Requests are sent in the order of their phases,
/// and within a phase in that of their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    phases: Vec<PhaseOrder>,
    /// The first phase of which requests may be missing.
    current: usize,
    sent: u64,
    /// Requests that became known since the last look.
    fresh: Vec<Sent>,
}

/// The requests of one phase.
#[derive(Clone, Debug, Default)]
struct PhaseOrder {
    next: u64,
    /// When `next` and those after it were sent, of those that are known.
    ahead: VecDeque<Option<u64>>,
    /// How many are known.
    known: u64,
    /// How many ever will be, once the phase is over.
    total: Option<u64>,
}

impl PhaseOrder {
    fn add(&mut self, number: u64, at: u64) {
        self.known += 1;
        let Some(place) = number.checked_sub(self.next).filter(|&place| place < FURTHEST) else { return };
        let place = place as usize;
        if self.ahead.len() <= place {
            self.ahead.resize(place + 1, None);
        }
        self.ahead[place] = Some(at);
    }

    fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| self.known >= total)
    }

    /// Passes over so many numbers; gives when the last of them was sent, of those that are known.
    fn pass(&mut self, count: usize) -> Option<u64> {
        self.next += count as u64;
        self.ahead.drain(..count).flatten().max()
    }

    /// Goes on as far as every number is known; once the phase is over, as far as any is: what is missing then was
    /// never sent.
    fn catch_up(&mut self) -> Option<u64> {
        let all = self.ahead.len();
        let count = if self.is_complete() { all } else { self.ahead.iter().position(Option::is_none).unwrap_or(all) };
        self.pass(count)
    }
}

impl Order {
    /// Adds requests that are known.
    pub(crate) fn add(&mut self, sent: &mut Vec<Sent>) {
        self.fresh.append(sent);
    }

    /// A phase is over, and so many of its requests will be known.
    pub(crate) fn set_total(&mut self, phase: u16, total: u64) {
        self.phase(phase).total = Some(total);
    }

    fn phase(&mut self, phase: u16) -> &mut PhaseOrder {
        let phase = usize::from(phase);
        if self.phases.len() <= phase {
            self.phases.resize_with(phase + 1, PhaseOrder::default);
        }
        &mut self.phases[phase]
    }

    /// Sees how far requests are known by now: none that is missing was sent before the instant this gives.
    pub(crate) fn catch_up(&mut self) -> u64 {
        for Sent { phase, number, at } in std::mem::take(&mut self.fresh) {
            if usize::from(phase) >= self.current {
                self.phase(phase).add(number, at);
            }
        }
        while let Some(phase) = self.phases.get_mut(self.current) {
            self.sent = self.sent.max(phase.catch_up().unwrap_or(0));
            if !phase.is_complete() || self.current + 1 == self.phases.len() {
                break;
            }
            self.current += 1;
        }
        self.sent
    }

    /// Waits no longer for what was sent before an instant.
    pub(crate) fn skip_to(&mut self, limit: u64) {
        for at in self.current..self.phases.len() {
            let phase = &mut self.phases[at];
            if let Some(last) = phase.ahead.iter().rposition(|sent| sent.is_some_and(|sent| sent < limit)) {
                self.sent = self.sent.max(phase.pass(last + 1).unwrap_or(0));
                self.current = at;
            }
        }
    }

    /// Bytes held, roughly.
    pub(crate) fn size(&self) -> usize {
        let ahead: usize = self.phases.iter().map(|phase| phase.ahead.capacity()).sum();
        self.fresh.capacity() * size_of::<Sent>() + ahead * size_of::<Option<u64>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(phase: u16, requests: &[(u64, u64)]) -> Vec<Sent> {
        requests.iter().map(|&(number, at)| Sent { phase, number, at }).collect()
    }

    #[test]
    fn a_number_that_never_comes_is_skipped_with_all_that_were_sent_by_then() {
        let mut order = Order::default();
        order.add(&mut sent(0, &[(0, 10), (2, 30), (4, 50), (5, 60)]));
        assert_eq!(order.catch_up(), 10);
        order.skip_to(55);
        assert_eq!((order.phases[0].next, order.catch_up(), order.phases[0].ahead.len()), (5, 60, 0));
        // One that was skipped changes nothing when it comes after all.
        order.add(&mut sent(0, &[(1, 20), (6, 70)]));
        assert_eq!((order.catch_up(), order.phases[0].next), (70, 7));
    }

    #[test]
    fn nothing_is_skipped_that_was_sent_later() {
        let mut order = Order::default();
        order.add(&mut sent(0, &[(1, 20)]));
        assert_eq!(order.catch_up(), 0);
        order.skip_to(20);
        assert_eq!((order.phases[0].next, order.catch_up()), (0, 0));
    }

    #[test]
    fn a_later_phase_waits_for_what_an_earlier_one_has_in_flight() {
        let mut order = Order::default();
        order.add(&mut sent(1, &[(0, 40), (1, 50)]));
        order.add(&mut sent(0, &[(0, 10), (2, 30)]));
        assert_eq!(order.catch_up(), 10);
        order.add(&mut sent(0, &[(1, 20)]));
        assert_eq!(order.catch_up(), 30, "the first phase may have sent more");
        order.set_total(0, 3);
        assert_eq!(order.catch_up(), 50);
    }

    #[test]
    fn what_a_phase_never_sent_holds_nothing_up_once_it_is_over() {
        let mut order = Order::default();
        order.add(&mut sent(0, &[(0, 10), (3, 30)]));
        order.add(&mut sent(2, &[(0, 90)]));
        order.set_total(0, 2);
        assert_eq!(order.catch_up(), 30);
        // A phase without a single request.
        order.set_total(1, 0);
        assert_eq!(order.catch_up(), 90);
    }

    #[test]
    fn a_phase_that_is_skipped_is_not_waited_for() {
        let mut order = Order::default();
        order.add(&mut sent(0, &[(1, 20)]));
        order.add(&mut sent(1, &[(0, 40), (1, 50), (3, 70)]));
        order.catch_up();
        order.skip_to(60);
        assert_eq!((order.current, order.catch_up()), (1, 50));
        order.add(&mut sent(0, &[(0, 10)]));
        order.add(&mut sent(1, &[(2, 60)]));
        assert_eq!(order.catch_up(), 70);
    }
}
