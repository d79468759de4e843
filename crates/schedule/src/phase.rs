//! One phase from start to end: its targets, its counters, and its states: sending, draining, cancelling, complete.

use crate::message::{PhaseEnd, RequestEnd};
use aiperf_plan::{CancellationDraws, Draws, PhasePlan};
use aiperf_types::{MonoNs, Nanos, PhaseIndex, PhaseKind, PhaseProgress};

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
    index: PhaseIndex,
    plan: PhasePlan,
    targets: Targets,
    started: MonoNs,
    state: PhaseState,
    counts: PhaseProgress,
    end: PhaseEnd,
    /// Sessions opened, of which some may wait for a slot before they send.
    opened: u64,
    /// Turns of sessions begun that will never be sent, because their session was cancelled.
    cut: u64,
    /// Which requests are given up on purpose, and after which time.
    cancellation: Option<(CancellationDraws, Nanos)>,
    cancel_drain: Nanos,
    cancelled_at: MonoNs,
}

/// Counts that end the sending of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    pub requests: Option<u64>,
    pub sessions: Option<u64>,
}

impl Targets {
    pub fn of(plan: &PhasePlan) -> Self {
        Self { requests: plan.requests(), sessions: plan.sessions() }
    }

    /// No more than these either.
    pub fn capped(self, requests: u64, sessions: u64) -> Self {
        let least = |own: Option<u64>, other: u64| Some(own.map_or(other, |own| own.min(other)));
        Self { requests: least(self.requests, requests), sessions: least(self.sessions, sessions) }
    }
}

impl Phase {
    /// Starts a phase now.
    pub fn start(
        index: PhaseIndex,
        plan: PhasePlan,
        targets: Targets,
        draws: &Draws,
        cancel_drain: Nanos,
        now: MonoNs,
    ) -> Self {
        let cancellation = plan.cancellation.filter(|_| plan.kind == PhaseKind::Profiling);
        Self {
            index,
            targets,
            started: now,
            state: PhaseState::Sending,
            counts: PhaseProgress::default(),
            end: PhaseEnd::default(),
            opened: 0,
            cut: 0,
            cancellation: cancellation.map(|given_up| (given_up.draws(draws, index.0), given_up.delay)),
            cancel_drain,
            cancelled_at: MonoNs(0),
            plan,
        }
    }

    pub fn index(&self) -> PhaseIndex {
        self.index
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

    /// Whether nothing of it is due at an instant of its own, but when a slot comes free.
    pub fn is_closed_loop(&self) -> bool {
        self.plan.arrival.is_closed_loop()
    }

    /// Whether a count is reached that ends its sending. Sessions that were begun send all their turns first.
    pub fn is_met(&self) -> bool {
        let PhaseProgress { sent, sessions_sent, session_turns, .. } = self.counts;
        self.targets.requests.is_some_and(|wanted| sent >= wanted)
            || self.targets.sessions.is_some_and(|wanted| sessions_sent >= wanted && sent + self.cut >= session_turns)
    }

    /// Whether its counts allow a new session.
    pub fn may_start(&self) -> bool {
        self.sessions_left() > 0 && self.requests_left() > 0
    }

    pub fn count_opened(&mut self) {
        self.opened += 1;
    }

    /// Counts a request as sent: its number, and after which time it is given up on purpose.
    pub fn count_sent(&mut self, turn: u32, turns: u32) -> (u64, Option<Nanos>) {
        let number = self.counts.sent;
        self.counts.sent += 1;
        if turn == 0 {
            self.counts.sessions_sent += 1;
            self.counts.session_turns += u64::from(turns);
        }
        let given_up = self.cancellation.as_ref().filter(|(draws, _)| draws.fall_on(number));
        (number, given_up.map(|(_, delay)| *delay))
    }

    /// Counts a request that came back, the last of its session or not.
    pub fn count_returned(&mut self, end: RequestEnd, is_last: bool) {
        match end {
            RequestEnd::Cancelled => {
                self.counts.cancelled += 1;
                self.counts.sessions_cancelled += u64::from(is_last);
            }
            RequestEnd::Answered | RequestEnd::Failed => {
                self.counts.completed += 1;
                self.counts.errors += u64::from(end == RequestEnd::Failed);
                self.counts.sessions_completed += u64::from(is_last);
            }
        }
    }

    /// Counts a request that no longer waits for its first content.
    pub fn count_prefill_released(&mut self) {
        self.counts.prefills_released += 1;
    }

    /// Counts turns that will never be sent.
    pub fn count_cut(&mut self, turns: u32) {
        self.cut += u64::from(turns);
    }

    /// Counts a request that was asked for.
    pub fn count_offered(&mut self) {
        self.counts.offered += 1;
    }

    /// Counts requests that were asked for and found no slot.
    pub fn count_missed(&mut self, requests: u64) {
        self.counts.offered += requests;
        self.counts.missed += requests;
    }

    /// Counts ticks of a rate that had nothing to send.
    pub fn count_idle(&mut self, ticks: u64) {
        self.counts.idle += ticks;
    }

    /// Counts requests that were due and that nothing but this client kept back, when the sending is over.
    pub fn count_unsent_held(&mut self, requests: u64) {
        self.counts.offered += requests;
        self.counts.unsent_held += requests;
    }

    /// Counts requests that were due and waited for a slot of a session, when the sending is over.
    pub fn count_unsent_waiting(&mut self, requests: u64) {
        self.counts.offered += requests;
        self.count_unsent_parked(requests);
    }

    /// Counts requests that were offered and waited for a slot of a prefill, when the sending is over.
    pub fn count_unsent_parked(&mut self, requests: u64) {
        self.counts.unsent_waiting += requests;
    }

    /// Requests that its count allows yet.
    pub fn requests_left(&self) -> u64 {
        self.targets.requests.map_or(u64::MAX, |wanted| wanted.saturating_sub(self.counts.sent))
    }

    /// Sessions that its count allows yet.
    pub fn sessions_left(&self) -> u64 {
        self.targets.sessions.map_or(u64::MAX, |wanted| wanted.saturating_sub(self.opened))
    }

    /// The schedule was moved by so much.
    pub fn count_slip(&mut self, by: Nanos) {
        self.counts.slip = Nanos(self.counts.slip.0.saturating_add(by.0));
    }

    /// The last instant before now at which something of it may be due.
    pub fn last_due(&self, now: MonoNs) -> MonoNs {
        self.send_deadline().map_or(now, |end| now.min(MonoNs(end.0.saturating_sub(1))))
    }

    /// When its time is up, if it has one.
    pub fn send_deadline(&self) -> Option<MonoNs> {
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
            PhaseState::Draining | PhaseState::Cancelling if self.counts.in_flight() == 0 => PhaseState::Complete,
            PhaseState::Draining if self.drain_deadline().is_some_and(|at| now >= at) => {
                self.end.grace_expired = true;
                self.cancelled_at = now;
                PhaseState::Cancelling
            }
            PhaseState::Cancelling if now.since(self.cancelled_at) >= self.cancel_drain => {
                self.end.lost = self.counts.in_flight();
                PhaseState::Complete
            }
            _ => return None,
        };
        self.state = next;
        Some(next)
    }

    /// It has measured enough: what it has sent is its number of requests.
    pub fn end_sending(&mut self) {
        if self.state == PhaseState::Sending && !self.is_met() {
            self.targets.requests = Some(self.counts.sent);
            self.end.enough = true;
        }
    }

    /// The run is stopped: what is in flight is cancelled, unless it is already.
    pub fn stop(&mut self, now: MonoNs) {
        self.end.stopped = true;
        if self.state != PhaseState::Cancelling {
            self.cancelled_at = now;
            self.state = PhaseState::Cancelling;
        }
    }

    /// When to look again if nothing happens before.
    pub fn next_deadline(&self) -> Option<MonoNs> {
        match self.state {
            PhaseState::Sending => self.send_deadline(),
            PhaseState::Draining => self.drain_deadline(),
            PhaseState::Cancelling => Some(self.cancelled_at.plus(self.cancel_drain)),
            PhaseState::Complete => None,
        }
    }
}
