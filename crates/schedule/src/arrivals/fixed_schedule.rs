//! By the timestamps of a recording: each conversation once, its turns at their own timestamps, none before the turn
//! before it is back.

use super::after_delay;
use super::timed::SessionStarts;
use crate::dispatcher::{Dispatcher, NewSession};
use crate::message::{Draw, Identity};
use crate::replay::{begins, replay_order};
use crate::sessions::LiveSession;
use aiperf_plan::ScheduleZero;
use aiperf_types::{MonoNs, Nanos, Shapes};

#[derive(Debug)]
pub(super) struct FixedSchedule {
    /// Conversations by when they begin.
    order: Vec<u32>,
    /// How many of these were taken, and when the next begins.
    taken: usize,
    next: Option<MonoNs>,
    clock: RecordedClock,
    requests: u64,
}

/// Turns timestamps of a recording into instants of a phase.
#[derive(Clone, Copy, Debug)]
struct RecordedClock {
    started: MonoNs,
    zero_ms: f64,
}

impl RecordedClock {
    /// What was before the recording's zero is due at once.
    fn instant(&self, timestamp_ms: f64) -> MonoNs {
        self.started.plus(Nanos(((timestamp_ms - self.zero_ms) * 1e6).round() as u64))
    }
}

impl FixedSchedule {
    /// Of every conversation with a turn. One without a timestamp begins with the phase.
    pub(super) fn new(zero: ScheduleZero, shapes: &Shapes, now: MonoNs) -> Self {
        let order = replay_order(shapes);
        let first = order.iter().map(|conversation| begins(shapes, *conversation)).find(|at| at.is_finite());
        let zero_ms = match zero {
            ScheduleZero::First => first.unwrap_or(0.0),
            ScheduleZero::At(zero_ms) => zero_ms,
        };
        let requests = order.iter().map(|conversation| u64::from(shapes.turns(*conversation))).sum();
        let mut schedule =
            Self { order, taken: 0, next: None, clock: RecordedClock { started: now, zero_ms }, requests };
        schedule.look_ahead(shapes);
        schedule
    }

    fn look_ahead(&mut self, shapes: &Shapes) {
        let next = self.order.get(self.taken).map(|conversation| shapes.turn(*conversation, 0).timestamp_ms);
        self.next = next.map(|at| at.map_or(self.clock.started, |at| self.clock.instant(at)));
    }

    /// Requests of the whole recording.
    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// Conversations of the whole recording.
    pub(super) fn sessions(&self) -> u64 {
        self.order.len() as u64
    }
}

impl SessionStarts for FixedSchedule {
    fn next(&self) -> Option<MonoNs> {
        self.next
    }

    fn start(&mut self, out: &mut Dispatcher<'_>) -> Option<NewSession> {
        let (conversation, planned) = (*self.order.get(self.taken)?, self.next?);
        let draw = Draw::replayed(out.phase.index(), self.taken as u64);
        self.taken += 1;
        self.look_ahead(&out.setup.shapes);
        let turns = out.setup.shapes.turns(conversation);
        Some(NewSession { draw, conversation, turns, identity: Identity::Conversation, planned })
    }

    fn due_by(&self, instant: MonoNs, shapes: &Shapes) -> u64 {
        let begins = |conversation: &u32| {
            let at = shapes.turn(*conversation, 0).timestamp_ms;
            at.map_or(self.clock.started, |at| self.clock.instant(at))
        };
        self.order[self.taken..].partition_point(|conversation| begins(conversation) <= instant) as u64
    }

    fn turn_due(&self, session: &LiveSession, shapes: &Shapes, now: MonoNs) -> MonoNs {
        match shapes.turn(session.conversation, session.turn).timestamp_ms {
            Some(recorded) => self.clock.instant(recorded).max(now),
            None => after_delay(session, shapes, now),
        }
    }
}
