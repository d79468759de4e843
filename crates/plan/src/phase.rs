//! Phases: blocks of load with their own limits and ends.

use crate::arrival::Arrival;
use crate::cancellation::Cancellation;
use crate::ramp::Ramp;
use aiperf_types::{Nanos, PhaseKind};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One block of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhasePlan {
    /// Name, unique in the plan.
    pub name: String,
    pub kind: PhaseKind,
    pub arrival: Arrival,
    /// The user's limit of live sessions; [`Self::session_limit`] is the effective one.
    pub concurrency: Option<u32>,
    /// How the session limit is reached; `None`: at once.
    pub concurrency_ramp: Option<Ramp>,
    /// The most requests without a first token; `None` is no limit.
    pub prefill_concurrency: Option<u32>,
    pub prefill_ramp: Option<Ramp>,
    /// What ends sending: the first of these. At least one, unless the arrival ends by itself.
    pub stop: Vec<StopWhen>,
    /// How long to wait for requests in flight after a time limit; `None` waits without limit.
    pub grace: Option<Nanos>,
    /// Whether it starts as soon as the phase before it has sent its last request.
    pub seamless: bool,
    /// The share of failed requests above which the run ends; `None` is any.
    pub failed_request_threshold: Option<f64>,
    /// Requests that are cancelled on purpose; none in a warm-up.
    pub cancellation: Option<Cancellation>,
}

/// What ends the sending of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopWhen {
    /// This many requests were sent.
    Requests(u64),
    /// This long since the start.
    Elapsed(Nanos),
    /// This many sessions were started, and all their turns sent.
    Sessions(u64),
}

/// What a phase waits for before it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// All phases before it are complete.
    All,
    /// The phase directly before it is complete. Requests of earlier phases may still be in flight.
    OneBefore,
    /// The phase directly before it has sent its last request.
    SendingOfOneBefore,
}

/// Groups of phases that may have requests in flight at the same time, in order.
pub fn overlapping(phases: &[PhasePlan]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (index, phase) in phases.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if phase.may_start_beside(group.len()) => group.end = index + 1,
            _ => groups.push(index..index + 1),
        }
    }
    groups
}

impl PhasePlan {
    /// Whether it may start while one of the `before` overlapping phases before it has requests in flight.
    fn may_start_beside(&self, before: usize) -> bool {
        match self.waits_for() {
            WaitsFor::All => false,
            WaitsFor::OneBefore => before > 1,
            WaitsFor::SendingOfOneBefore => true,
        }
    }

    /// A phase named after its kind, without limits and without an end.
    pub fn new(kind: PhaseKind, arrival: Arrival) -> Self {
        Self {
            name: kind.name().to_owned(),
            kind,
            arrival,
            concurrency: None,
            concurrency_ramp: None,
            prefill_concurrency: None,
            prefill_ramp: None,
            stop: Vec::new(),
            grace: None,
            seamless: false,
            failed_request_threshold: None,
            cancellation: None,
        }
    }

    /// The request count that ends it, if one does.
    pub fn requests(&self) -> Option<u64> {
        self.stop.iter().find_map(|stop| if let StopWhen::Requests(n) = stop { Some(*n) } else { None })
    }

    /// The session count that ends it, if one does.
    pub fn sessions(&self) -> Option<u64> {
        self.stop.iter().find_map(|stop| if let StopWhen::Sessions(n) = stop { Some(*n) } else { None })
    }

    /// The most live sessions; `None` is no limit. A closed loop without a number has one: without a limit, its load
    /// would never end.
    pub fn session_limit(&self) -> Option<u32> {
        let fewest = self.arrival.is_closed_loop().then_some(1);
        self.concurrency.or(fewest)
    }

    /// What it waits for before it starts.
    pub fn waits_for(&self) -> WaitsFor {
        match (self.kind, self.seamless) {
            (PhaseKind::Warmup, _) => WaitsFor::All,
            (PhaseKind::Profiling, false) => WaitsFor::OneBefore,
            (PhaseKind::Profiling, true) => WaitsFor::SendingOfOneBefore,
        }
    }

    /// The most requests in flight at once: one per live session, and no more than it ever sends. `None` if nothing
    /// bounds them.
    pub fn peak_in_flight(&self) -> Option<u64> {
        [self.session_limit().map(u64::from), self.requests(), self.sessions()].into_iter().flatten().min()
    }

    /// The share of failed requests above which it ends the run. A warm-up never does.
    pub fn failure_threshold(&self) -> Option<f64> {
        self.failed_request_threshold.filter(|_| self.kind == PhaseKind::Profiling)
    }

    /// The time that ends it, if one does.
    pub fn duration(&self) -> Option<Nanos> {
        self.stop.iter().find_map(|stop| if let StopWhen::Elapsed(n) = stop { Some(*n) } else { None })
    }
}

/// The most requests that overlapping phases have in flight together. Requests of an earlier phase count in the limit
/// of the next, unless a phase has no limit.
pub(crate) fn peak_together(phases: &[PhasePlan]) -> Option<u64> {
    let all =
        phases.iter().map(PhasePlan::peak_in_flight).try_fold(0, |sum: u64, peak| Some(sum.saturating_add(peak?)))?;
    let limits: Option<Vec<u32>> = phases.iter().map(PhasePlan::session_limit).collect();
    let limit = limits.and_then(|limits| limits.into_iter().max());
    Some(limit.map_or(all, |limit| all.min(u64::from(limit))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: Arrival = Arrival::UserCentric { users: 100, rate: 1.0 };

    fn phase(arrival: Arrival, concurrency: Option<u32>, stop: StopWhen) -> PhasePlan {
        PhasePlan { concurrency, stop: vec![stop], ..PhasePlan::new(PhaseKind::Profiling, arrival) }
    }

    #[test]
    fn requests_in_flight_are_bounded_by_slots_and_by_the_number_to_send() {
        let peak = |concurrency, stop| phase(USERS, concurrency, stop).peak_in_flight();
        assert_eq!(peak(Some(64), StopWhen::Elapsed(Nanos(1))), Some(64));
        assert_eq!(peak(Some(64), StopWhen::Requests(10)), Some(10));
        assert_eq!(peak(None, StopWhen::Sessions(10)), Some(10));
        assert_eq!(peak(None, StopWhen::Elapsed(Nanos(1))), None);
    }

    #[test]
    fn a_closed_loop_without_a_number_has_one_slot() {
        let plan = phase(Arrival::Concurrency, None, StopWhen::Elapsed(Nanos(1)));
        assert_eq!((plan.session_limit(), plan.peak_in_flight()), (Some(1), Some(1)));
        assert_eq!(phase(USERS, None, StopWhen::Requests(9)).session_limit(), None);
    }

    #[test]
    fn phases_overlap_from_a_seamless_one_up_to_a_warm_up() {
        let of = |phases: &[(PhaseKind, bool)]| {
            let phase = |&(kind, seamless)| PhasePlan { seamless, ..PhasePlan::new(kind, Arrival::Concurrency) };
            let groups = overlapping(&phases.iter().map(phase).collect::<Vec<_>>());
            groups.iter().map(|group| (group.start, group.end)).collect::<Vec<_>>()
        };
        let (warmup, apart, beside) = (PhaseKind::Warmup, (PhaseKind::Profiling, false), (PhaseKind::Profiling, true));
        assert_eq!(of(&[apart, apart]), [(0, 1), (1, 2)]);
        assert_eq!(
            of(&[apart, beside, apart, apart]),
            [(0, 4)],
            "the third waits for the second and not for the first"
        );
        assert_eq!(of(&[apart, beside, (warmup, true), apart]), [(0, 2), (2, 3), (3, 4)]);
        assert_eq!(of(&[(warmup, false), beside]), [(0, 2)]);
    }

    #[test]
    fn overlapping_phases_share_their_limits_or_add_up() {
        let phase = |concurrency, stop| phase(USERS, concurrency, stop);
        let (long, few) = (StopWhen::Elapsed(Nanos(1)), StopWhen::Requests(3));
        assert_eq!(peak_together(&[phase(Some(64), long), phase(Some(8), long)]), Some(64));
        assert_eq!(peak_together(&[phase(Some(64), few), phase(Some(64), few)]), Some(6));
        assert_eq!(peak_together(&[phase(Some(64), long), phase(None, few)]), Some(67));
        assert_eq!(peak_together(&[phase(Some(64), long), phase(None, long)]), None);
    }
}
