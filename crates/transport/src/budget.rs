//! Memory of all responses in flight together. One response has a limit of its own; thousands of them, each below it,
//! would take all the memory there is.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes that the responses in flight may hold, over all workers. Small ones never ask.
#[derive(Debug)]
pub struct ResponseBudget {
    limit: usize,
    held: AtomicUsize,
}

impl ResponseBudget {
    pub fn new(limit: usize) -> Self {
        Self { limit, held: AtomicUsize::new(0) }
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes that are held now.
    pub fn held(&self) -> usize {
        self.held.load(Relaxed)
    }

    /// Takes so many bytes, if they are left.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let left = |held: usize| held.checked_add(bytes).filter(|held| *held <= self.limit);
        self.held.fetch_update(Relaxed, Relaxed, left).is_ok()
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Relaxed);
    }
}
