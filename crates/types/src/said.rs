//! What a session has said up to a request, for whoever counts it.

use bytes::Bytes;
use std::sync::{Arc, Mutex, TryLockError};

/// What a session has said up to a request: what the request adds, after what those before it said. Counted once, it
/// keeps the count alone, so that a long conversation is not counted anew for every turn.
///
/// Nobody waits for it: whoever finds it in use gets nothing.
#[derive(Debug)]
pub struct SaidSoFar(Mutex<State>);

#[derive(Debug)]
enum State {
    Uncounted { before: Option<Arc<SaidSoFar>>, items: Vec<Bytes> },
    Counted(SaidCount),
}

/// The tokens of what was said, as far as they are certain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaidCount {
    pub tokens: u64,
    /// The end of the text, which may share a token with what follows.
    pub open: String,
    pub says_anything: bool,
}

/// What is known of something said.
pub enum SaidState {
    /// Encoded items, each with a comma before it, and what was said before them.
    Uncounted(Option<Arc<SaidSoFar>>, Vec<Bytes>),
    Counted(SaidCount),
}

impl SaidSoFar {
    pub fn new(before: Option<Arc<Self>>, items: Vec<Bytes>) -> Self {
        Self(Mutex::new(State::Uncounted { before, items }))
    }

    /// `None` while somebody else looks.
    pub fn state(&self) -> Option<SaidState> {
        let state = match self.0.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(match &*state {
            State::Uncounted { before, items } => SaidState::Uncounted(before.clone(), items.clone()),
            State::Counted(count) => SaidState::Counted(count.clone()),
        })
    }

    /// Keeps a count, and lets go of what was counted; unless somebody else looks, who will count it again.
    pub fn set(&self, count: SaidCount) {
        if let Ok(mut state) = self.0.try_lock() {
            *state = State::Counted(count);
        }
    }

    fn take_before(&mut self) -> Option<Arc<Self>> {
        match self.0.get_mut() {
            Ok(State::Uncounted { before, .. }) => before.take(),
            Ok(State::Counted(_)) | Err(_) => None,
        }
    }
}

impl Drop for SaidSoFar {
    /// One after the other: of a long conversation, as many as nobody counted hang on each other.
    fn drop(&mut self) {
        let mut next = self.take_before();
        while let Some(mut said) = next.and_then(Arc::into_inner) {
            next = said.take_before();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_lets_go_of_what_it_was_counted_from() {
        let first = Arc::new(SaidSoFar::new(None, vec!["a".into()]));
        let second = SaidSoFar::new(Some(first.clone()), vec!["b".into()]);
        assert!(matches!(second.state(), Some(SaidState::Uncounted(Some(_), items)) if items == ["b"]));
        let count = SaidCount { tokens: 2, ..SaidCount::default() };
        second.set(count.clone());
        assert!(matches!(second.state(), Some(SaidState::Counted(kept)) if kept == count));
        assert_eq!(Arc::strong_count(&first), 1);
    }

    #[test]
    fn a_very_long_conversation_that_nobody_counted_goes_without_a_deep_stack() {
        let one = |before| Some(Arc::new(SaidSoFar::new(before, Vec::new())));
        drop((0..1_000_000).fold(None, |before, _| one(before)));
    }
}
