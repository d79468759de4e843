//! Turns that wait: for their time, or for a slot.

use crate::dispatcher::Dispatcher;
use aiperf_types::MonoNs;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Turns that go out after a time, by when they are due; of equal ones, the one that came first.
#[derive(Debug, Default)]
pub(crate) struct DelayedTurns {
    heap: BinaryHeap<Reverse<(MonoNs, u64, u64)>>,
    pushed: u64,
}

impl DelayedTurns {
    /// The next turn of a session is due then.
    pub(crate) fn push(&mut self, due: MonoNs, session: u64) {
        self.heap.push(Reverse((due, self.pushed, session)));
        self.pushed += 1;
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<MonoNs> {
        self.heap.peek().map(|Reverse((due, ..))| *due)
    }

    /// How many are due by an instant.
    pub(crate) fn due_by(&self, instant: MonoNs) -> u64 {
        self.heap.iter().filter(|Reverse((due, ..))| *due <= instant).count() as u64
    }

    /// Takes the next one out, if it is due by now: when it was due, and its session.
    pub(crate) fn pop_due(&mut self, now: MonoNs) -> Option<(MonoNs, u64)> {
        self.next().filter(|due| *due <= now)?;
        self.heap.pop().map(|Reverse((due, _, session))| (due, session))
    }
}

/// Requests that have all they need but a slot for their prefill, first come first served.
#[derive(Debug, Default)]
pub(crate) struct PrefillQueue {
    queue: VecDeque<(u64, MonoNs)>,
}

impl PrefillQueue {
    /// How many wait.
    pub(crate) fn len(&self) -> u64 {
        self.queue.len() as u64
    }

    /// Sends those that find a slot.
    pub(crate) fn send(&mut self, out: &mut Dispatcher<'_>) {
        while let Some((session, intended)) = self.queue.front().copied()
            && out.may_send()
            && let Some(prefill) = out.slots.prefills.take()
        {
            self.queue.pop_front();
            out.send(session, intended, prefill);
        }
    }

    /// Sends the next turn of a session, or lets it wait behind those that do.
    pub(crate) fn send_or_queue(&mut self, session: u64, intended: MonoNs, out: &mut Dispatcher<'_>) {
        self.queue.push_back((session, intended));
        self.send(out);
    }
}
