//! One phase from start to end: started, sending, draining, complete.

use aiperf_plan::PhasePlan;
use aiperf_types::{MonoNs, Nanos, PhaseProgress};

/// How long cancelled requests may take to come back before the phase ends without them.
const CANCEL_DRAIN: Nanos = Nanos(10_000_000_000);

/// How a phase ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseEnd {
    /// Its time was up before its counts were reached.
    pub timed_out: bool,
    /// The grace period ran out and requests in flight were cancelled.
    pub grace_expired: bool,
    /// The user stopped it.
    pub stopped: bool,
    /// Requests that never came back, even after being cancelled.
    pub lost: u64,
}

/// What a phase does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseState {
    Sending,
    /// No more go out; some are in flight.
    Draining,
    /// In-flight requests were cancelled and are awaited.
    Cancelling,
    Complete,
}

/// A running phase.
#[derive(Clone, Debug)]
pub struct Phase {
    plan: PhasePlan,
    started: MonoNs,
    state: PhaseState,
    counts: PhaseProgress,
    end: PhaseEnd,
    cancelled_at: MonoNs,
}

impl Phase {
    /// Starts a phase now.
    pub fn start(plan: PhasePlan, now: MonoNs) -> Self {
        let (counts, end) = (PhaseProgress::default(), PhaseEnd::default());
        Self { plan, started: now, state: PhaseState::Sending, counts, end, cancelled_at: MonoNs(0) }
    }

    /// What it does now.
    pub fn state(&self) -> PhaseState {
        self.state
    }

    pub fn counts(&self) -> &PhaseProgress {
        &self.counts
    }

    pub fn started(&self) -> MonoNs {
        self.started
    }

    /// How it ended, or would if it ended now.
    pub fn end(&self) -> PhaseEnd {
        self.end
    }

    pub fn in_flight(&self) -> u64 {
        self.counts.sent - self.counts.completed - self.counts.cancelled
    }

    /// Whether a request may go out now: sending, and a slot is free.
    pub fn may_send(&self) -> bool {
        self.state == PhaseState::Sending
            && self.plan.concurrency.is_none_or(|limit| self.in_flight() < u64::from(limit))
    }

    /// Counts a request as sent and gives its number; the request that meets a target ends the sending.
    pub fn count_sent(&mut self) -> u64 {
        let number = self.counts.sent;
        self.counts.sent += 1;
        self.counts.sessions_sent += 1;
        number
    }

    /// Counts a request that came back.
    pub fn count_returned(&mut self, end: crate::RequestEnd) {
        match end {
            crate::RequestEnd::Cancelled => self.counts.cancelled += 1,
            crate::RequestEnd::Failed => {
                self.counts.completed += 1;
                self.counts.errors += 1;
                self.counts.sessions_completed += 1;
            }
            crate::RequestEnd::Answered => {
                self.counts.completed += 1;
                self.counts.sessions_completed += 1;
            }
        }
    }

    fn is_met(&self) -> bool {
        self.plan.requests().is_some_and(|wanted| self.counts.sent >= wanted)
            || self.plan.sessions().is_some_and(|wanted| self.counts.sessions_sent >= wanted)
    }

    fn send_deadline(&self) -> Option<MonoNs> {
        self.plan.duration().map(|length| self.started.plus(length))
    }

    /// The instant after which what is in flight is cancelled: counted from the planned end even when a count ended
    /// the sending early; none without a time limit.
    fn drain_deadline(&self) -> Option<MonoNs> {
        let end = self.send_deadline()?;
        self.plan.grace.map(|grace| end.plus(grace))
    }

    /// Takes the next step that time and counts allow; `None` when there is none.
    pub fn advance(&mut self, now: MonoNs) -> Option<PhaseState> {
        let next = match self.state {
            PhaseState::Sending if self.is_met() => PhaseState::Draining,
            PhaseState::Sending if self.send_deadline().is_some_and(|at| now >= at) => {
                self.end.timed_out = true;
                PhaseState::Draining
            }
            PhaseState::Draining if self.in_flight() == 0 => PhaseState::Complete,
            PhaseState::Draining if self.drain_deadline().is_some_and(|at| now >= at) => {
                self.end.grace_expired = true;
                self.cancelled_at = now;
                PhaseState::Cancelling
            }
            PhaseState::Cancelling if self.in_flight() == 0 => PhaseState::Complete,
            PhaseState::Cancelling if now.since(self.cancelled_at) >= CANCEL_DRAIN => {
                self.end.lost = self.in_flight();
                PhaseState::Complete
            }
            _ => return None,
        };
        self.state = next;
        Some(next)
    }

    /// The user stops the run: cancel what is in flight.
    pub fn stop(&mut self, now: MonoNs) {
        self.end.stopped = true;
        self.cancelled_at = now;
        self.state = PhaseState::Cancelling;
    }

    /// When to look again if nothing happens before.
    pub fn next_deadline(&self) -> Option<MonoNs> {
        match self.state {
            PhaseState::Sending => self.send_deadline(),
            PhaseState::Draining => self.drain_deadline(),
            PhaseState::Cancelling => Some(self.cancelled_at.plus(CANCEL_DRAIN)),
            PhaseState::Complete => None,
        }
    }
}
