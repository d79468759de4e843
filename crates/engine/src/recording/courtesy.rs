//! Whether a thread that computes records gives way to those that measure.

/// Whether a thread gives way to others between two records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Courtesy {
    /// A record thread. A kernel that preempts lazily notices that a worker wants its core only when the thread enters
    /// the kernel or the clock ticks, 4 ms later; entering it after every record makes that one record's time.
    GivesWay,
    /// The coordinator: it computes only what cannot wait any longer.
    GoesOn,
}

impl Courtesy {
    pub(crate) fn give_way(self) {
        if self == Self::GivesWay {
            std::thread::yield_now();
        }
    }
}
