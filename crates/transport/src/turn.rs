//! The turns of a thread's loop: it sleeps until something arrives, then reads and sends until nothing is left to do.
//!
//! Events that arrive while a turn lasts wait in their sockets, and several of them may come out of one read. So each read
//! knows since when its socket was empty, and whether this thread was late. This costs one clock read a turn: the
//! instant before a read is taken to be the latest that this thread has seen, which is no later.
//!
//! A turn wakes every task whose socket has received something, and ends when no task is left to run. So a socket that a
//! task waits for, and that is read in this turn, was empty when the turn before this one began to sleep for its work: it
//! would have been read in that turn.

use crate::clock::mono_now;
use aiperf_types::{MonoNs, Nanos};
use std::cell::Cell;

/// A turn of this length makes the reads in it late.
const LONG: Nanos = Nanos::from_millis(1);

thread_local! {
    static TURN: Turn = const { Turn::new() };
}

struct Turn {
    began: Cell<MonoNs>,
    /// The latest instant that this thread has seen.
    seen: Cell<MonoNs>,
    /// The end of the last long turn.
    late: Cell<MonoNs>,
    /// The latest instant seen before the sleep that ended with this turn.
    slept: Cell<MonoNs>,
    /// The same of the turn before.
    slept_before: Cell<MonoNs>,
}

impl Turn {
    const fn new() -> Self {
        const START: MonoNs = MonoNs(0);
        Self {
            began: Cell::new(START),
            seen: Cell::new(START),
            late: Cell::new(START),
            slept: Cell::new(START),
            slept_before: Cell::new(START),
        }
    }
}

/// The thread has slept and begins a turn.
pub fn begin() {
    TURN.with(|turn| {
        let (began, seen) = (turn.began.get(), turn.seen.get());
        if seen.since(began) > LONG {
            turn.late.set(seen);
        }
        turn.slept_before.set(turn.slept.replace(seen));
        let now = mono_now();
        turn.began.set(now);
        turn.seen.set(now);
    });
}

/// The instant, which is seen from now on.
pub(crate) fn now() -> MonoNs {
    let now = mono_now();
    TURN.with(|turn| turn.seen.set(now));
    now
}

/// The latest instant that was seen.
pub(crate) fn seen() -> MonoNs {
    TURN.with(|turn| turn.seen.get())
}

/// Until when every socket was empty that is read now and that a task has waited for since before this instant.
pub(crate) fn empty_until() -> MonoNs {
    TURN.with(|turn| turn.slept_before.get())
}

/// Whether this thread was busy for long at some time after this instant.
pub(crate) fn was_late_after(since: MonoNs) -> bool {
    TURN.with(|turn| turn.late.get() > since || turn.seen.get().since(turn.began.get()) > LONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_turn_makes_later_reads_of_older_bytes_late() {
        begin();
        let start = now();
        assert!(!was_late_after(start));
        TURN.with(|turn| turn.began.set(MonoNs(start.0 - 2 * LONG.0)));
        assert!(was_late_after(start), "within the turn");
        begin();
        assert!(was_late_after(MonoNs(start.0 - 1)), "bytes may have arrived in the long turn");
        assert!(!was_late_after(seen()), "bytes arrived after it");
    }
}
