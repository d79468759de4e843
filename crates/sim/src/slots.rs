//! Connections by number, where a number used again differs from its former use.

/// Names a connection for as long as it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Key { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

/// One response on a connection: its stream on HTTP/2, else 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Task {
    pub(crate) key: Key,
    pub(crate) stream: u32,
}

struct Slot<T> {
    generation: u32,
    value: Option<Box<T>>,
}

/// A table whose entries are taken out while they are worked on.
pub(crate) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(crate) fn new() -> Self {
        Slots { slots: Vec::new(), free: Vec::new() }
    }

    /// A key for a value that is put in afterwards.
    pub(crate) fn reserve(&mut self) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, value: None });
            (self.slots.len() - 1) as u32
        });
        Key { index, generation: self.slots[index as usize].generation }
    }

    /// Takes the value out; `None` when the key is of the past.
    pub(crate) fn take(&mut self, key: Key) -> Option<Box<T>> {
        let slot = self.slots.get_mut(key.index as usize)?;
        if slot.generation == key.generation { slot.value.take() } else { None }
    }

    pub(crate) fn put(&mut self, key: Key, value: Box<T>) {
        self.slots[key.index as usize].value = Some(value);
    }

    /// Ends the key's life.
    pub(crate) fn release(&mut self, key: Key) {
        let slot = &mut self.slots[key.index as usize];
        slot.generation = slot.generation.wrapping_add(1) & GENERATIONS;
        slot.value = None;
        self.free.push(key.index);
    }

    /// Takes every value out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Box<T>> + '_ {
        self.slots.iter_mut().filter_map(|slot| slot.value.take())
    }
}

/// The highest bit of a key stays clear, so that the loop's own marks cannot be mistaken for one.
const GENERATIONS: u32 = u32::MAX >> 1;
