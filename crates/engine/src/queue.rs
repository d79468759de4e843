//! Finished exchanges on their way to the record threads. The queue wakes no thread, and no worker ever waits for it.
//! When a budget of bytes or of time is exceeded, the conductor sends nothing new.

use crate::lanes::{Arrivals, Lanes, lanes};
use crate::requests::prompt_counts::PromptHistory;
use aiperf_transport::ReadBuffers;
use aiperf_transport::clock::mono_now;
use aiperf_types::{Exchange, MonoNs, Nanos, PhaseProgress, Read};
use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire};

/// A finished exchange, and the data for counting its prompt. It is boxed: it goes through several lists and threads,
/// and few of them look at it.
pub(crate) struct FinishedExchange {
    exchange: Box<Exchange>,
    /// Set if the prompt can be counted by what it adds to the prompts before it.
    pub(crate) prompt: Option<Arc<PromptHistory>>,
    bytes: usize,
}

impl FinishedExchange {
    pub(crate) fn new(exchange: Exchange, prompt: Option<Arc<PromptHistory>>) -> Self {
        Self { bytes: bytes(&exchange), exchange: Box::new(exchange), prompt }
    }

    /// Its approximate size in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its buffers, for use by another exchange.
    pub(crate) fn take_buffers(&mut self) -> ReadBuffers {
        let Exchange { raw, timeline, .. } = &mut *self.exchange;
        (std::mem::take(raw), std::mem::take(&mut timeline.reads))
    }

    #[cfg(test)]
    pub(crate) fn into_exchange(self) -> Exchange {
        *self.exchange
    }
}

fn bytes(exchange: &Exchange) -> usize {
    let parsed = exchange.parsed.as_deref().map_or(0, |parsed| {
        let texts = [&parsed.output_text, &parsed.reasoning_text];
        let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
        size_of_val(parsed) + texts + size_of_val(&parsed.content[..])
    });
    let (raw, reads, body) = (&exchange.raw, &exchange.timeline.reads, &exchange.request_body);
    raw.len() + reads.capacity() * size_of::<Read>() + size_of::<Exchange>() + parsed + body.owned()
}

impl From<Exchange> for FinishedExchange {
    fn from(exchange: Exchange) -> Self {
        Self::new(exchange, None)
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
    /// By worker, then by phase.
    pushed: Vec<Vec<Pushed>>,
    /// Exchanges whose records are written, and the bytes that these and smaller records have freed.
    done: AtomicU64,
    freed_bytes: AtomicU64,
    peak_bytes: AtomicU64,
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

/// What a worker pushed so far in a phase. Only this worker writes it, so plain stores are enough. It has its own cache
/// lines: workers that share counters wait for each other.
#[derive(Default)]
#[repr(align(128))]
struct Pushed {
    exchanges: AtomicU64,
    bytes: AtomicU64,
    /// Exchanges that never left this machine.
    never_left: AtomicU64,
}

impl Pushed {
    fn add(&self, exchange: &FinishedExchange) {
        let add = |counter: &AtomicU64, more: u64| counter.store(counter.load(Relaxed) + more, Relaxed);
        add(&self.never_left, u64::from(exchange.never_left()));
        add(&self.bytes, exchange.bytes() as u64);
        add(&self.exchanges, 1);
    }
}

/// A record that waits longer than this may not be on disk within a second of the end of its request.
pub(crate) const LONGEST_WAIT: Nanos = Nanos(700_000_000);

impl Queue {
    /// The queue of a run with this many phases and workers, and the receiver of its exchanges.
    pub(crate) fn new(budget: usize, phases: usize, workers: usize) -> (Self, Arrivals<Queued>) {
        let (lanes, arrivals) = lanes(workers);
        let queue = Self {
            lanes,
            pushed: (0..workers).map(|_| (0..phases).map(|_| Pushed::default()).collect()).collect(),
            done: AtomicU64::new(0),
            freed_bytes: AtomicU64::new(0),
            peak_bytes: AtomicU64::new(0),
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
        let worker = usize::from(exchange.tag.worker);
        self.pushed[worker][usize::from(exchange.tag.phase.0)].add(&exchange);
        if self.lanes.is_closed() {
            // The coordinator is gone because of a fault in this program. The run ends normally and then reports the
            // fault.
            return self.finish([usize::from(exchange.tag.phase.0)], exchange.bytes());
        }
        self.lanes.push(worker, Queued { at: mono_now(), finished: exchange });
    }

    /// Of some exchanges only the records are kept, until these are written.
    pub(crate) fn replace(&self, exchanges: usize, records: usize) {
        self.note_peak();
        // Raw exchanges take more bytes as lines of a file.
        let freed = (exchanges as u64).wrapping_sub(records as u64);
        self.freed_bytes.fetch_add(freed, Release);
        self.note_peak();
    }

    /// The records of some exchanges, of these phases, are written: they no longer count.
    pub(crate) fn finish(&self, phases: impl IntoIterator<Item = usize>, bytes: usize) {
        self.note_peak();
        let mut count = 0;
        for phase in phases {
            self.recorded[phase].fetch_add(1, Relaxed);
            count += 1;
        }
        self.done.fetch_add(count, Release);
        self.freed_bytes.fetch_add(bytes as u64, Release);
    }

    fn sum(&self, of: impl Fn(&Pushed) -> &AtomicU64) -> u64 {
        self.pushed.iter().flatten().map(|pushed| of(pushed).load(Relaxed)).sum()
    }

    fn sum_of_phase(&self, phase: usize, of: impl Fn(&Pushed) -> &AtomicU64) -> u64 {
        self.pushed.iter().map(|phases| of(&phases[phase]).load(Relaxed)).sum()
    }

    /// Exchanges whose records are not written yet.
    pub(crate) fn waiting(&self) -> u64 {
        // Those that are done are read first: each of them was pushed before.
        let done = self.done.load(Acquire);
        self.sum(|pushed| &pushed.exchanges).saturating_sub(done)
    }

    fn waiting_bytes(&self) -> usize {
        let freed = self.freed_bytes.load(Acquire);
        // What is freed is read first: its exchanges were pushed before. It wraps if records are larger than exchanges.
        self.sum(|pushed| &pushed.bytes).wrapping_sub(freed) as usize
    }

    /// Bytes only become fewer here, so the peak is seen if it is noted before.
    fn note_peak(&self) {
        self.peak_bytes.fetch_max(self.waiting_bytes() as u64, Relaxed);
    }

    /// Exchanges that arrived so far.
    pub(crate) fn arrived(&self, phase: usize) -> u64 {
        self.sum_of_phase(phase, |pushed| &pushed.exchanges)
    }

    pub(crate) fn never_left(&self, phase: usize) -> u64 {
        self.sum_of_phase(phase, |pushed| &pushed.never_left)
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
        self.waiting_bytes() > self.budget || self.longest_wait(now) > LONGEST_WAIT
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
        self.waiting_bytes() > self.budget / 2
    }

    pub(crate) fn peak_bytes(&self) -> usize {
        self.note_peak();
        self.peak_bytes.load(Relaxed) as usize
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
