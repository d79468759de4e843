//! A thread that computes records, and the desk over which it gets its work.
//!
//! Record threads run under SCHED_IDLE: on two cores, one busy thread beside a thousand streams adds 0.2 ms to the mean
//! read so, and 0.6 to 1.4 ms when merely nice. Such a thread may get no core for seconds, at any instruction. So it holds
//! nothing that others wait for: its desk is only ever tried, never waited for, and a batch that it does not come to the end
//! of is computed by the coordinator instead.

use crate::queue::{Batch, Claimant};
use crate::recorder::{Findings, LiveByKind, Recorder};
use crate::sinks::Encoded;
use aiperf_transport::sys;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long the thread sleeps when there is nothing to do.
const IDLE_SLEEP: Duration = Duration::from_millis(2);

/// Between the coordinator and one record thread.
#[derive(Default)]
pub(crate) struct Desk {
    inbox: Mutex<VecDeque<Arc<Batch>>>,
    outbox: Mutex<Vec<Reply>>,
    /// Number of the newest question for running statistics.
    asked: AtomicU64,
    closed: AtomicBool,
}

/// What a record thread answers.
pub(crate) enum Reply {
    /// The records of a batch in bytes.
    Encoded { batch: u64, encoded: Encoded },
    /// The metrics so far, in answer to a question.
    Live { asked: u64, live: Box<LiveByKind> },
}

impl Desk {
    /// Hands over a batch; `false` when the thread is just taking one.
    pub(crate) fn try_hand(&self, batch: &Arc<Batch>) -> bool {
        self.inbox.try_lock().is_ok_and(|mut inbox| {
            inbox.push_back(batch.clone());
            true
        })
    }

    /// What the thread has answered; nothing when it is just answering.
    pub(crate) fn try_collect(&self, replies: &mut Vec<Reply>) {
        if let Ok(mut outbox) = self.outbox.try_lock() {
            replies.append(&mut outbox);
        }
    }

    pub(crate) fn ask(&self, number: u64) {
        self.asked.store(number, Relaxed);
    }

    /// Nothing more will be handed over.
    pub(crate) fn close(&self) {
        self.closed.store(true, Release);
    }

    pub(crate) fn take(&self) -> Option<Arc<Batch>> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub(crate) fn answer(&self, reply: Reply) {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner).push(reply);
    }
}

/// Works at the lowest priority until the desk is closed and empty.
pub(crate) fn run(mut recorder: Recorder, desk: &Desk) -> Findings {
    // A kernel that refuses leaves the thread at normal priority: slower reads, same results.
    let _ = sys::set_idle_priority();
    let mut answered = 0;
    loop {
        let asked = desk.asked.load(Relaxed);
        if asked != answered {
            answered = asked;
            desk.answer(Reply::Live { asked, live: Box::new(recorder.live()) });
        }
        // Looked at before the inbox: a desk is closed after the last batch was put there.
        let closed = desk.closed.load(Acquire);
        match desk.take() {
            Some(batch) => work(&mut recorder, desk, &batch),
            None if closed => break,
            None => {
                recorder.sweep();
                std::thread::sleep(IDLE_SLEEP);
            }
        }
    }
    recorder.into_findings()
}

/// Computes a batch. The answer goes out before the claim: once the coordinator has it, it never claims the batch itself,
/// so exactly one of both adds the records up, wherever this thread is interrupted.
pub(crate) fn work(recorder: &mut Recorder, desk: &Desk, batch: &Batch) {
    if let Some(encoded) = recorder.compute(batch, Claimant::Coordinator) {
        desk.answer(Reply::Encoded { batch: batch.number, encoded });
        if batch.claim(Claimant::RecordThread) {
            recorder.add_up(batch);
        }
    }
}
