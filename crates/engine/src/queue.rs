//! Finished exchanges waiting to be computed. Nobody is woken and no worker ever waits: record threads look in, and
//! past a budget of bytes the conductor sends nothing new.

use aiperf_transport::clock::mono_now;
use aiperf_types::{Exchange, MonoNs, Nanos};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};

/// Exchanges taken at a time: few, so that a thread that gets no time holds few back.
const BATCH: usize = 16;

/// The queue.
pub(crate) struct Queue {
    sender: Sender<(MonoNs, Exchange)>,
    taken: Mutex<Taking>,
    waiting: AtomicU64,
    waiting_bytes: AtomicUsize,
    peak_bytes: AtomicUsize,
    /// When the newest exchange taken so far had come in: what waits is no older.
    newest_taken: AtomicU64,
    closed: AtomicBool,
    budget: usize,
}

struct Taking {
    receiver: Receiver<(MonoNs, Exchange)>,
    batches: u64,
}

/// Exchanges to compute, and their place in the order of completion.
pub(crate) struct Batch {
    pub(crate) number: u64,
    pub(crate) exchanges: Vec<Exchange>,
}

impl Queue {
    pub(crate) fn new(budget: usize) -> Self {
        let (sender, receiver) = mpsc::channel();
        Self {
            sender,
            taken: Mutex::new(Taking { receiver, batches: 0 }),
            waiting: AtomicU64::new(0),
            waiting_bytes: AtomicUsize::new(0),
            peak_bytes: AtomicUsize::new(0),
            newest_taken: AtomicU64::new(mono_now().0),
            closed: AtomicBool::new(false),
            budget,
        }
    }

    pub(crate) fn push(&self, exchange: Exchange) {
        let bytes = size(&exchange);
        self.waiting.fetch_add(1, Relaxed);
        let now = self.waiting_bytes.fetch_add(bytes, Relaxed) + bytes;
        self.peak_bytes.fetch_max(now, Relaxed);
        // The receiver lives as long as the queue: this cannot fail.
        let _ = self.sender.send((mono_now(), exchange));
    }

    /// Takes some exchanges, unless another thread is just doing so.
    pub(crate) fn take(&self) -> Option<Batch> {
        if self.waiting.load(Relaxed) == 0 {
            return None;
        }
        let mut taking = self.taken.try_lock().ok()?;
        let mut exchanges = Vec::with_capacity(BATCH);
        let mut newest = MonoNs(0);
        while exchanges.len() < BATCH
            && let Ok((at, exchange)) = taking.receiver.try_recv()
        {
            newest = at;
            exchanges.push(exchange);
        }
        if exchanges.is_empty() {
            return None;
        }
        self.newest_taken.store(newest.0, Relaxed);
        let number = taking.batches;
        taking.batches += 1;
        Some(Batch { number, exchanges })
    }

    /// A batch was computed: its bytes no longer count.
    pub(crate) fn done(&self, count: usize, bytes: usize) {
        self.waiting.fetch_sub(count as u64, Relaxed);
        self.waiting_bytes.fetch_sub(bytes, Relaxed);
    }

    /// Exchanges waiting or being computed.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }

    /// No more than this long does the oldest exchange wait.
    pub(crate) fn age(&self, now: MonoNs) -> Nanos {
        if self.waiting() == 0 { Nanos::ZERO } else { now.since(MonoNs(self.newest_taken.load(Relaxed))) }
    }

    /// Whether more waits than the budget allows.
    pub(crate) fn is_over_budget(&self) -> bool {
        self.waiting_bytes.load(Relaxed) > self.budget
    }

    /// Whether more than half of the budget waits.
    pub(crate) fn is_half_full(&self) -> bool {
        self.waiting_bytes.load(Relaxed) > self.budget / 2
    }

    /// Most bytes that ever waited.
    pub(crate) fn peak_bytes(&self) -> usize {
        self.peak_bytes.load(Relaxed)
    }

    /// Nothing more will come.
    pub(crate) fn close(&self) {
        self.closed.store(true, Relaxed);
    }

    /// Whether nothing more will come.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }
}

/// What an exchange holds in memory, nearly.
pub(crate) fn size(exchange: &Exchange) -> usize {
    exchange.raw.len() + exchange.timeline.reads.capacity() * 16 + size_of::<Exchange>()
}
