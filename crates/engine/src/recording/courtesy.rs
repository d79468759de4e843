//! Yielding: a thread that computes records gives its core to a worker that wants it.
//!
//! A kernel that preempts lazily notices such a worker only when the thread enters the kernel, or at the next tick of
//! 4 ms.

use aiperf_transport::clock::mono_now;
use aiperf_types::{MonoNs, Nanos};
use std::cell::Cell;

/// The longest that a record thread keeps its core. A yield after each record was 7% of the time of a record.
const TURN: Nanos = Nanos(50_000);

thread_local! {
    /// The instant of the last yield; `None` if the thread never yields.
    static LAST: Cell<Option<MonoNs>> = const { Cell::new(None) };
}

/// From now on, the calling thread yields. The coordinator does not: it computes only if record threads fall behind.
pub(crate) fn begin() {
    LAST.set(Some(mono_now()));
}

/// Yields if it is time.
pub(crate) fn give_way() {
    if LAST.get().is_some_and(|last| mono_now().since(last) > TURN) {
        std::thread::yield_now();
        LAST.set(Some(mono_now()));
    }
}
