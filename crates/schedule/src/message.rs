//! What goes into the schedule and what comes out.

use crate::phase::PhaseEnd;
use aiperf_types::{MonoNs, PhaseIndex, PhaseProgress};

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request came back.
    Returned { phase: PhaseIndex, end: RequestEnd },
    /// Finished exchanges wait past their budget: send nothing new.
    Hold,
    /// They no longer do.
    Release,
    /// What had to be done before the next phase is done.
    MayStart,
    /// The user wants the run to end.
    Stop,
}

/// How a request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEnd {
    Answered,
    Failed,
    /// Cancelled by the run itself.
    Cancelled,
}

/// Something to do, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Something has to be done before a phase starts.
    AskToStart(PhaseIndex),
    /// A phase starts now.
    Start(PhaseIndex),
    Send(Dispatch),
    /// A phase sends no more.
    SendingComplete(PhaseIndex, PhaseProgress),
    /// Cancel everything a phase has in flight.
    Cancel(PhaseIndex),
    /// A phase's requests are done: how it ended, and its counters.
    Complete(PhaseIndex, PhaseEnd, PhaseProgress),
    /// All phases are over.
    Finished,
}

/// A request to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    pub phase: PhaseIndex,
    /// Its number within the phase, from 0.
    pub number: u64,
    /// Number of its session within the run, from 0.
    pub session: u64,
    /// Which draw of the dataset it says: a running number, which goes round the conversations.
    pub draw: u64,
    /// When it should be sent.
    pub intended: MonoNs,
}
