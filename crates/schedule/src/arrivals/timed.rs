//! Sessions that begin at instants known beforehand, and whose turns have instants of their own. A limit delays them,
//! first come first served, and drops none.

use super::{Arrivals, Ending};
use crate::dispatcher::{Dispatcher, NewSession};
use crate::sessions::LiveSession;
use crate::turns::{DelayedTurns, PrefillQueue};
use aiperf_types::{MonoNs, Shapes};
use std::fmt::Debug;

/// Which sessions begin when.
pub(super) trait SessionStarts: Debug + Send {
    /// When the next one begins.
    fn next(&self) -> Option<MonoNs>;

    /// Takes the next one.
    fn start(&mut self, out: &mut Dispatcher<'_>) -> Option<NewSession>;

    /// How many begin by an instant, of those that are known.
    fn due_by(&self, instant: MonoNs, shapes: &Shapes) -> u64;

    /// When the next turn of a session is due, now that the one before it is back.
    fn turn_due(&self, session: &LiveSession, shapes: &Shapes, now: MonoNs) -> MonoNs;
}

#[derive(Debug)]
pub(super) struct Timed<S> {
    starts: S,
    turns: DelayedTurns,
    parked: PrefillQueue,
}

impl<S: SessionStarts> Timed<S> {
    pub(super) fn new(starts: S) -> Self {
        Self { starts, turns: DelayedTurns::default(), parked: PrefillQueue::default() }
    }

    /// When the next session begins, if it may and its time has come.
    fn startable(&self, out: &Dispatcher<'_>) -> Option<MonoNs> {
        self.starts.next().filter(|at| *at <= out.now && out.may_start() && out.slots.sessions.has_free())
    }
}

impl<S: SessionStarts> Arrivals for Timed<S> {
    fn send_due(&mut self, out: &mut Dispatcher<'_>) {
        self.parked.send(out);
        while out.may_send() {
            let start = self.startable(out);
            // In the order in which they are due; of equal ones, who is under way goes first.
            let until = start.map_or(out.now, |start| start.min(out.now));
            if let Some((due, session)) = self.turns.pop_due(until) {
                out.phase.count_offered();
                self.parked.send_or_queue(session, due, out);
            } else if start.is_some()
                && let Some(slot) = out.slots.sessions.take()
            {
                match self.starts.start(out) {
                    Some(new) => {
                        let planned = new.planned;
                        let session = out.open(new, slot);
                        out.phase.count_offered();
                        self.parked.send_or_queue(session, planned, out);
                    }
                    None => {
                        out.slots.sessions.give_back(slot);
                        return;
                    }
                }
            } else {
                return;
            }
        }
    }

    fn next_due(&self, now: MonoNs) -> Option<MonoNs> {
        [self.turns.next(), self.starts.next()].into_iter().flatten().filter(|at| *at > now && at.0 < u64::MAX).min()
    }

    fn count_unsent(&mut self, by: MonoNs, over: &mut Ending<'_>) {
        let Ending { phase, shapes, is_held, has_free_session } = over;
        phase.count_unsent_parked(self.parked.len());
        let requests = phase.requests_left().saturating_sub(self.parked.len());
        let turns = self.turns.due_by(by).min(requests);
        let starts = self.starts.due_by(by, shapes).min(phase.sessions_left()).min(requests - turns);
        phase.count_unsent_held(turns);
        match *is_held || *has_free_session {
            true => phase.count_unsent_held(starts),
            false => phase.count_unsent_waiting(starts),
        }
    }

    fn turn_back(&mut self, number: u64, session: &mut LiveSession, shapes: &Shapes, now: MonoNs) {
        session.planned = self.starts.turn_due(session, shapes, now);
        self.turns.push(session.planned, number);
    }
}
