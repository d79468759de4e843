//! A list that grows without moving its items.

/// Items per chunk.
const CHUNK: usize = 1 << 14;

/// A list in chunks: a vector that doubles holds all of its items twice for a moment, and they may take 60 MB.
#[derive(Clone, Debug)]
pub(crate) struct Chunks<T> {
    full: Vec<Vec<T>>,
    open: Vec<T>,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { full: Vec::new(), open: Vec::new() }
    }
}

impl<T> Chunks<T> {
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        if self.open.len() == CHUNK {
            self.close_chunk();
        }
        self.open.push(item);
    }

    #[cold]
    fn close_chunk(&mut self) {
        self.full.push(std::mem::replace(&mut self.open, Vec::with_capacity(CHUNK)));
    }

    /// Takes all items of another list, and frees its memory meanwhile.
    pub(crate) fn append(&mut self, other: Self) {
        other.into_iter().for_each(|item| self.push(item));
    }

    pub(crate) fn len(&self) -> usize {
        self.full.len() * CHUNK + self.open.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.full.iter().flatten().chain(&self.open)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.full.iter_mut().flatten().chain(&mut self.open)
    }

    /// All items; each chunk is freed when the next begins.
    pub(crate) fn into_iter(self) -> impl Iterator<Item = T> {
        self.full.into_iter().flatten().chain(self.open)
    }

    pub(crate) fn size(&self) -> usize {
        (self.full.len() * CHUNK + self.open.capacity()) * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_order_over_chunks() {
        let [mut one, mut other] = [(); 2].map(|()| Chunks::default());
        (0..CHUNK + 10).for_each(|item| one.push(item));
        (CHUNK + 10..3 * CHUNK).for_each(|item| other.push(item));
        one.append(other);
        assert_eq!(one.len(), 3 * CHUNK);
        assert!(one.iter().copied().eq(0..3 * CHUNK) && one.into_iter().eq(0..3 * CHUNK));
    }
}
