//! Values on their way from several threads to one. Neither end ever waits for the other.
//!
//! A worker may have real-time priority. If it spun until another thread finishes a step, and that thread waited for the
//! same core, both would stand still: the senders of `std::sync::mpsc` spin in this way. Here each worker has a lane of
//! two slots. The receiver locks at most one of them at a time, so the worker always finds the other one free.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::vec::IntoIter;

/// The sending ends, one per worker.
pub(crate) struct Lanes<T>(Arc<[[Mutex<Vec<T>>; 2]]>);

/// The receiving end.
pub(crate) struct Arrivals<T> {
    lanes: Lanes<T>,
    /// Values that were taken from the lanes, each list in the order of its lane.
    taken: Vec<IntoIter<T>>,
}

pub(crate) fn lanes<T>(workers: usize) -> (Lanes<T>, Arrivals<T>) {
    let lanes: Arc<[_]> = (0..workers).map(|_| Default::default()).collect();
    (Lanes(lanes.clone()), Arrivals { lanes: Lanes(lanes), taken: Vec::new() })
}

fn lock<T>(slot: &Mutex<Vec<T>>) -> Option<MutexGuard<'_, Vec<T>>> {
    match slot.try_lock() {
        Ok(values) => Some(values),
        Err(TryLockError::Poisoned(values)) => Some(values.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<T> Lanes<T> {
    /// Adds a value to the lane of a worker. Only this worker adds values to it.
    pub(crate) fn push(&self, worker: usize, value: T) {
        // A second round is needed only if the receiver went from one slot to the other in between.
        let mut free = loop {
            if let Some(free) = self.0[worker].iter().find_map(lock) {
                break free;
            }
        };
        free.push(value);
    }

    /// Whether the receiver is gone.
    pub(crate) fn is_closed(&self) -> bool {
        Arc::strong_count(&self.0) < 2
    }
}

impl<T: Ord> Arrivals<T> {
    /// The smallest of the values that were taken from the lanes together; `None` if nothing has arrived.
    pub(crate) fn try_next(&mut self) -> Option<T> {
        if self.taken.is_empty() {
            let slots = self.lanes.0.iter().flatten();
            let taken = slots.filter_map(|slot| lock(slot).map(|mut values| std::mem::take(&mut *values)));
            self.taken.extend(taken.filter(|values| !values.is_empty()).map(Vec::into_iter));
        }
        let heads = self.taken.iter().map(|values| values.as_slice().first()).enumerate();
        let (at, _) = heads.min_by(|one, two| one.1.cmp(&two.1))?;
        let next = self.taken[at].next();
        if self.taken[at].as_slice().is_empty() {
            self.taken.swap_remove(at);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_arrive_in_order_once_each() {
        let (lanes, mut arrivals) = lanes(2);
        [(0, 1), (1, 2), (0, 3), (1, 4), (0, 5)].iter().for_each(|(lane, value)| lanes.push(*lane, *value));
        let arrived: Vec<i32> = std::iter::from_fn(|| arrivals.try_next()).collect();
        assert_eq!(arrived, [1, 2, 3, 4, 5]);
        assert!(!lanes.is_closed());
        drop(arrivals);
        assert!(lanes.is_closed());
    }

    #[test]
    fn a_worker_goes_on_while_the_receiver_stands_still() {
        let (lanes, mut arrivals) = lanes(1);
        for slot in 0..2 {
            let held = lanes.0[0][slot].lock().unwrap();
            lanes.push(0, slot);
            drop(held);
        }
        assert_eq!((arrivals.try_next(), arrivals.try_next(), arrivals.try_next()), (Some(0), Some(1), None));
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        let (lanes, mut arrivals) = lanes(3);
        let lanes = &lanes;
        let sum = std::thread::scope(|scope| {
            (0..3).for_each(|worker| {
                scope.spawn(move || (0..10_000).for_each(|value: u64| lanes.push(worker, value)));
            });
            let mut arrived = std::iter::repeat_with(|| arrivals.try_next()).flatten();
            (0..30_000).filter_map(|_| arrived.next()).sum::<u64>()
        });
        assert_eq!(sum, 3 * (0..10_000).sum::<u64>());
    }
}
