//! A thread that computes records, and the mailbox over which it gets its work.
//!
//! Record threads run under SCHED_IDLE: on two cores, one busy thread beside a thousand streams adds 0.2 ms to the mean
//! read so, and 0.6 to 1.4 ms when merely nice. Such a thread may get no core for seconds, at any instruction. So it
//! holds nothing that others wait for: its mailbox is only ever tried, never waited for, and a batch that it does not
//! come to the end of is computed by the coordinator instead.

use crate::recording::batch::{Batch, Claimant};
use crate::recording::recorder::{Findings, Recorder, RunningStats, StatsRequest};
use aiperf_transport::sys;
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long the thread sleeps when there is nothing to do: longer and longer, so that many idle threads disturb nobody.
const SHORTEST_SLEEP: Duration = Duration::from_millis(2);
const LONGEST_SLEEP: Duration = Duration::from_millis(16);

/// Between the coordinator and one record thread.
#[derive(Default)]
pub(crate) struct Mailbox {
    batches: Mutex<VecDeque<Arc<Batch>>>,
    /// The newest question, and the newest response with the question it answers.
    asked: AtomicU64,
    stats: Mutex<Option<(StatsRequest, RunningStats)>>,
    closed: AtomicBool,
}

impl Mailbox {
    /// Hands over a batch; `false` when the thread is just taking one.
    pub(crate) fn try_hand(&self, batch: &Arc<Batch>) -> bool {
        self.batches.try_lock().is_ok_and(|mut batches| {
            batches.push_back(batch.clone());
            true
        })
    }

    pub(crate) fn take(&self) -> Option<Arc<Batch>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub(crate) fn ask(&self, request: StatsRequest) {
        self.asked.store(request.bits(), Relaxed);
    }

    fn asked(&self) -> StatsRequest {
        StatsRequest::from_bits(self.asked.load(Relaxed))
    }

    /// The newest response that was not taken yet; nothing when the thread is just answering.
    pub(crate) fn try_take_stats(&self) -> Option<(StatsRequest, RunningStats)> {
        self.stats.try_lock().ok()?.take()
    }

    /// One that was not taken yet is brought up to date: it may be to another question.
    fn put_stats(&self, asked: StatsRequest, newer: RunningStats) {
        let mut slot = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stats = slot.take().map(|(_, earlier)| earlier).unwrap_or_default();
        stats.update(newer);
        *slot = Some((asked, stats));
    }
}

/// The mailboxes of all record threads. They are closed when this goes, whatever the reason, so that the threads end.
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

/// Works at the lowest priority until the mailbox is closed and empty.
pub(crate) fn run(mut recorder: Recorder, mailbox: &Mailbox) -> Findings {
    // A kernel that refuses leaves the thread at normal priority: slower reads, same results.
    let _ = sys::set_idle_priority();
    let mut latest = StatsRequest::default();
    let mut sleep = SHORTEST_SLEEP;
    loop {
        let asked = mailbox.asked();
        if asked != latest {
            latest = asked;
            mailbox.put_stats(asked, recorder.running_stats(asked));
        }
        // Looked at before the batches: a mailbox is closed after the last one was put there.
        let closed = mailbox.closed.load(Acquire);
        match mailbox.take() {
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
    recorder.into_findings()
}

/// Computes a batch. Its records are put into it before it is claimed: once the coordinator sees them, it never claims
/// the batch itself, so exactly one of both adds the records up, wherever this thread is interrupted.
pub(crate) fn work(recorder: &mut Recorder, batch: &Batch) {
    // One that broke down is left to the coordinator, as if this thread had got no core.
    if let Ok(Some(computed)) = recorder.compute_safely(batch, Claimant::Coordinator) {
        let _ = batch.computed.set(computed);
        if batch.claim(Claimant::RecordThread) {
            recorder.add_up_safely(batch);
        }
    }
}
