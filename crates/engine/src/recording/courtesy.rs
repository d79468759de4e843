//! Whether a thread that computes records yields its core to the workers.

/// Whether a thread yields its core between two records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Courtesy {
    /// A record thread. A kernel that preempts lazily notices a worker that wants the core only when the thread enters
    /// the kernel, or at the next tick of 4 ms. A yield after every record limits this delay to the time of one record.
    GivesWay,
    /// The coordinator, which computes only overdue batches.
    GoesOn,
}

impl Courtesy {
    pub(crate) fn give_way(self) {
        if self == Self::GivesWay {
            std::thread::yield_now();
        }
    }
}
