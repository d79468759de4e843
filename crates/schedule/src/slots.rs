//! The slots that all phases share: for live sessions, and for requests without a first content.
//!
//! Only one phase sends at a time, the latest, and its limits are the limits. What phases before it still have in flight
//! counts under them, so one limit for all is as good as one a phase beside it.

use crate::limit::Limit;
use crate::ramp::LimitSteps;
use aiperf_plan::draw::Purpose;
use aiperf_plan::{Draws, PhasePlan, Ramp};
use aiperf_types::{MonoNs, PhaseIndex};

#[derive(Debug, Default)]
pub struct Slots {
    pub sessions: Limit,
    pub prefills: Limit,
    /// Limits that are still climbing.
    climbs: Vec<Climb>,
}

#[derive(Debug)]
struct Climb {
    of: fn(&mut Slots) -> &mut Limit,
    steps: LimitSteps,
    /// The next step and when it is due.
    next: (MonoNs, u32),
    started: MonoNs,
}

impl Slots {
    /// A phase starts: from now on its limits are those that hold.
    pub fn begin(&mut self, phase: PhaseIndex, plan: &PhasePlan, draws: &Draws, now: MonoNs) {
        self.climbs.clear();
        let purpose = |what: &str| draws.purpose(&format!("{what}:{}", phase.0));
        self.set(
            |slots| &mut slots.sessions,
            plan.session_limit(),
            plan.concurrency_ramp,
            purpose("concurrency_ramp"),
            now,
        );
        let (limit, ramp) = (plan.prefill_concurrency, plan.prefill_ramp);
        self.set(|slots| &mut slots.prefills, limit, ramp, purpose("prefill_ramp"), now);
        self.climb(now);
    }

    fn set(
        &mut self,
        of: fn(&mut Self) -> &mut Limit,
        limit: Option<u32>,
        ramp: Option<Ramp>,
        purpose: Purpose,
        started: MonoNs,
    ) {
        of(self).set(limit);
        let Some((target, ramp)) = limit.zip(ramp) else { return };
        let mut steps = LimitSteps::new(target, &ramp, &purpose);
        if let Some((after, value)) = steps.next() {
            self.climbs.push(Climb { of, steps, next: (started.plus(after), value), started });
        }
    }

    /// Takes the steps that are due.
    pub fn climb(&mut self, now: MonoNs) {
        if self.climbs.is_empty() {
            return;
        }
        let mut climbs = std::mem::take(&mut self.climbs);
        climbs.retain_mut(|climb| {
            while climb.next.0 <= now {
                (climb.of)(self).set(Some(climb.next.1));
                let Some((after, value)) = climb.steps.next() else { return false };
                climb.next = (climb.started.plus(after), value);
            }
            true
        });
        self.climbs = climbs;
    }

    /// Limits stay where they are: what climbs no longer does.
    pub fn stop_climbing(&mut self) {
        self.climbs.clear();
    }

    pub fn next_step(&self) -> Option<MonoNs> {
        self.climbs.iter().map(|climb| climb.next.0).min()
    }
}
