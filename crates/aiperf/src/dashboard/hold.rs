//! Whether the terminal is ours. A thread that changes this claims it first, so that only one of two threads touches
//! the terminal.

use std::sync::atomic::{AtomicU8, Ordering};

const OPEN: u8 = 0;
/// Open, but its content is unknown: everything must be redrawn.
const SPOILT: u8 = 1;
/// A thread restores it before the process is stopped.
const SUSPENDING: u8 = 2;
const SUSPENDED: u8 = 3;
/// A thread restores it for good.
const CLOSING: u8 = 4;
const CLOSED: u8 = 5;

pub(super) struct Hold(AtomicU8);

/// What a thread that closes has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// Restore the terminal, and then call [`Hold::gave_back`].
    Mine,
    /// Nothing: another thread restores it.
    Theirs,
    /// Nothing: it is restored.
    Done,
}

impl Hold {
    /// A terminal on which nothing is drawn yet.
    pub(super) fn new() -> Self {
        Self(AtomicU8::new(SPOILT))
    }

    fn is(&self, states: &[u8]) -> bool {
        states.contains(&self.0.load(Ordering::Acquire))
    }

    /// Switches from one of these states to another; returns the old state.
    fn turn(&self, from: &[u8], to: u8) -> Result<u8, u8> {
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| from.contains(&state).then_some(to))
    }

    pub(super) fn is_open(&self) -> bool {
        self.is(&[OPEN, SPOILT])
    }

    pub(super) fn is_spoilt(&self) -> bool {
        self.is(&[SPOILT])
    }

    pub(super) fn is_suspending(&self) -> bool {
        self.is(&[SUSPENDING])
    }

    /// Whether it is restored for good.
    pub(super) fn is_closed(&self) -> bool {
        self.is(&[CLOSED])
    }

    /// Everything has to be redrawn.
    pub(super) fn spoil(&self) {
        let _ = self.turn(&[OPEN], SPOILT);
    }

    /// Whether everything had to be redrawn; the caller does that now.
    pub(super) fn mend(&self) -> bool {
        self.turn(&[SPOILT], OPEN).is_ok()
    }

    /// Whether the caller restores the terminal for the stop, and then calls [`Self::gave_back`].
    pub(super) fn suspend(&self) -> bool {
        self.turn(&[OPEN, SPOILT], SUSPENDING).is_ok()
    }

    /// After the terminal was taken again: whether it is ours. It is not if another thread closed it in between.
    pub(super) fn reopen(&self) -> bool {
        self.turn(&[SUSPENDED], SPOILT).is_ok()
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.is(&[SUSPENDED])
    }

    /// From now on nothing is drawn.
    pub(super) fn close(&self) -> Closing {
        if self.turn(&[SUSPENDED], CLOSED).is_ok() {
            return Closing::Done;
        }
        match self.turn(&[OPEN, SPOILT, SUSPENDING], CLOSING) {
            Ok(SUSPENDING) => Closing::Theirs,
            Ok(_) => Closing::Mine,
            Err(CLOSED) => Closing::Done,
            Err(_) => Closing::Theirs,
        }
    }

    /// The terminal is restored.
    pub(super) fn gave_back(&self) {
        if self.turn(&[SUSPENDING], SUSPENDED).is_err() {
            let _ = self.turn(&[CLOSING], CLOSED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_closed_only_after_the_terminal_is_restored() {
        let hold = Hold::new();
        assert_eq!(hold.close(), Closing::Mine);
        assert!(!hold.is_open() && !hold.is_closed());
        assert_eq!(hold.close(), Closing::Theirs, "one thread restores it");
        hold.gave_back();
        assert!(hold.is_closed());
        assert_eq!(hold.close(), Closing::Done);
    }

    #[test]
    fn a_process_that_continues_waits_until_the_terminal_is_restored() {
        let hold = Hold::new();
        assert!(hold.suspend());
        assert!(!hold.is_open() && hold.is_suspending());
        assert!(!hold.reopen(), "another thread still restores it");
        hold.gave_back();
        assert!(!hold.is_suspending() && hold.reopen());
        assert!(hold.is_open() && hold.is_spoilt());
        assert!(hold.mend() && !hold.is_spoilt());
    }

    #[test]
    fn a_terminal_closed_while_suspended_stays_closed() {
        let hold = Hold::new();
        assert!(hold.suspend());
        hold.gave_back();
        assert_eq!(hold.close(), Closing::Done);
        assert!(!hold.reopen() && !hold.suspend());
        let hold = Hold::new();
        assert!(hold.suspend());
        assert_eq!(hold.close(), Closing::Theirs, "the thread that suspends restores it");
        hold.gave_back();
        assert!(hold.is_closed() && !hold.reopen());
    }
}
