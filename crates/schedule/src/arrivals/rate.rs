//! At the ticks of a rate: one request a tick at most. Sessions that are under way go on first; a new one begins only
//! where it finds its slots at once, or else the tick is missed.

use super::{Arrivals, Ending, after_delay};
use crate::dispatcher::Dispatcher;
use crate::intervals::Intervals;
use crate::rate_curve::RateCurve;
use crate::sessions::LiveSession;
use crate::setup::Setup;
use crate::turns::{DelayedTurns, PrefillQueue};
use aiperf_plan::{ArrivalLaw, RatePlan};
use aiperf_types::{MonoNs, Nanos, PhaseIndex, Shapes};

/// Requests sent in one go at most: the caller has responses to read meanwhile.
const REQUESTS_AT_ONCE: usize = 1024;

/// Ticks that are drawn though nothing comes of them, in one go at most.
const TICKS_DRAWN_AT_ONCE: u64 = 65_536;

#[derive(Debug)]
pub(super) struct Rate {
    curve: RateCurve,
    intervals: Intervals,
    /// Requests that the rate has to have asked for when the next tick is due, on average: the sum of what was drawn.
    mass: f64,
    /// Where the curve begins: the start of the phase, and later where what could not be caught up was given up.
    zero: MonoNs,
    due: MonoNs,
    max_catchup: Option<Nanos>,
    turns: DelayedTurns,
    /// Turns that had their tick and wait for a slot; the ticks go on.
    parked: PrefillQueue,
}

impl Rate {
    pub(super) fn new(phase: PhaseIndex, law: &ArrivalLaw, rate: &RatePlan, setup: &Setup, now: MonoNs) -> Self {
        let purpose = setup.draws.purpose(&format!("arrival_interval:{}", phase.0));
        let mut ticks = Self {
            curve: RateCurve::of_phase(rate, setup, phase),
            intervals: Intervals::new(law, &purpose),
            mass: 0.0,
            zero: now,
            due: now,
            max_catchup: setup.timing.max_catchup,
            turns: DelayedTurns::default(),
            parked: PrefillQueue::default(),
        };
        ticks.plan_next();
        ticks
    }

    fn plan_next(&mut self) {
        self.mass += self.intervals.next();
        self.due = self.zero.plus(self.curve.instant_of(self.mass));
    }

    /// Passes over the ticks that are due by an instant; how many they were. Past what is drawn in no time they are as
    /// many as the rate gives on average, so that no rate takes longer.
    fn pass_over(&mut self, instant: MonoNs) -> u64 {
        let mut ticks = 0;
        while self.due <= instant && ticks < TICKS_DRAWN_AT_ONCE {
            ticks += 1;
            self.plan_next();
        }
        if self.due <= instant {
            let more = (self.curve.expected(instant.since(self.zero)) - self.mass).max(0.0).floor();
            ticks += more as u64 + 1;
            self.mass += more;
            self.plan_next();
        }
        ticks
    }
}

impl Arrivals for Rate {
    fn send_due(&mut self, out: &mut Dispatcher<'_>) {
        self.parked.send(out);
        for _ in 0..REQUESTS_AT_ONCE {
            if self.due > out.now || !out.may_send() {
                return;
            }
            let late = out.now.since(self.due);
            if self.max_catchup.is_some_and(|most| late > most) {
                self.zero = self.zero.plus(late);
                self.due = out.now;
                out.phase.count_slip(late);
            }
            let tick = self.due;
            self.plan_next();
            if let Some((due, session)) = self.turns.pop_due(out.now) {
                out.phase.count_offered();
                // A late tick may find a turn that was not due when it was.
                self.parked.send_or_queue(session, tick.max(due), out);
            } else if out.may_start() {
                match out.take_both() {
                    Some((slot, prefill)) => {
                        out.phase.count_offered();
                        out.start(tick, slot, prefill);
                    }
                    // No slot comes free before responses are read.
                    None => out.phase.count_missed(1 + self.pass_over(out.now)),
                }
            } else {
                // All sessions are begun, and none has a turn due: there is nothing to offer.
                out.phase.count_idle(1 + self.pass_over(out.now));
            }
        }
    }

    fn next_due(&self, _: MonoNs) -> Option<MonoNs> {
        Some(self.due).filter(|due| due.0 < u64::MAX)
    }

    fn count_unsent(&mut self, by: MonoNs, over: &mut Ending<'_>) {
        let phase = &mut *over.phase;
        phase.count_unsent_parked(self.parked.len());
        if phase.is_met() {
            return;
        }
        let ticks = self.pass_over(by);
        let wanted = ticks.min(phase.requests_left().saturating_sub(self.parked.len()));
        let offers = wanted.min(phase.sessions_left().saturating_add(self.turns.due_by(by)));
        phase.count_unsent_held(offers);
        phase.count_idle(wanted - offers);
    }

    fn turn_back(&mut self, number: u64, session: &mut LiveSession, shapes: &Shapes, now: MonoNs) {
        self.turns.push(after_delay(session, shapes, now), number);
    }
}
