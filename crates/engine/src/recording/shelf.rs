//! Buffers of encoded records, used again: they are filled by whoever computes records and emptied by the writer of a
//! sink, and one that is made on a thread and freed on another costs more than to keep it.

use std::sync::{Arc, Mutex};

/// Bytes of a fresh buffer: the lines of a batch fit.
const FRESH: usize = 64 << 10;
/// Larger ones are not kept: one huge batch must not stay for ever.
const KEEP_LIMIT: usize = 256 << 10;
/// What lies between two looks of a writer, at thousands of batches a second.
const KEEP_COUNT: usize = 64;

/// The buffers of one sink that wait to be filled.
#[derive(Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<Vec<Vec<u8>>>>);

impl Shelf {
    /// An empty buffer. A fresh one where somebody else has the shelf just now: that may be a thread of lowest priority
    /// without a core, and nobody waits for one.
    pub(crate) fn take(&self) -> Vec<u8> {
        let kept = self.0.try_lock().ok().and_then(|mut shelf| shelf.pop());
        kept.unwrap_or_else(|| Vec::with_capacity(FRESH))
    }

    /// Takes a buffer back, unless somebody still has it.
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
    fn a_buffer_that_nobody_has_any_more_is_used_again() {
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
