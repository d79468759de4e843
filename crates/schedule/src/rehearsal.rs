//! A schedule in virtual time, against a server that is only assumed: everything that a run would send, in order and
//! without waiting.
//!
//! What is kept is what is in flight, so a rehearsal takes no more memory for a longer run.

use crate::assumed::{AssumedServer, ResponseTimes};
use crate::message::{Action, Dispatch, Event, PhaseEnd, RequestEnd};
use crate::phase::PhaseState;
use crate::schedule::Schedule;
use crate::setup::Setup;
use aiperf_types::{MonoNs, Nanos, PhaseIndex, PhaseProgress};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// Where virtual time begins: an instant of zero would be one that was never taken.
const START: MonoNs = MonoNs(1_000_000_000);

/// Something that happens in a rehearsal, and when, since its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RehearsalEvent {
    pub at: Nanos,
    pub what: RehearsalKind,
}

/// What happens in a rehearsal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RehearsalKind {
    Started(PhaseIndex),
    /// A request goes out, with when it should have, since the start.
    Sent(Dispatch, Nanos),
    /// So many requests are dropped, because their time came and no slot was free.
    Missed(PhaseIndex, u64),
    /// The first content of a request comes.
    FirstContent(RehearsedRequest),
    Returned(RehearsedRequest, RequestEnd),
    SendingComplete(PhaseIndex, PhaseProgress),
    Complete(PhaseIndex, PhaseEnd, PhaseProgress),
}

/// A request that something comes of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RehearsedRequest {
    pub phase: PhaseIndex,
    pub session: u64,
    pub turn: u32,
    /// Whether its session sends no more after it.
    pub is_last: bool,
    /// Whether its first content has come.
    pub has_content: bool,
}

/// What a request is waited for, in the order in which it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    FirstContent,
    Return,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    rehearsed: RehearsedRequest,
    /// How it ends, unless it is cancelled.
    end: RequestEnd,
    awaits_first_content: bool,
}

/// What comes when, the earliest first, and of one instant in the order of sending.
type Waiting = BinaryHeap<Reverse<(MonoNs, u64, Due, u64)>>;

/// A run rehearsed: an iterator over all that happens in it.
#[derive(Debug)]
pub struct Rehearsal {
    schedule: Schedule,
    response_times: Vec<ResponseTimes>,
    now: MonoNs,
    deadline: Option<MonoNs>,
    waiting: Waiting,
    /// By session: each has one request in flight at most.
    in_flight: HashMap<u64, InFlight>,
    /// Requests sent so far.
    sent: u64,
    /// Requests dropped so far, by phase.
    missed: Vec<u64>,
    happened: VecDeque<RehearsalEvent>,
    actions: Vec<Action>,
    is_begun: bool,
    is_over: bool,
}

impl Rehearsal {
    /// Of a schedule that waits for nothing but its server.
    pub fn new(setup: Setup, server: AssumedServer) -> Self {
        let phases = 0..setup.phases.len();
        Self {
            missed: vec![0; phases.len()],
            response_times: phases.map(|phase| ResponseTimes::of_phase(server, &setup.draws, phase)).collect(),
            schedule: Schedule::new(Setup { asks_hooks: false, ..setup }),
            now: START,
            deadline: None,
            waiting: Waiting::new(),
            in_flight: HashMap::new(),
            sent: 0,
            happened: VecDeque::new(),
            actions: Vec::new(),
            is_begun: false,
            is_over: false,
        }
    }

    fn note(&mut self, what: RehearsalKind) {
        self.happened.push_back(RehearsalEvent { at: self.now.since(START), what });
    }

    /// The schedule counts what it drops: what is new of that count is what was dropped now.
    fn note_missed(&mut self, phase: PhaseIndex, counts: &PhaseProgress) {
        let known = &mut self.missed[usize::from(phase.0)];
        let more = counts.missed - std::mem::replace(known, counts.missed);
        if more > 0 {
            self.note(RehearsalKind::Missed(phase, more));
        }
    }

    fn note_missed_of_running(&mut self) {
        let news = |&(phase, counts, ..): &(PhaseIndex, &PhaseProgress, PhaseState, MonoNs)| {
            counts.missed > self.missed[usize::from(phase.0)]
        };
        // One phase at a time sends, so one at most drops.
        let news = self.schedule.running().find(news).map(|(phase, counts, ..)| (phase, *counts));
        if let Some((phase, counts)) = news {
            self.note_missed(phase, &counts);
        }
    }

    /// Goes on to whatever comes next. `false` when nothing does.
    fn advance(&mut self) -> bool {
        if self.is_begun {
            let next = self.waiting.peek().map(|Reverse((at, ..))| *at).into_iter().chain(self.deadline).min();
            let Some(next) = next else { return false };
            self.now = self.now.max(next);
        }
        self.is_begun = true;
        let event = self.next_event();
        // A wake for nothing: what came is no event of the schedule.
        if event.is_none() && self.deadline.is_some_and(|deadline| deadline > self.now) {
            return true;
        }
        let mut actions = std::mem::take(&mut self.actions);
        self.deadline = self.schedule.poll(self.now, event, &mut actions);
        actions.drain(..).for_each(|action| self.act(action));
        self.actions = actions;
        self.note_missed_of_running();
        true
    }

    /// What the server has done by now, if it is an event of the schedule.
    fn next_event(&mut self) -> Option<Event> {
        while self.waiting.peek().is_some_and(|Reverse((at, ..))| *at <= self.now) {
            let Reverse((_, _, due, session)) = self.waiting.pop()?;
            let Some(request) = self.in_flight.get_mut(&session) else { continue };
            request.rehearsed.has_content |= due == Due::FirstContent;
            let (request, turn) = (*request, request.rehearsed.turn);
            match due {
                Due::FirstContent => {
                    self.note(RehearsalKind::FirstContent(request.rehearsed));
                    if request.awaits_first_content {
                        return Some(Event::FirstContent { session, turn });
                    }
                }
                Due::Return => {
                    self.in_flight.remove(&session);
                    self.note(RehearsalKind::Returned(request.rehearsed, request.end));
                    return Some(Event::Returned { session, turn, end: request.end, at: self.now });
                }
            }
        }
        None
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Start(phase) => self.note(RehearsalKind::Started(phase)),
            Action::Send(dispatch) => self.send(dispatch),
            Action::SendingComplete(phase, counts) => {
                self.note_missed(phase, &counts);
                self.note(RehearsalKind::SendingComplete(phase, counts));
            }
            Action::Cancel(phase) => self.cancel(phase),
            // Nothing has to be done before a phase, and no record is ever bad: nothing is recorded.
            Action::AskHooks(_) | Action::TooManyFailed { .. } => {}
            Action::Complete(phase, end, counts) => self.note(RehearsalKind::Complete(phase, end, counts)),
            Action::Finished => self.is_over = true,
        }
    }

    fn send(&mut self, dispatch: Dispatch) {
        let Dispatch { phase, session, turn, .. } = dispatch;
        let (ttft, latency) = self.response_times[usize::from(phase.0)].times(dispatch.number);
        // One that is given up on purpose fails when it is.
        let (after, end) = match dispatch.cancel_after {
            Some(given_up) if given_up < latency => (given_up, RequestEnd::Failed),
            _ => (latency, RequestEnd::Answered),
        };
        let rehearsed = RehearsedRequest { phase, session, turn, is_last: dispatch.is_last(), has_content: false };
        let number = self.sent;
        self.sent += 1;
        self.in_flight
            .insert(session, InFlight { rehearsed, end, awaits_first_content: dispatch.awaits_first_content });
        if ttft <= after {
            self.waiting.push(Reverse((self.now.plus(ttft), number, Due::FirstContent, session)));
        }
        self.waiting.push(Reverse((self.now.plus(after), number, Due::Return, session)));
        self.note(RehearsalKind::Sent(dispatch, dispatch.intended.since(START)));
    }

    /// Everything that a phase has in flight comes back now, in the order in which it was sent.
    fn cancel(&mut self, phase: PhaseIndex) {
        let waiting = std::mem::take(&mut self.waiting).into_vec();
        let (cut, kept): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|Reverse((.., session))| {
            self.in_flight.get(session).is_some_and(|request| request.rehearsed.phase == phase)
        });
        self.waiting = Waiting::from(kept);
        for Reverse((_, number, due, session)) in cut {
            if due == Due::Return {
                self.waiting.push(Reverse((self.now, number, due, session)));
                if let Some(request) = self.in_flight.get_mut(&session) {
                    request.end = RequestEnd::Cancelled;
                }
            }
        }
    }
}

impl Iterator for Rehearsal {
    type Item = RehearsalEvent;

    fn next(&mut self) -> Option<RehearsalEvent> {
        while self.happened.is_empty() && !self.is_over && self.advance() {}
        self.happened.pop_front()
    }
}
