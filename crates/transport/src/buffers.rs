//! Read buffers. They go out with an exchange and come back from the record threads, so a steady run allocates
//! nothing a request.

use aiperf_types::Read;
use std::sync::{Arc, Mutex};

/// Bytes of a fresh buffer: a whole burst response of 32 tokens fits, a thousand of them are 8 MB.
const FRESH: usize = 8 << 10;
/// Buffers larger than this are not kept: one huge response must not stay for ever.
const KEEP_LIMIT: usize = 256 << 10;
/// Buffers on the shelf: enough for a burst of responses. More come back when a backlog is worked off, and those are
/// let go: 4096 of them would hold 36 MB, and as much again in the worker's hands.
const KEEP_COUNT: usize = 512;

/// The bytes and the reads of one exchange, to be used again.
pub type ReadBuffers = (Vec<u8>, Vec<Read>);

/// Where record threads give buffers back.
#[derive(Clone, Default)]
pub struct BufferReturn(Arc<Mutex<Vec<ReadBuffers>>>);

impl BufferReturn {
    /// Gives buffers back, all at once. They are dropped while another thread has the shelf: that may be a thread of
    /// lowest priority without a core, and no thread waits for one.
    pub fn give(&self, spent: &mut Vec<ReadBuffers>) {
        let Ok(mut shelf) = self.0.try_lock() else { return spent.clear() };
        let room = KEEP_COUNT.saturating_sub(shelf.len());
        shelf.extend(spent.drain(..).filter(|(raw, _)| raw.len() <= KEEP_LIMIT).take(room));
    }
}

pub struct Buffers {
    local: Vec<ReadBuffers>,
    shared: BufferReturn,
}

impl Buffers {
    /// Buffers that come back through `shared`.
    pub fn new(shared: BufferReturn) -> Self {
        Self { local: Vec::new(), shared }
    }

    /// A zero-filled buffer (its length is what may be read into) and an empty list of reads.
    pub fn take(&mut self) -> ReadBuffers {
        if self.local.is_empty() {
            // A record thread may hold the shelf and have no core: a fresh buffer is cheaper than waiting for it.
            if let Ok(mut shelf) = self.shared.0.try_lock() {
                std::mem::swap(&mut *shelf, &mut self.local);
            }
        }
        match self.local.pop() {
            Some((raw, mut reads)) => {
                reads.clear();
                (raw, reads)
            }
            None => (vec![0; FRESH], Vec::with_capacity(48)),
        }
    }
}
