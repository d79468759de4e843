//! Reuses the buffers of encoded records. A thread that computes records fills a buffer, and the writer of a sink
//! empties it. To allocate on one thread and free on another costs more than to keep the buffer.

use std::sync::{Arc, Mutex};

/// The capacity of a new buffer: the lines of a batch fit.
const FRESH: usize = 64 << 10;
/// Larger buffers are not kept: one huge batch must not occupy memory for ever.
const KEEP_LIMIT: usize = 256 << 10;
/// The batches between two looks of a writer, at thousands of batches a second.
const KEEP_COUNT: usize = 64;

/// The empty buffers of one sink.
#[derive(Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<Vec<Vec<u8>>>>);

impl Shelf {
    /// An empty buffer. It is new if another thread has the lock: that may be a thread of lowest priority without a
    /// core, and no thread may wait for it.
    pub(crate) fn take(&self) -> Vec<u8> {
        let kept = self.0.try_lock().ok().and_then(|mut shelf| shelf.pop());
        kept.unwrap_or_else(|| Vec::with_capacity(FRESH))
    }

    /// Takes a buffer back, unless it is still in use.
    pub(crate) fn give(&self, buffer: Arc<Vec<u8>>) {
        if let Ok(mut buffer) = Arc::try_unwrap(buffer)
            && buffer.capacity() <= KEEP_LIMIT
            && let Ok(mut shelf) = self.0.try_lock()
            && shelf.len() < KEEP_COUNT
        {
            buffer.clear();
            shelf.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_without_other_holders_is_reused() {
        let shelf = Shelf::default();
        let mut buffer = shelf.take();
        buffer.extend([7; 9000]);
        let at = buffer.as_ptr();
        let buffer = Arc::new(buffer);
        shelf.give(buffer.clone());
        let other = shelf.take();
        assert_ne!(other.as_ptr(), at, "it is still read");
        shelf.give(buffer);
        let again = shelf.take();
        assert!(again.as_ptr() == at && again.is_empty());
    }

    #[test]
    fn a_huge_buffer_is_let_go_and_so_are_too_many() {
        let shelf = Shelf::default();
        shelf.give(Arc::new(Vec::with_capacity(KEEP_LIMIT + 1)));
        (0..2 * KEEP_COUNT).for_each(|_| shelf.give(Arc::new(Vec::with_capacity(100))));
        let kept = shelf.0.lock().unwrap();
        assert!(kept.len() == KEEP_COUNT && kept.iter().all(|buffer| buffer.capacity() <= KEEP_LIMIT));
    }
}
