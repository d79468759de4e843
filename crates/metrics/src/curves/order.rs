//! Up to which request all requests are known.

use std::collections::VecDeque;

/// How far ahead of the first missing number another may be: farther than any run has requests in flight.
const FURTHEST: u64 = 1 << 24;

/// A known request: its phase among those that are swept together, its number there, and when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) phase: u16,
    pub(crate) number: u64,
    pub(crate) at: u64,
}

/// Up to which request all are known, and when that one was sent. Requests are sent in the order of their phases, and
/// within a phase in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    phases: Vec<PhaseOrder>,
    /// The first phase with missing requests.
    current: usize,
    sent: u64,
    /// Requests that became known since the last call of `catch_up`.
    fresh: Vec<Sent>,
}

#[derive(Clone, Debug, Default)]
struct PhaseOrder {
    next: u64,
    /// When `next` and later requests were sent; `None` if unknown.
    ahead: VecDeque<Option<u64>>,
    /// How many are known.
    known: u64,
    /// How many there will be, once the phase has ended.
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

    /// Skips `count` numbers; returns when the last known one of them was sent.
    fn pass(&mut self, count: usize) -> Option<u64> {
        self.next += count as u64;
        self.ahead.drain(..count).flatten().max()
    }

    /// Advances as far as every number is known. Once the phase has ended, advances as far as any is: a missing number
    /// was never sent.
    fn catch_up(&mut self) -> Option<u64> {
        let all = self.ahead.len();
        let count = if self.is_complete() { all } else { self.ahead.iter().position(Option::is_none).unwrap_or(all) };
        self.pass(count)
    }
}

impl Order {
    /// Adds known requests.
    pub(crate) fn add(&mut self, sent: &mut Vec<Sent>) {
        self.fresh.append(sent);
    }

    /// A phase has ended, with `total` requests.
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

    /// Advances as far as requests are known. Returns an instant: no missing request was sent before it.
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

    /// Stops waiting for requests sent before an instant.
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
    fn a_number_that_never_arrives_is_skipped_with_all_that_were_sent_by_then() {
        let mut order = Order::default();
        order.add(&mut sent(0, &[(0, 10), (2, 30), (4, 50), (5, 60)]));
        assert_eq!(order.catch_up(), 10);
        order.skip_to(55);
        assert_eq!((order.phases[0].next, order.catch_up(), order.phases[0].ahead.len()), (5, 60, 0));
        // A skipped number that arrives later changes nothing.
        order.add(&mut sent(0, &[(1, 20), (6, 70)]));
        assert_eq!((order.catch_up(), order.phases[0].next), (70, 7));
    }

    #[test]
    fn requests_sent_later_are_not_skipped() {
        let mut order = Order::default();
        order.add(&mut sent(0, &[(1, 20)]));
        assert_eq!(order.catch_up(), 0);
        order.skip_to(20);
        assert_eq!((order.phases[0].next, order.catch_up()), (0, 0));
    }

    #[test]
    fn a_later_phase_waits_for_requests_in_flight_of_an_earlier_one() {
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
    fn numbers_that_were_never_sent_do_not_block_once_their_phase_has_ended() {
        let mut order = Order::default();
        order.add(&mut sent(0, &[(0, 10), (3, 30)]));
        order.add(&mut sent(2, &[(0, 90)]));
        order.set_total(0, 2);
        assert_eq!(order.catch_up(), 30);
        // A phase without requests.
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
