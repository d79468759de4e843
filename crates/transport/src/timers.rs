//! Deadlines of any length on one absolute timer a worker: a request's total time, the wait before it is cancelled, a
//! pause between two legs.

use crate::cancel::{Cancel, CancelReason};
use crate::clock::{DeadlineTimer, mono_now};
use aiperf_types::MonoNs;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use tokio::sync::Notify;

/// The deadlines of one worker. None passes unless a task waits in [`Timers::keep_time`].
#[derive(Clone, Default)]
pub struct Timers(Rc<Inner>);

#[derive(Default)]
struct Inner {
    queue: RefCell<Queue>,
    /// The earliest deadline is earlier than it was.
    is_earlier: Notify,
}

/// A deadline that counts until it is dropped.
pub struct Deadline {
    timers: Timers,
    place: TimerSlot,
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.timers.0.queue.borrow_mut().remove(self.place);
    }
}

impl Timers {
    /// Stops a request for a reason once an instant has passed.
    pub fn stop_at(&self, at: MonoNs, cancel: &Cancel, reason: CancelReason) -> Deadline {
        let mut queue = self.0.queue.borrow_mut();
        let is_earlier = queue.next().is_none_or(|next| at < next);
        let place = queue.add(at, cancel.clone(), reason);
        drop(queue);
        if is_earlier {
            self.0.is_earlier.notify_one();
        }
        Deadline { timers: self.clone(), place }
    }

    /// Waits for an instant.
    pub async fn sleep_until(&self, at: MonoNs) {
        let alarm = Cancel::default();
        let _deadline = self.stop_at(at, &alarm, CancelReason::TimedOut);
        alarm.stopped().await;
    }

    /// Fires what is due, for ever.
    pub async fn keep_time(&self, mut timer: DeadlineTimer) -> io::Result<()> {
        loop {
            let due = self.0.queue.borrow_mut().take_due(mono_now());
            due.iter().for_each(|(cancel, reason)| cancel.cancel(*reason));
            timer.set(self.0.queue.borrow().next())?;
            let mut is_earlier = pin!(self.0.is_earlier.notified());
            std::future::poll_fn(|cx| match is_earlier.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(Ok(())),
                Poll::Pending => timer.poll_fired(cx),
            })
            .await?;
        }
    }
}

/// The place of a deadline: a slot, and which use of the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TimerSlot {
    slot: u32,
    tenant: u64,
}

/// Deadlines by instant. Nearly all are dropped long before they are due: those stay in the heap until they are half of
/// it, so that a request costs one push and now and then its share of a sweep.
#[derive(Default)]
struct Queue {
    heap: BinaryHeap<Reverse<(MonoNs, TimerSlot)>>,
    slots: Vec<Option<(u64, Cancel, CancelReason)>>,
    free: Vec<u32>,
    tenants: u64,
}

impl Queue {
    fn add(&mut self, at: MonoNs, cancel: Cancel, reason: CancelReason) -> TimerSlot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.tenants += 1;
        let place = TimerSlot { slot, tenant: self.tenants };
        self.slots[slot as usize] = Some((place.tenant, cancel, reason));
        self.heap.push(Reverse((at, place)));
        place
    }

    fn remove(&mut self, place: TimerSlot) {
        if self.counts(place) {
            self.slots[place.slot as usize] = None;
            self.free.push(place.slot);
        }
        let counting = self.slots.len() - self.free.len();
        if self.heap.len() > 2 * counting + 64 {
            let mut heap = std::mem::take(&mut self.heap);
            heap.retain(|Reverse((_, place))| self.counts(*place));
            self.heap = heap;
        }
    }

    fn counts(&self, place: TimerSlot) -> bool {
        self.slots[place.slot as usize].as_ref().is_some_and(|(tenant, ..)| *tenant == place.tenant)
    }

    /// The earliest instant; it may be of a deadline that was dropped.
    fn next(&self) -> Option<MonoNs> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    fn take_due(&mut self, now: MonoNs) -> Vec<(Cancel, CancelReason)> {
        let mut due = Vec::new();
        while let Some(&Reverse((at, place))) = self.heap.peek() {
            let counts = self.counts(place);
            if counts && at > now {
                break;
            }
            self.heap.pop();
            if counts && let Some((_, cancel, reason)) = self.slots[place.slot as usize].take() {
                self.free.push(place.slot);
                due.push((cancel, reason));
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reasons(due: &[(Cancel, CancelReason)]) -> Vec<CancelReason> {
        due.iter().map(|(_, reason)| *reason).collect()
    }

    #[test]
    fn deadlines_of_any_length_fall_due_in_their_order() {
        let mut queue = Queue::default();
        queue.add(MonoNs(30), Cancel::default(), CancelReason::Stopped);
        let dropped = queue.add(MonoNs(10), Cancel::default(), CancelReason::Stopped);
        queue.add(MonoNs(20), Cancel::default(), CancelReason::TimedOut);
        queue.remove(dropped);
        assert_eq!(reasons(&queue.take_due(MonoNs(19))), []);
        assert_eq!(queue.next(), Some(MonoNs(20)));
        assert_eq!(reasons(&queue.take_due(MonoNs(30))), [CancelReason::TimedOut, CancelReason::Stopped]);
        assert_eq!(queue.next(), None);
    }

    proptest! {
        #[test]
        fn what_was_dropped_neither_fires_nor_stays(lengths in proptest::collection::vec(1u64..1000, 1..500)) {
            let mut queue = Queue::default();
            let kept = lengths.len() / 10;
            for (number, length) in lengths.iter().enumerate() {
                let place = queue.add(MonoNs(*length), Cancel::default(), CancelReason::TimedOut);
                if number >= kept {
                    queue.remove(place);
                }
            }
            prop_assert!(queue.heap.len() <= 2 * kept + 65, "{}", queue.heap.len());
            prop_assert_eq!(queue.take_due(MonoNs(1000)).len(), kept);
            prop_assert_eq!((queue.heap.len(), queue.free.len()), (0, queue.slots.len()));
        }
    }
}
