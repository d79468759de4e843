//! Yielding: a thread that makes conversations during a run gives up its core often.
//!
//! A kernel that preempts lazily takes the core from a thread of the lowest priority only when that thread enters the
//! kernel, or at the next tick, up to 4 ms later. So such a thread enters the kernel every few microseconds of work.

use std::cell::Cell;

/// Steps between two yields: about 20 us of writing prose.
const STEPS: u32 = 32;

thread_local! {
    /// Steps until the next yield; 0 never yields.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

/// From now on, the calling thread yields to other threads while it makes conversations.
pub fn give_way() {
    LEFT.set(STEPS);
}

/// Counts a short step of work, and yields if it is time.
pub(crate) fn step() {
    match LEFT.get() {
        0 => {}
        1 => {
            std::thread::yield_now();
            LEFT.set(STEPS);
        }
        left => LEFT.set(left - 1),
    }
}
