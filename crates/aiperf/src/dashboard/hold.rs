//! Whether the terminal is ours. Whoever changes that claims it first, so that of two only one touches the terminal.

use std::sync::atomic::{AtomicU8, Ordering};

const OPEN: u8 = 0;
/// Open, and what it shows is not known: all of it must be drawn anew.
const SPOILT: u8 = 1;
/// Somebody gives it back for as long as the process is stopped.
const SUSPENDING: u8 = 2;
const SUSPENDED: u8 = 3;
/// Somebody gives it back for good.
const CLOSING: u8 = 4;
const CLOSED: u8 = 5;

pub(super) struct Hold(AtomicU8);

/// What is left to do for whoever closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// To give the terminal back, and to say so by [`Hold::gave_back`].
    Mine,
    /// Somebody else does that.
    Theirs,
    /// It was given back.
    Done,
}

impl Hold {
    /// Of a terminal on which nothing is drawn yet.
    pub(super) fn new() -> Self {
        Self(AtomicU8::new(SPOILT))
    }

    fn is(&self, states: &[u8]) -> bool {
        states.contains(&self.0.load(Ordering::Acquire))
    }

    /// From one of these states to another one; which it was.
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

    /// It was given back for good.
    pub(super) fn is_closed(&self) -> bool {
        self.is(&[CLOSED])
    }

    /// Everything has to be drawn anew.
    pub(super) fn spoil(&self) {
        let _ = self.turn(&[OPEN], SPOILT);
    }

    /// Whether everything had to be drawn anew, which is about to be done.
    pub(super) fn mend(&self) -> bool {
        self.turn(&[SPOILT], OPEN).is_ok()
    }

    /// Whether the caller is the one who gives the terminal back for a while, and says so by [`Self::gave_back`].
    pub(super) fn suspend(&self) -> bool {
        self.turn(&[OPEN, SPOILT], SUSPENDING).is_ok()
    }

    /// After the terminal was taken again: whether it is ours. It is not where somebody closed it in between.
    pub(super) fn reopen(&self) -> bool {
        self.turn(&[SUSPENDED], SPOILT).is_ok()
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.is(&[SUSPENDED])
    }

    /// Nothing is drawn from now on.
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

    /// The terminal is as it was before.
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
    fn it_is_closed_only_when_the_terminal_was_given_back() {
        let hold = Hold::new();
        assert_eq!(hold.close(), Closing::Mine);
        assert!(!hold.is_open() && !hold.is_closed());
        assert_eq!(hold.close(), Closing::Theirs, "one gives it back");
        hold.gave_back();
        assert!(hold.is_closed());
        assert_eq!(hold.close(), Closing::Done);
    }

    #[test]
    fn who_goes_on_before_the_terminal_was_given_back_waits_for_that() {
        let hold = Hold::new();
        assert!(hold.suspend());
        assert!(!hold.is_open() && hold.is_suspending());
        assert!(!hold.reopen(), "somebody is still about to leave");
        hold.gave_back();
        assert!(!hold.is_suspending() && hold.reopen());
        assert!(hold.is_open() && hold.is_spoilt());
        assert!(hold.mend() && !hold.is_spoilt());
    }

    #[test]
    fn what_is_closed_while_it_is_suspended_stays_closed() {
        let hold = Hold::new();
        assert!(hold.suspend());
        hold.gave_back();
        assert_eq!(hold.close(), Closing::Done);
        assert!(!hold.reopen() && !hold.suspend());
        let hold = Hold::new();
        assert!(hold.suspend());
        assert_eq!(hold.close(), Closing::Theirs, "whoever suspends gives it back");
        hold.gave_back();
        assert!(hold.is_closed() && !hold.reopen());
    }
}
