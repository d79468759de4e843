//! At the ticks of a rate: one request a tick at most. Sessions that are under way go on first; a new one begins only
//! where it finds its slots at once, or else the tick is missed.

use super::{Arrivals, after_delay};
use crate::intervals::Intervals;
use crate::rate_curve::RateCurve;
use crate::schedule::Setup;
use crate::sender::Sender;
use crate::sessions::Session;
use crate::turns::{DelayedTurns, Parked};
use aiperf_plan::{ArrivalLaw, RatePlan};
use aiperf_types::{MonoNs, Nanos, PhaseIndex, Shapes};

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
    parked: Parked,
}

impl Rate {
    pub(super) fn new(phase: PhaseIndex, law: &ArrivalLaw, rate: &RatePlan, setup: &Setup, now: MonoNs) -> Self {
        let purpose = setup.draws.purpose(&format!("arrival_interval:{}", phase.0));
        let mut ticks = Self {
            curve: RateCurve::of_phase(rate, setup, phase),
            intervals: Intervals::new(law, purpose),
            mass: 0.0,
            zero: now,
            due: now,
            max_catchup: setup.timing.max_catchup,
            turns: DelayedTurns::default(),
            parked: Parked::default(),
        };
        ticks.plan_next();
        ticks
    }

    fn plan_next(&mut self) {
        self.mass += self.intervals.next();
        self.due = self.zero.plus(self.curve.instant_of(self.mass));
    }
}

impl Arrivals for Rate {
    fn send_due(&mut self, out: &mut Sender<'_>) {
        self.parked.send(out);
        while self.due <= out.now && out.may_send() {
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
                self.parked.send_or_park(session, tick.max(due), out);
            } else if out.may_start() {
                match out.take_both() {
                    Some((slot, prefill)) => {
                        out.phase.count_offered();
                        out.start(tick, slot, prefill);
                    }
                    None => out.phase.count_missed(),
                }
            }
            // What is left are sessions whose next turn is not due: there was nothing to offer.
        }
    }

    fn next_due(&self, now: MonoNs) -> Option<MonoNs> {
        Some(self.due).filter(|due| *due > now && due.0 < u64::MAX)
    }

    fn turn_back(&mut self, number: u64, session: &mut Session, shapes: &Shapes, now: MonoNs) {
        self.turns.push(after_delay(session, shapes, now), number);
    }
}
