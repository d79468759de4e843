//! The batches that wait for a record thread. The coordinator offers them in order, and each record thread takes the
//! next one when it has computed its last. So a thread without a core holds up one batch.
//!
//! A record thread may lose its core at any instruction, also in here. No thread waits for it: slots are only tried,
//! and the coordinator computes the batches that no thread takes or finishes.

use crate::recording::batch::Batch;
use aiperf_transport::clock::mono_now;
use std::sync::atomic::{AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, Mutex};

pub(crate) struct BatchRing {
    slots: Box<[Mutex<Option<Arc<Batch>>>]>,
    /// The position of the next batch to take.
    next: AtomicU64,
    /// The position after the last batch.
    end: AtomicU64,
}

impl BatchRing {
    /// For `room` batches.
    pub(crate) fn new(room: usize) -> Self {
        let slots = (0..room.max(1)).map(|_| Mutex::default()).collect();
        Self { slots, next: AtomicU64::new(0), end: AtomicU64::new(0) }
    }

    /// How many batches have room.
    pub(crate) fn room(&self) -> usize {
        self.slots.len()
    }

    fn slot(&self, position: u64) -> &Mutex<Option<Arc<Batch>>> {
        &self.slots[(position % self.slots.len() as u64) as usize]
    }

    /// Offers a batch, and returns its position. Only the coordinator does, and only if the batch that it offered
    /// [`Self::room`] batches ago is finished. If a thread has the slot, no thread can take the batch.
    pub(crate) fn offer(&self, batch: &Arc<Batch>) -> u64 {
        let end = self.end.load(Acquire);
        if let Ok(mut slot) = self.slot(end).try_lock() {
            *slot = Some(batch.clone());
        }
        self.end.store(end + 1, Release);
        end
    }

    /// Removes a batch that was finished without being taken. Otherwise its slot would keep its exchanges in memory.
    pub(crate) fn remove(&self, position: u64) {
        if let Ok(mut slot) = self.slot(position).try_lock() {
            *slot = None;
        }
    }

    /// Takes the oldest batch that no thread has taken. If this thread was without a core meanwhile, a later one.
    pub(crate) fn take(&self) -> Option<Arc<Batch>> {
        loop {
            let (next, end) = (self.next.load(Acquire), self.end.load(Acquire));
            // Earlier ones are finished.
            let oldest = next.max(end.saturating_sub(self.slots.len() as u64));
            if oldest >= end {
                return None;
            }
            if self.next.compare_exchange_weak(next, oldest + 1, AcqRel, Acquire).is_err() {
                continue;
            }
            // The slot may be empty, or hold a later batch. Batches are claimed, so no record counts twice.
            let batch = self.slot(oldest).try_lock().ok().and_then(|mut slot| slot.take());
            if let Some(batch) = batch {
                batch.note_taken(mono_now());
                return Some(batch);
            }
        }
    }

    /// Takes a position and not its batch, like a thread that loses its core in between.
    #[cfg(test)]
    pub(crate) fn skip(&self) {
        self.next.fetch_add(1, AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::batch::Claimant;
    use std::collections::VecDeque;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    fn batch(number: u64) -> Arc<Batch> {
        Arc::new(Batch::new(number, Vec::new(), Arc::default()))
    }

    #[test]
    fn batches_are_taken_in_order_once_each() {
        let ring = BatchRing::new(4);
        assert!(ring.take().is_none());
        for round in 0..5 {
            (0..4).for_each(|number| assert_eq!(ring.offer(&batch(4 * round + number)), 4 * round + number));
            for number in 0..4 {
                let taken = ring.take().unwrap();
                assert!(taken.number == 4 * round + number && taken.taken_at().is_some());
            }
            assert!(ring.take().is_none());
        }
    }

    #[test]
    fn a_locked_slot_costs_its_own_batch_only() {
        let ring = BatchRing::new(2);
        let held = ring.slots[0].lock().unwrap();
        assert_eq!([0, 1].map(|number| ring.offer(&batch(number))), [0, 1]);
        assert_eq!(ring.take().map(|batch| batch.number), Some(1));
        assert!(ring.take().is_none());
        drop(held);
        ring.offer(&batch(2));
        assert_eq!(ring.take().map(|batch| batch.number), Some(2));
    }

    #[test]
    fn positions_that_no_thread_took_are_passed_at_once() {
        let ring = BatchRing::new(2);
        assert_eq!((0..10_001).map(|number| ring.offer(&batch(number))).max(), Some(10_000));
        assert_eq!(ring.take().map(|batch| batch.number), Some(9_999));
        ring.remove(10_000);
        assert!(ring.take().is_none());
    }

    #[test]
    fn threads_that_take_at_once_get_each_batch_at_most_once_and_nearly_all() {
        const BATCHES: u64 = 20_000;
        let (ring, is_over) = (BatchRing::new(64), AtomicBool::new(false));
        let work = || {
            let mut taken = Vec::new();
            while !is_over.load(Relaxed) {
                if let Some(batch) = ring.take() {
                    batch.claim(Claimant::Taker);
                    taken.push(batch.number);
                }
            }
            taken
        };
        let (taken, left) = std::thread::scope(|scope| {
            let threads = [0; 3].map(|_| scope.spawn(work));
            let (mut offered, mut left) = (VecDeque::new(), 0);
            for number in 0..BATCHES {
                if offered.len() == ring.room() {
                    // As the coordinator does: the oldest is computed here if no thread has it.
                    let oldest: Arc<Batch> = offered.pop_front().unwrap();
                    left += u64::from(oldest.claim(Claimant::Coordinator));
                }
                let batch = batch(number);
                ring.offer(&batch);
                offered.push_back(batch);
            }
            left += offered.iter().map(|batch| u64::from(batch.claim(Claimant::Coordinator))).sum::<u64>();
            is_over.store(true, Relaxed);
            (threads.map(|thread| thread.join().unwrap()).concat(), left)
        });
        let mut once = taken.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), taken.len(), "no batch is taken twice");
        assert!(taken.len() as u64 + left >= BATCHES, "{} and {left}", taken.len());
    }
}
