//! Finished exchanges on their way to the record threads. The queue wakes no thread, and no worker ever waits for it.
//! When a budget of bytes or of time is exceeded, the conductor sends nothing new.

use crate::lanes::{Arrivals, Lanes, lanes};
use crate::requests::prompt_counts::PromptHistory;
use aiperf_transport::clock::mono_now;
use aiperf_types::{Exchange, MonoNs, Nanos, PhaseProgress, Read};
use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Acquire};

/// A finished exchange, and the data for counting its prompt.
pub(crate) struct FinishedExchange {
    pub(crate) exchange: Exchange,
    /// Set if the prompt can be counted by what it adds to the prompts before it.
    pub(crate) prompt: Option<Arc<PromptHistory>>,
}

impl FinishedExchange {
    /// Its approximate size in memory.
    pub(crate) fn held(&self) -> usize {
        let exchange = &self.exchange;
        let parsed = exchange.parsed.as_deref().map_or(0, |parsed| {
            let texts = [&parsed.output_text, &parsed.reasoning_text];
            let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
            size_of_val(parsed) + texts + size_of_val(&parsed.content[..])
        });
        let (raw, reads, body) = (&exchange.raw, &exchange.timeline.reads, &exchange.request_body);
        raw.len() + reads.capacity() * size_of::<Read>() + size_of::<Exchange>() + parsed + body.owned()
    }
}

impl From<Exchange> for FinishedExchange {
    fn from(exchange: Exchange) -> Self {
        Self { exchange, prompt: None }
    }
}

impl Deref for FinishedExchange {
    type Target = Exchange;

    fn deref(&self) -> &Exchange {
        &self.exchange
    }
}

/// An exchange, and when it came into the queue. The earlier is the smaller.
pub(crate) struct Queued {
    pub(crate) at: MonoNs,
    pub(crate) finished: FinishedExchange,
}

impl Ord for Queued {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at)
    }
}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Queued {}

/// The sending end of the queue, and counters of everything in it.
pub(crate) struct Queue {
    lanes: Lanes<Queued>,
    waiting: AtomicU64,
    waiting_bytes: AtomicUsize,
    peak_bytes: AtomicUsize,
    /// Exchanges that arrived so far, by phase.
    arrived: Vec<AtomicU64>,
    /// Those of `arrived` that never left this machine.
    never_left: Vec<AtomicU64>,
    /// Records of failed requests so far, by phase.
    failed: Vec<AtomicU64>,
    /// Records computed and written so far, by phase.
    recorded: Vec<AtomicU64>,
    closed: AtomicBool,
    /// The conductor sends nothing new because of the exchanges that wait here.
    holds_dispatch: AtomicBool,
    /// For how long it did so before, in nanoseconds.
    held: AtomicU64,
    budget: usize,
    /// When the oldest exchange without a written record arrived; `u64::MAX` if there is none.
    oldest: AtomicU64,
}

/// A record that waits longer than this may not be on disk within a second of the end of its request.
pub(crate) const LONGEST_WAIT: Nanos = Nanos(700_000_000);

impl Queue {
    /// The queue of a run with this many phases and workers, and the receiver of its exchanges.
    pub(crate) fn new(budget: usize, phases: usize, workers: usize) -> (Self, Arrivals<Queued>) {
        let (lanes, arrivals) = lanes(workers);
        let queue = Self {
            lanes,
            waiting: AtomicU64::new(0),
            waiting_bytes: AtomicUsize::new(0),
            peak_bytes: AtomicUsize::new(0),
            arrived: (0..phases).map(|_| AtomicU64::new(0)).collect(),
            never_left: (0..phases).map(|_| AtomicU64::new(0)).collect(),
            failed: (0..phases).map(|_| AtomicU64::new(0)).collect(),
            recorded: (0..phases).map(|_| AtomicU64::new(0)).collect(),
            closed: AtomicBool::new(false),
            holds_dispatch: AtomicBool::new(false),
            held: AtomicU64::new(0),
            budget,
            oldest: AtomicU64::new(u64::MAX),
        };
        (queue, arrivals)
    }

    pub(crate) fn push(&self, exchange: FinishedExchange) {
        let bytes = exchange.held();
        let phase = usize::from(exchange.tag.phase.0);
        self.arrived[phase].fetch_add(1, Relaxed);
        if exchange.never_left() {
            self.never_left[phase].fetch_add(1, Relaxed);
        }
        self.waiting.fetch_add(1, Relaxed);
        let now = self.waiting_bytes.fetch_add(bytes, Relaxed) + bytes;
        self.peak_bytes.fetch_max(now, Relaxed);
        if self.lanes.is_closed() {
            // The coordinator is gone because of a fault in this program. The run ends normally and then reports the
            // fault.
            return self.finish([phase], bytes);
        }
        self.lanes.push(usize::from(exchange.tag.worker), Queued { at: mono_now(), finished: exchange });
    }

    /// Of some exchanges only the records are kept, until these are written.
    pub(crate) fn replace(&self, exchanges: usize, records: usize) {
        if records < exchanges {
            self.waiting_bytes.fetch_sub(exchanges - records, Relaxed);
        } else {
            // Raw exchanges take more bytes as lines of a file.
            let more = records - exchanges;
            self.peak_bytes.fetch_max(self.waiting_bytes.fetch_add(more, Relaxed) + more, Relaxed);
        }
    }

    /// The records of some exchanges, of these phases, are written: they no longer count.
    pub(crate) fn finish(&self, phases: impl IntoIterator<Item = usize>, bytes: usize) {
        let mut count = 0;
        for phase in phases {
            self.recorded[phase].fetch_add(1, Relaxed);
            count += 1;
        }
        self.waiting.fetch_sub(count, Relaxed);
        self.waiting_bytes.fetch_sub(bytes, Relaxed);
    }

    /// Exchanges whose records are not written yet.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }

    pub(crate) fn arrived(&self, phase: usize) -> u64 {
        self.arrived[phase].load(Relaxed)
    }

    pub(crate) fn never_left(&self, phase: usize) -> u64 {
        self.never_left[phase].load(Relaxed)
    }

    /// A request failed according to its record.
    pub(crate) fn count_failed(&self, phase: usize) {
        self.failed[phase].fetch_add(1, Relaxed);
    }

    /// Counters of a phase, with the failed requests of all records written so far: a response that began well may
    /// contain an error.
    pub(crate) fn with_failures(&self, phase: usize, counts: PhaseProgress) -> PhaseProgress {
        PhaseProgress { errors: counts.errors.max(self.failed[phase].load(Relaxed)), ..counts }
    }

    /// Records of a phase that are written.
    pub(crate) fn recorded(&self, phase: usize) -> u64 {
        self.recorded[phase].load(Relaxed)
    }

    /// Set by the coordinator, which knows it.
    pub(crate) fn set_oldest(&self, at: Option<MonoNs>) {
        self.oldest.store(at.map_or(u64::MAX, |at| at.0), Relaxed);
    }

    fn longest_wait(&self, now: MonoNs) -> Nanos {
        Nanos(now.0.saturating_sub(self.oldest.load(Relaxed)))
    }

    /// Whether records are so far behind that nothing new may be sent.
    pub(crate) fn is_behind(&self, now: MonoNs) -> bool {
        self.waiting_bytes.load(Relaxed) > self.budget || self.longest_wait(now) > LONGEST_WAIT
    }

    /// Set by the conductor, which knows whether there is anything to send at all.
    pub(crate) fn set_holding(&self, holds: bool) {
        self.holds_dispatch.store(holds, Relaxed);
    }

    /// Notes a time during which dispatch was held back.
    pub(crate) fn add_held(&self, time: Nanos) {
        self.held.fetch_add(time.0, Relaxed);
    }

    /// For how long dispatch was held back so far.
    pub(crate) fn held(&self) -> Nanos {
        Nanos(self.held.load(Relaxed))
    }

    /// Whether records that are behind hold dispatch back.
    pub(crate) fn holds_dispatch(&self, now: MonoNs) -> bool {
        self.holds_dispatch.load(Relaxed) && self.is_behind(now)
    }

    /// Whether records have caught up enough to continue.
    pub(crate) fn has_caught_up(&self, now: MonoNs) -> bool {
        !self.is_half_full() && self.longest_wait(now).0 < LONGEST_WAIT.0 / 2
    }

    pub(crate) fn is_half_full(&self) -> bool {
        self.waiting_bytes.load(Relaxed) > self.budget / 2
    }

    pub(crate) fn peak_bytes(&self) -> usize {
        self.peak_bytes.load(Relaxed)
    }

    /// No more exchanges will arrive.
    pub(crate) fn close(&self) {
        self.closed.store(true, Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_are_larger_than_their_exchanges_count_in_the_peak() {
        let (queue, _queued) = Queue::new(1 << 20, 1, 1);
        queue.push(Exchange::default().into());
        let exchange = queue.peak_bytes();
        queue.replace(exchange, 100_000);
        queue.replace(100_000, 10);
        assert!(exchange < 100_000 && queue.peak_bytes() == 100_000, "{}", queue.peak_bytes());
    }
}
