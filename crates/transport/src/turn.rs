//! The turns of a thread's loop: it sleeps until something arrives, then reads and sends until nothing is left to do.
//!
//! Events that arrive while a turn lasts wait in their sockets, and several of them may come out of one read. So each read
//! knows since when its socket was empty, and whether this thread was late. This costs two clock reads a turn: the
//! instant before a read is taken to be the latest that this thread has seen, which is no later.
//!
//! A thread is late if a turn lasts long. It is also late if it wakes up later than its timer: it waited for a core then.
//!
//! A turn wakes every task whose socket has received something, and ends when no task is left to run. So a socket that a
//! task waits for, and that is read in this turn, was empty when the sleep before the previous turn began: bytes from
//! before would have been read in that turn. Tokio calls the hooks of a sleep only if no task is left. When it looks for
//! arrivals between tasks, the turn goes on.

use crate::clock::mono_now;
use aiperf_types::{MonoNs, Nanos};
use std::cell::Cell;
use std::time::Duration;

/// A turn of this length makes the reads in it late.
pub(crate) const LONG: Nanos = Nanos::from_millis(1);

/// The timer of a thread that wakes often.
pub const OFTEN: Duration = Duration::from_millis(1);
/// A thread that wakes often and sleeps for longer has waited for a core. A timer is up to 1 ms late.
const LONG_SLEEP: Nanos = Nanos::from_millis(3);

thread_local! {
    static TURN: Turn = const { Turn::new() };
}

struct Turn {
    began: Cell<MonoNs>,
    /// The latest instant that this thread has seen.
    seen: Cell<MonoNs>,
    /// The end of the last long turn, or of the last sleep that was too long.
    late: Cell<MonoNs>,
    /// A timer ends each sleep within [`OFTEN`].
    wakes_often: Cell<bool>,
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
            wakes_often: Cell::new(false),
            slept: Cell::new(START),
            slept_before: Cell::new(START),
        }
    }

    fn end(&self, now: MonoNs) {
        self.seen.set(now);
        if now.since(self.began.get()) > LONG {
            self.late.set(now);
        }
    }

    fn begin(&self, now: MonoNs) {
        if self.wakes_often.get() && now.since(self.seen.get()) > LONG_SLEEP {
            self.late.set(now);
        }
        self.slept_before.set(self.slept.replace(self.seen.get()));
        self.began.set(now);
        self.seen.set(now);
    }

    fn was_late_after(&self, since: MonoNs) -> bool {
        self.late.get() > since || self.seen.get().since(self.began.get()) > LONG
    }
}

/// Has a runtime note the turns of its thread.
pub fn note_turns(runtime: &mut tokio::runtime::Builder) -> &mut tokio::runtime::Builder {
    runtime.on_thread_park(end).on_thread_unpark(begin)
}

fn end() {
    TURN.with(|turn| turn.end(mono_now()));
}

fn begin() {
    TURN.with(|turn| turn.begin(mono_now()));
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

/// A socket that is read now, and that a task has waited for since before this instant, was empty at this instant.
pub(crate) fn empty_until() -> MonoNs {
    TURN.with(|turn| turn.slept_before.get())
}

/// From now on, a timer ends each sleep of this thread within [`OFTEN`], or no longer does.
pub fn wake_often(wakes_often: bool) {
    TURN.with(|turn| turn.wakes_often.set(wakes_often));
}

/// Whether this thread was busy, or waited for a core, for long at some time after this instant.
pub(crate) fn was_late_after(since: MonoNs) -> bool {
    TURN.with(|turn| turn.was_late_after(since))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> MonoNs {
        MonoNs(1_000_000_000 + ms * 1_000_000)
    }

    #[test]
    fn a_long_turn_makes_later_reads_of_older_bytes_late() {
        let turn = Turn::new();
        turn.begin(at(0));
        assert!(!turn.was_late_after(at(0)));
        turn.seen.set(at(2));
        assert!(turn.was_late_after(at(0)), "within the turn");
        turn.end(at(3));
        turn.begin(at(10));
        assert!(turn.was_late_after(at(1)), "bytes may have arrived in the long turn");
        assert!(!turn.was_late_after(at(4)), "bytes arrived after it");
    }

    #[test]
    fn a_long_turn_without_a_read_is_long_too() {
        let turn = Turn::new();
        turn.begin(at(0));
        turn.end(at(5));
        turn.begin(at(5));
        assert!(turn.was_late_after(at(1)));
    }

    #[test]
    fn a_sleep_beyond_its_timer_makes_reads_of_older_bytes_late() {
        let turn = Turn::new();
        turn.begin(at(0));
        turn.end(at(0));
        turn.begin(at(50));
        assert!(!turn.was_late_after(at(10)), "nothing ended its sleep earlier");
        turn.wakes_often.set(true);
        turn.end(at(50));
        turn.begin(at(52));
        assert!(!turn.was_late_after(at(51)), "timers are up to 1 ms late");
        turn.end(at(52));
        turn.begin(at(56));
        assert!(turn.was_late_after(at(53)) && !turn.was_late_after(at(56)));
    }

    #[test]
    fn sockets_were_empty_when_the_sleep_before_the_previous_turn_began() {
        let turn = Turn::new();
        for (began, ended) in [(0, 1), (10, 11), (20, 21)] {
            turn.begin(at(began));
            turn.end(at(ended));
        }
        turn.begin(at(30));
        assert_eq!(turn.slept_before.get(), at(11));
    }
}
