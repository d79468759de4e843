//! A batch of finished exchanges, and the records computed from it. Record threads, the coordinator and the sinks share
//! it.

use crate::events::request_watch::OddLength;
use crate::queue::FinishedExchange;
use crate::recording::looks::Values;
use aiperf_transport::BufferReturn;
use aiperf_types::{MonoNs, RequestError};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Some exchanges, in order of completion, whose records are computed together. When the last reference is dropped, the
/// buffers return to the workers.
pub(crate) struct Batch {
    pub(crate) number: u64,
    pub(crate) exchanges: Vec<FinishedExchange>,
    /// Their bytes in the queue's budget.
    pub(crate) bytes: usize,
    /// Their records; set by the thread that took the batch.
    pub(crate) computed: OnceLock<BatchRecords>,
    /// The claimant whose records count: see [`Batch::claim`].
    claimed_by: AtomicU8,
    /// When a thread took the batch; 0 before.
    taken_at: AtomicU64,
    buffers: Arc<[BufferReturn]>,
}

/// Who may compute a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claimant {
    /// The thread that took it from the ring: a record thread, or the coordinator if it helps.
    Taker = 1,
    /// The coordinator, if that thread gets no core.
    Coordinator = 2,
}

const UNCLAIMED: u8 = 0;

impl Batch {
    pub(crate) fn new(number: u64, exchanges: Vec<FinishedExchange>, buffers: Arc<[BufferReturn]>) -> Self {
        let bytes = exchanges.iter().map(FinishedExchange::bytes).sum();
        let (computed, claimed_by, taken_at) = (OnceLock::new(), AtomicU8::new(UNCLAIMED), AtomicU64::new(0));
        Self { number, exchanges, bytes, computed, claimed_by, taken_at, buffers }
    }

    /// A thread begins to compute the batch.
    pub(crate) fn note_taken(&self, at: MonoNs) {
        self.taken_at.store(at.0, Relaxed);
    }

    pub(crate) fn taken_at(&self) -> Option<MonoNs> {
        MonoNs(self.taken_at.load(Relaxed)).taken()
    }

    /// Claims the batch. Returns `false` if the other claimant was first. Only the claimant's records count.
    pub(crate) fn claim(&self, by: Claimant) -> bool {
        self.claimed_by.compare_exchange(UNCLAIMED, by as u8, AcqRel, Acquire).is_ok()
    }

    pub(crate) fn is_claimed_by(&self, by: Claimant) -> bool {
        self.claimed_by.load(Acquire) == by as u8
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let mut by_worker: Vec<Vec<_>> = self.buffers.iter().map(|_| Vec::new()).collect();
        for mut exchange in self.exchanges.drain(..) {
            by_worker[usize::from(exchange.tag.worker)].push(exchange.take_buffers());
        }
        for (buffers, spent) in self.buffers.iter().zip(&mut by_worker).filter(|(_, spent)| !spent.is_empty()) {
            buffers.give(spent);
        }
    }
}

/// The records of a batch. Empty if they could not be computed.
#[derive(Default)]
pub(crate) struct BatchRecords {
    pub(crate) encoded: Encoded,
    /// The failed requests, by their index in the batch, without those that the run itself cut off.
    pub(crate) failures: Vec<(usize, RequestError)>,
    /// The responses that do not have the requested length.
    pub(crate) odd_lengths: Vec<OddLength>,
    /// Values that may end a phase; empty unless the plan has `--until`.
    pub(crate) values: Vec<Values>,
}

/// The records of a batch in bytes, by sink.
pub(crate) type Encoded = Vec<Arc<Vec<u8>>>;
