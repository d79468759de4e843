//! What goes into the schedule and what comes out.

use aiperf_types::{MonoNs, Nanos, PhaseIndex, PhaseProgress};

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request came back, and its response ended at an instant that may be before it was looked at: what follows
    /// after a delay counts from there. What names a request that is not in flight changes nothing.
    Returned { session: u64, turn: u32, end: RequestEnd, at: MonoNs },
    /// The first content of a request came: once for each with [`Dispatch::awaits_first_content`].
    FirstContent { session: u64, turn: u32 },
    /// What had to be done before a phase is done.
    HooksDone(PhaseIndex),
    /// Records of a phase were computed, in order of completion: so many without an error, then so many with one.
    Recorded { phase: PhaseIndex, answered: u64, failed: u64 },
    /// A phase has measured enough: it sends no more, as if its number of requests was reached.
    Enough(PhaseIndex),
    /// Finished exchanges wait past their budget: send nothing new.
    Hold,
    /// They no longer do.
    Release,
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Something has to be done before a phase starts.
    AskHooks(PhaseIndex),
    /// A phase starts now.
    Start(PhaseIndex),
    Send(Dispatch),
    /// A phase sends no more.
    SendingComplete(PhaseIndex, PhaseProgress),
    /// Cancel everything a phase has in flight.
    Cancel(PhaseIndex),
    /// Too large a share of a phase's requests failed: so many records, and of these so many failed. The run ends.
    TooManyFailed {
        phase: PhaseIndex,
        records: u64,
        failed: u64,
    },
    /// A phase's requests are done: how it ended, and its counters. None of its sessions goes on.
    Complete(PhaseIndex, PhaseEnd, PhaseProgress),
    /// All phases are over.
    Finished,
}

/// How a phase ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseEnd {
    /// Its time was up before its counts were reached.
    pub timed_out: bool,
    /// It had measured enough before its counts were reached and its time was up.
    pub enough: bool,
    /// The grace period ran out and requests in flight were cancelled.
    pub grace_expired: bool,
    /// The user stopped it.
    pub stopped: bool,
    /// Requests that never came back, even after being cancelled.
    pub lost: u64,
}

/// A request to send: one turn of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dispatch {
    pub phase: PhaseIndex,
    /// Its number within the phase, from 0.
    pub number: u64,
    /// Number of its session within the run, from 0.
    pub session: u64,
    pub identity: Identity,
    /// Which draw gave the session its conversation.
    pub draw: Draw,
    /// Which conversation of the dataset it sends.
    pub conversation: u32,
    pub turn: u32,
    /// Turns that the session sends in all, unless its phase ends before.
    pub turns: u32,
    /// Which of the plan's URLs the session goes to.
    pub url: u32,
    /// When it should be sent.
    pub intended: MonoNs,
    /// How long after it was sent it is given up on purpose, if it is.
    pub cancel_after: Option<Nanos>,
    /// The schedule waits for its first content.
    pub awaits_first_content: bool,
    /// When it was sent in the recording that it replays, in milliseconds.
    pub scheduled_send_ms: Option<f64>,
}

impl Dispatch {
    pub fn is_first(&self) -> bool {
        self.turn == 0
    }

    pub fn is_last(&self) -> bool {
        self.turn + 1 >= self.turns
    }
}

/// What a session is known by outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// An id of its own.
    #[default]
    Drawn,
    /// The conversation that it replays.
    Conversation,
    /// Its user, by number.
    User(u64),
}

/// The draw that gave a session its conversation: the order it was drawn from, and how many were drawn before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Draw {
    pub order: OrderId,
    pub position: u64,
}

/// Which order conversations are drawn from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrderId {
    /// That of the sampler, which goes on from phase to phase.
    #[default]
    Sampled,
    /// That of a recording, which a phase replays from its begin.
    Replayed(PhaseIndex),
}

impl Draw {
    pub(crate) const fn sampled(position: u64) -> Self {
        Self { order: OrderId::Sampled, position }
    }

    pub(crate) const fn replayed(phase: PhaseIndex, position: u64) -> Self {
        Self { order: OrderId::Replayed(phase), position }
    }
}
