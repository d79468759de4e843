//! Read buffers. They go out with an exchange and come back from the record threads, so a steady run allocates
//! nothing a request.

use aiperf_types::Read;
use std::sync::{Arc, Mutex};

/// Bytes of a fresh buffer: a whole burst response of 32 tokens fits, a thousand of them are 8 MB.
const FRESH: usize = 8 << 10;
/// Buffers larger than this are not kept: one huge response must not stay for ever.
const KEEP_LIMIT: usize = 256 << 10;
/// Bytes of the buffers on a shelf, and on those of all workers. While record threads have no core, thousands of
/// responses wait, and their buffers come back at once. With room for 512 of them, fresh buffers took 5% of the CPU time
/// of a saturated run, and page faults as much.
const KEEP_BYTES: usize = 32 << 20;
const KEEP_BYTES_IN_ALL: usize = 96 << 20;

/// Buffers to take from the shelf at a time: those that came back last, which are still in the caches.
const AT_ONCE: usize = 64;

/// The bytes and the reads of one exchange, to be used again.
pub type ReadBuffers = (Vec<u8>, Vec<Read>);

/// Where record threads give buffers back.
#[derive(Clone)]
pub struct BufferReturn(Arc<Mutex<Shelf>>);

struct Shelf {
    buffers: Vec<ReadBuffers>,
    bytes: usize,
    most: usize,
}

fn size((raw, reads): &ReadBuffers) -> usize {
    raw.capacity() + reads.capacity() * size_of::<Read>() + size_of::<ReadBuffers>()
}

/// For the only worker.
impl Default for BufferReturn {
    fn default() -> Self {
        Self::of_one_in(1)
    }
}

impl BufferReturn {
    /// For one of so many workers.
    pub fn of_one_in(workers: usize) -> Self {
        let most = KEEP_BYTES.min(KEEP_BYTES_IN_ALL / workers.max(1));
        Self(Arc::new(Mutex::new(Shelf { buffers: Vec::new(), bytes: 0, most })))
    }

    /// Gives buffers back, all at once. They are dropped while another thread has the shelf: that may be a thread of
    /// lowest priority without a core, and no thread waits for one.
    pub fn give(&self, spent: &mut Vec<ReadBuffers>) {
        let Ok(mut shelf) = self.0.try_lock() else { return spent.clear() };
        for buffers in spent.drain(..).filter(|(raw, _)| raw.len() <= KEEP_LIMIT) {
            let bytes = shelf.bytes + size(&buffers);
            if bytes <= shelf.most {
                shelf.bytes = bytes;
                shelf.buffers.push(buffers);
            }
        }
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
                let from = shelf.buffers.len().saturating_sub(AT_ONCE);
                self.local.extend(shelf.buffers.drain(from..));
                shelf.bytes -= self.local.iter().map(size).sum::<usize>();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_within_a_limit_of_bytes() {
        let shared = BufferReturn::default();
        let mut buffers = Buffers::new(shared.clone());
        let large = KEEP_LIMIT;
        let mut spent: Vec<ReadBuffers> = (0..2 * KEEP_BYTES / large).map(|_| (vec![0; large], Vec::new())).collect();
        spent.push((vec![0; KEEP_LIMIT + 1], Vec::new()));
        shared.give(&mut spent);
        assert!(spent.is_empty());
        let back = (0..).take_while(|_| buffers.take().0.len() == large).count();
        assert!((KEEP_BYTES / large - 1..=KEEP_BYTES / large).contains(&back), "{back}");
        shared.give(&mut vec![(vec![0; large], vec![Read::default()])]);
        let (raw, reads) = buffers.take();
        assert_eq!((raw.len(), reads.len()), (large, 0), "the shelf has room again");
    }
}
