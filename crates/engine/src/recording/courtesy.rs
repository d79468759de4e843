//! Whether a thread that computes records yields its core to the workers.

use aiperf_transport::clock::mono_now;
use aiperf_types::{MonoNs, Nanos};

/// The longest that a record thread keeps its core. A yield after each record was 7% of the time of a record.
const TURN: Nanos = Nanos(50_000);

/// Whether a thread yields its core between two records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Courtesy {
    /// A record thread, with the instant of its last yield. A kernel that preempts lazily notices a worker that wants
    /// the core only when the thread enters the kernel, or at the next tick of 4 ms.
    GivesWay(MonoNs),
    /// The coordinator, which computes only overdue batches.
    GoesOn,
}

impl Courtesy {
    /// A record thread that has just started.
    pub(crate) const GIVES_WAY: Self = Self::GivesWay(MonoNs(0));

    pub(crate) fn give_way(&mut self) {
        if let Self::GivesWay(last) = self {
            let now = mono_now();
            if now.since(*last) > TURN {
                std::thread::yield_now();
                *last = mono_now();
            }
        }
    }
}
