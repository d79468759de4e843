//! A thread that computes records, and its mailbox.
//!
//! Record threads run under SCHED_IDLE. On two cores, one busy thread beside a thousand streams then adds 0.2 ms to the
//! mean read; with nice, it adds 0.6 to 1.4 ms. Such a thread may lose its core for seconds, at any instruction. So it
//! must not hold anything that other threads wait for: they only try the lock of its mailbox, and the coordinator
//! computes a batch that it does not finish.

use crate::recording::batch::{Batch, Claimant};
use crate::recording::batch_ring::BatchRing;
use crate::recording::courtesy;
use crate::recording::recorder::{RecordTotals, Recorder, RunningStats, StatsRequest};
use aiperf_transport::sys;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The sleeps of an idle thread. They become longer, so that many idle threads do not disturb workers.
const SHORTEST_SLEEP: Duration = Duration::from_millis(2);
const LONGEST_SLEEP: Duration = Duration::from_millis(16);

/// The requests of the coordinator to one record thread, and its answers.
#[derive(Default)]
pub(crate) struct Mailbox {
    /// The latest request for statistics.
    asked: AtomicU64,
    /// The latest statistics that were not taken yet, with their request.
    stats: Mutex<Option<(StatsRequest, RunningStats)>>,
    closed: AtomicBool,
}

impl Mailbox {
    pub(crate) fn ask(&self, request: StatsRequest) {
        self.asked.store(request.bits(), Relaxed);
    }

    fn asked(&self) -> StatsRequest {
        StatsRequest::from_bits(self.asked.load(Relaxed))
    }

    /// The latest statistics that were not taken yet; `None` while the thread stores new ones.
    pub(crate) fn try_take_stats(&self) -> Option<(StatsRequest, RunningStats)> {
        self.stats.try_lock().ok()?.take()
    }

    /// Stores statistics. Earlier ones that were not taken yet are updated: they may be of another request.
    fn put_stats(&self, asked: StatsRequest, newer: RunningStats) {
        let mut slot = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stats = slot.take().map(|(_, earlier)| earlier).unwrap_or_default();
        stats.update(newer);
        *slot = Some((asked, stats));
    }
}

/// The mailboxes of all record threads. Dropping them closes them, which ends the threads.
#[derive(Default)]
pub(crate) struct Mailboxes(Vec<Arc<Mailbox>>);

impl Mailboxes {
    pub(crate) fn add(&mut self) -> Arc<Mailbox> {
        let mailbox = Arc::new(Mailbox::default());
        self.0.push(mailbox.clone());
        mailbox
    }
}

impl Deref for Mailboxes {
    type Target = [Arc<Mailbox>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Drop for Mailboxes {
    fn drop(&mut self) {
        self.0.iter().for_each(|mailbox| mailbox.closed.store(true, Release));
    }
}

/// Works at the lowest priority until the mailbox is closed and the ring is empty.
pub(crate) fn run(mut recorder: Recorder, mailbox: &Mailbox, ring: &BatchRing) -> RecordTotals {
    // If the kernel refuses, the thread keeps normal priority: reads are slower, results are the same.
    let _ = sys::set_idle_priority();
    courtesy::begin();
    let mut latest = StatsRequest::default();
    let mut sleep = SHORTEST_SLEEP;
    loop {
        let asked = mailbox.asked();
        if asked != latest {
            latest = asked;
            mailbox.put_stats(asked, recorder.running_stats(asked));
        }
        // Read before the batches: the mailbox is closed after the last one was offered.
        let closed = mailbox.closed.load(Acquire);
        match ring.take() {
            Some(batch) => {
                work(&mut recorder, &batch);
                sleep = SHORTEST_SLEEP;
            }
            None if closed => break,
            None => {
                recorder.sweep();
                std::thread::sleep(sleep);
                sleep = (sleep * 2).min(LONGEST_SLEEP);
            }
        }
    }
    recorder.into_totals()
}

/// Computes a batch that was taken from the ring. Its records are stored before it is claimed. The coordinator does not
/// claim a batch with records, so exactly one of the two adds them up, wherever this thread is interrupted.
pub(crate) fn work(recorder: &mut Recorder, batch: &Batch) {
    // If this panics, the coordinator computes the batch, as if this thread had no core.
    if let Ok(Some(computed)) = recorder.compute_safely(batch, Claimant::Coordinator) {
        let _ = batch.computed.set(computed);
        if batch.claim(Claimant::Taker) {
            recorder.add_up_safely(batch);
        }
    }
}
