//! Counters of each worker, for listeners. A worker updates them twice per request, at its begin and its end, never
//! while bytes arrive.

use aiperf_types::{Exchange, WorkerProgress};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The counters of one worker, in their own cache lines, so the counters of its neighbours cost it nothing. Only its
/// thread writes them. So a plain store is enough; several writers would need a locked addition.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct WorkerCounters {
    thread: AtomicU32,
    in_flight: AtomicU64,
    completed: AtomicU64,
    failed: AtomicU64,
    bytes_sent: AtomicU64,
    bytes_received: AtomicU64,
}

impl WorkerCounters {
    /// The worker runs on this thread.
    pub(crate) fn settle(&self) {
        self.thread.store(nix::unistd::gettid().as_raw().unsigned_abs(), Relaxed);
    }

    pub(crate) fn begin(&self) {
        add(&self.in_flight, 1);
    }

    pub(crate) fn end(&self) {
        self.in_flight.store(self.in_flight.load(Relaxed).saturating_sub(1), Relaxed);
    }

    /// Counts a finished request. A request that the run itself cut off did not come back, but its bytes count.
    pub(crate) fn take(&self, exchange: &Exchange) {
        let timeline = &exchange.timeline;
        let (mut sent, mut received) = (timeline.bytes_sent, timeline.bytes_received);
        for leg in &timeline.earlier_legs {
            (sent, received) = (sent + leg.bytes_sent, received + leg.bytes_received);
        }
        add(&self.bytes_sent, sent);
        add(&self.bytes_received, received);
        if !exchange.was_cut_off() {
            add(&self.completed, 1);
            if exchange.failure.is_some() || !exchange.is_success() {
                add(&self.failed, 1);
            }
        }
    }

    fn so_far(&self) -> WorkerProgress {
        WorkerProgress {
            thread: self.thread.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
            completed: self.completed.load(Relaxed),
            failed: self.failed.load(Relaxed),
            bytes_sent: self.bytes_sent.load(Relaxed),
            bytes_received: self.bytes_received.load(Relaxed),
        }
    }
}

fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed) + more, Relaxed);
}

/// The counters of all workers, by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct AllCounters {
    counters: Arc<[WorkerCounters]>,
    /// The others appear when they begin.
    at_first: usize,
}

impl AllCounters {
    /// Those of the workers at the start of a run, and of others that may be added.
    pub(crate) fn of(workers: usize, more: usize) -> Self {
        let counters = (0..workers + more).map(|_| WorkerCounters::default()).collect();
        Self { counters, at_first: workers }
    }

    pub(crate) fn so_far(&self) -> Arc<[WorkerProgress]> {
        let (first, others) = self.counters.split_at(self.at_first);
        let first = first.iter().map(WorkerCounters::so_far);
        first.chain(others.iter().map(WorkerCounters::so_far).take_while(|worker| worker.thread > 0)).collect()
    }
}

impl Deref for AllCounters {
    type Target = [WorkerCounters];

    fn deref(&self) -> &[WorkerCounters] {
        &self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::{EarlierLeg, Failure, Timeline};

    #[test]
    fn a_worker_counts_what_came_back_and_the_bytes_of_everything() {
        let counters = AllCounters::of(1, 2);
        counters[1].settle();
        (0..3).for_each(|_| counters[1].begin());
        let timeline = || Timeline { bytes_sent: 10, bytes_received: 100, ..Timeline::default() };
        let redirected = Timeline {
            earlier_legs: vec![EarlierLeg { bytes_sent: 1, bytes_received: 2, ..EarlierLeg::default() }],
            ..timeline()
        };
        let exchanges = [
            Exchange { status: Some(200), timeline: redirected, ..Exchange::default() },
            Exchange { status: Some(503), timeline: timeline(), ..Exchange::default() },
            Exchange { failure: Some(Failure::CutOff), timeline: timeline(), ..Exchange::default() },
        ];
        for exchange in exchanges {
            counters[1].end();
            counters[1].take(&exchange);
        }
        counters[1].begin();
        let [idle, busy] = &*counters.so_far() else { panic!("the third has not begun") };
        assert_eq!(*idle, WorkerProgress::default());
        let thread = nix::unistd::gettid().as_raw().unsigned_abs();
        let expected =
            WorkerProgress { thread, in_flight: 1, completed: 2, failed: 1, bytes_sent: 31, bytes_received: 302 };
        assert_eq!(*busy, expected);
    }
}
