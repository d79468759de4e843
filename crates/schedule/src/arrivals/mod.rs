//! When the requests of a phase go out, one file a kind.
//!
//! - `concurrency`: as fast as slots come free
//! - `rate`: at the ticks of a rate
//! - `timed`: sessions that begin at instants known beforehand, whose turns have instants of their own; of two kinds,
//!   [`user_centric`] and `fixed_schedule`

mod concurrency;
mod fixed_schedule;
mod rate;
mod timed;
pub mod user_centric;

use crate::dispatcher::Dispatcher;
use crate::phase::{Phase, Targets};
use crate::sessions::LiveSession;
use crate::setup::Setup;
use aiperf_plan::{Arrival, PhasePlan};
use aiperf_types::{MonoNs, Nanos, PhaseIndex, Shapes};
use std::fmt::Debug;

/// What a kind of arrivals must give.
pub(crate) trait Arrivals: Debug + Send {
    /// Sends all that is due and finds its slots.
    fn send_due(&mut self, out: &mut Dispatcher<'_>);

    /// When something will be due, if nothing happens before; not after `now` where there is more to send at once.
    fn next_due(&self, now: MonoNs) -> Option<MonoNs>;

    /// The phase sends no more: counts what was due by an instant and was not sent.
    fn count_unsent(&mut self, by: MonoNs, over: &mut Ending<'_>);

    /// A turn is back, and its session is now at its next one.
    fn turn_back(&mut self, number: u64, session: &mut LiveSession, shapes: &Shapes, now: MonoNs);
}

/// A phase that sends no more, and why it did not send all that was due.
pub(crate) struct Ending<'a> {
    pub(crate) phase: &'a mut Phase,
    pub(crate) shapes: &'a Shapes,
    pub(crate) is_held: bool,
    pub(crate) has_free_session: bool,
}

/// The arrivals of a phase that starts now, and the counts that end it.
pub(crate) fn arrivals(
    phase: PhaseIndex,
    plan: &PhasePlan,
    setup: &Setup,
    drawn: &mut u64,
    now: MonoNs,
) -> (Box<dyn Arrivals>, Targets) {
    let targets = Targets::of(plan);
    match &plan.arrival {
        Arrival::Concurrency => (Box::<concurrency::Concurrency>::default(), targets),
        Arrival::Rate { law, rate } => (Box::new(rate::Rate::new(phase, law, rate, setup, now)), targets),
        Arrival::UserCentric { users, rate } => {
            let starts = user_centric::UserCentric::new(*users, *rate, setup, drawn, now);
            (Box::new(timed::Timed::new(starts)), targets)
        }
        Arrival::FixedSchedule { zero } => {
            let starts = fixed_schedule::FixedSchedule::new(*zero, &setup.shapes, now);
            let targets = targets.capped(starts.requests(), starts.sessions());
            (Box::new(timed::Timed::new(starts)), targets)
        }
    }
}

/// When the next turn is due that waits for nothing but its delay.
fn after_delay(session: &LiveSession, shapes: &Shapes, now: MonoNs) -> MonoNs {
    now.plus(shapes.turn(session.conversation, session.turn).delay.unwrap_or(Nanos::ZERO))
}
