//! What a run tells those who watch it: snapshots, never a message per record.

use crate::PhaseKind;
use std::sync::Arc;

/// How far one phase is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseProgress {
    /// Requests sent.
    pub sent: u64,
    /// Requests that came back, failed ones included.
    pub completed: u64,
    /// Of these, failed ones.
    pub errors: u64,
    /// Cancelled from outside.
    pub cancelled: u64,
    /// Sessions started.
    pub sessions_sent: u64,
    /// Sessions finished.
    pub sessions_completed: u64,
}

/// The state of a run, published about ten times a second.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Name of the phase now running.
    pub phase: Option<Arc<str>>,
    /// Its kind.
    pub kind: Option<PhaseKind>,
    /// Requests it will send, when known.
    pub expected: Option<u64>,
    /// Its length in nanoseconds, when it is bound by time.
    pub length_ns: Option<u64>,
    /// Time since it started, in nanoseconds.
    pub elapsed_ns: u64,
    /// Its counters.
    pub counts: PhaseProgress,
    /// Whether it stopped sending and waits for what is in flight.
    pub draining: bool,
    /// Records computed so far, all phases.
    pub records: u64,
    /// Records waiting to be computed.
    pub backlog: u64,
    /// The run is over.
    pub finished: bool,
}
