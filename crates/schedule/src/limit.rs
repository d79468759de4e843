//! How many may be at a time, where the limit may change while some are.

/// A limit, and how many slots are taken. A limit that shrinks takes nothing away: what is taken beyond it is a debt,
/// and no slot is free until enough are given back to pay it.
#[derive(Clone, Debug, Default)]
pub struct Limit {
    limit: Option<u32>,
    taken: u32,
}

/// A place under a limit, which its holder keeps until it is given back.
#[derive(Debug, Default)]
#[must_use]
pub struct Slot {
    /// Whether it counts: one that was taken while there was no limit does not, whatever the limit is by now.
    counts: bool,
}

impl Limit {
    /// At most so many; `None` is no limit.
    pub fn new(limit: Option<u32>) -> Self {
        Self { limit, taken: 0 }
    }

    pub fn set(&mut self, limit: Option<u32>) {
        self.limit = limit;
    }

    /// A slot, if one is free.
    pub fn take(&mut self) -> Option<Slot> {
        let counts = self.limit.is_some();
        self.has_free().then(|| {
            self.taken += u32::from(counts);
            Slot { counts }
        })
    }

    pub fn give_back(&mut self, slot: Slot) {
        self.taken -= u32::from(slot.counts);
    }

    pub fn has_free(&self) -> bool {
        self.limit.is_none_or(|limit| self.taken < limit)
    }

    pub fn limit(&self) -> Option<u32> {
        self.limit
    }

    /// Slots that are free; `None` without a limit.
    pub fn free(&self) -> Option<u32> {
        self.limit.map(|limit| limit.saturating_sub(self.taken))
    }

    /// Slots that are taken beyond the limit.
    pub fn debt(&self) -> u32 {
        self.limit.map_or(0, |limit| self.taken.saturating_sub(limit))
    }
}

impl Slot {
    pub fn counts(&self) -> bool {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_taken_without_a_limit_pays_no_debt_of_a_later_one() {
        let mut limit = Limit::new(Some(1));
        let counted = limit.take().expect("one is free");
        limit.set(None);
        let free = limit.take().expect("there is no limit");
        limit.set(Some(1));
        limit.give_back(free);
        assert!(limit.take().is_none());
        limit.give_back(counted);
        assert!(limit.take().is_some());
    }
}
