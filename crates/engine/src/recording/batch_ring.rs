//! The batches that wait for a record thread. The coordinator offers them in order, and each record thread takes the next
//! one when it has computed its last. So a thread without a core holds up one batch, and not all that were meant for it.
//!
//! A record thread may lose its core at any instruction, also in here. The coordinator then finds a slot locked and
//! computes that batch itself, and other threads take later batches: none of them waits.

use crate::recording::batch::Batch;
use aiperf_transport::clock::mono_now;
use std::sync::atomic::{AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) struct BatchRing {
    slots: Box<[Mutex<Option<Arc<Batch>>>]>,
    /// The position of the next batch to take.
    next: AtomicU64,
    /// The position after the last batch.
    end: AtomicU64,
}

impl BatchRing {
    /// With room for so many batches.
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

    /// Offers a batch. Only the coordinator does, and only if fewer than [`Self::room`] of the batches that it offered
    /// are unfinished. Returns `false`, without offering it, while a thread has its slot.
    pub(crate) fn offer(&self, batch: &Arc<Batch>) -> bool {
        let end = self.end.load(Acquire);
        let Ok(mut slot) = self.slot(end).try_lock() else { return false };
        *slot = Some(batch.clone());
        drop(slot);
        self.end.store(end + 1, Release);
        true
    }

    /// Takes a position and not its batch: the thread has no core any more.
    #[cfg(test)]
    pub(crate) fn skip(&self) {
        self.next.fetch_add(1, AcqRel);
    }

    /// Takes the oldest batch that no thread has taken.
    pub(crate) fn take(&self) -> Option<Arc<Batch>> {
        loop {
            let next = self.next.load(Acquire);
            if next >= self.end.load(Acquire) {
                return None;
            }
            if self.next.compare_exchange_weak(next, next + 1, AcqRel, Acquire).is_err() {
                continue;
            }
            // If the coordinator computed the batch meanwhile, the slot may hold a later one, or none if another thread
            // was here before. Batches are claimed, so no record counts twice.
            let batch = self.slot(next).lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(batch) = batch {
                batch.note_taken(mono_now());
                return Some(batch);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    fn batch(number: u64) -> Arc<Batch> {
        Arc::new(Batch::new(number, Vec::new(), Arc::default()))
    }

    #[test]
    fn batches_are_taken_in_order_once_each() {
        let ring = BatchRing::new(4);
        assert!(ring.take().is_none());
        for round in 0..5 {
            (0..4).for_each(|number| assert!(ring.offer(&batch(4 * round + number))));
            for number in 0..4 {
                let taken = ring.take().unwrap();
                assert!(taken.number == 4 * round + number && taken.taken_at().is_some());
            }
            assert!(ring.take().is_none());
        }
    }

    #[test]
    fn a_batch_is_not_offered_while_a_thread_stands_in_its_slot() {
        let ring = BatchRing::new(2);
        let held = ring.slots[0].lock().unwrap();
        assert!(!ring.offer(&batch(0)));
        drop(held);
        assert!(ring.offer(&batch(1)));
        assert_eq!(ring.take().map(|batch| batch.number), Some(1));
    }

    #[test]
    fn threads_that_take_at_once_get_each_batch_once() {
        const BATCHES: u64 = 20_000;
        let (ring, sum, count) = (BatchRing::new(64), AtomicU64::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while count.load(Relaxed) < BATCHES as usize {
                        if let Some(batch) = ring.take() {
                            sum.fetch_add(batch.number, Relaxed);
                            count.fetch_add(1, Relaxed);
                        }
                    }
                });
            }
            let mut offered = 0;
            while offered < BATCHES {
                let unfinished = offered - count.load(Relaxed) as u64;
                if unfinished < ring.room() as u64 && ring.offer(&batch(offered)) {
                    offered += 1;
                }
            }
        });
        assert_eq!(sum.into_inner(), BATCHES * (BATCHES - 1) / 2);
    }
}
