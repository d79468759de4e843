//! Giving way: a thread that makes conversations while a run is on lets others have its core again and again.
//!
//! A kernel that preempts lazily hands over the core of a thread of lowest priority when it enters the kernel, or at the
//! next tick, up to 4 ms later. So such a thread enters it every few microseconds of its work.

use std::cell::Cell;

/// Steps between two looks of whoever gives way: some 20 us of writing prose.
const STEPS: u32 = 32;

thread_local! {
    /// Steps until the next look; 0 never looks.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

/// From now on the calling thread gives way to others while it makes conversations.
pub fn give_way() {
    LEFT.set(STEPS);
}

/// A short step of work is done.
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
