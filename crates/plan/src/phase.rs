//! Phases: blocks of load with their own limits and ends.

use crate::arrival::Arrival;
use crate::cancellation::Cancellation;
use crate::ramp::Ramp;
use aiperf_types::{Nanos, PhaseKind};
use serde::{Deserialize, Serialize};

/// One block of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhasePlan {
    /// Name, unique in the plan.
    pub name: String,
    pub kind: PhaseKind,
    pub arrival: Arrival,
    /// Live sessions at most; `None` is no limit.
    pub concurrency: Option<u32>,
    /// How the limit of sessions is reached; `None`: at once.
    pub concurrency_ramp: Option<Ramp>,
    /// Requests without a first content at most; `None` is no limit.
    pub prefill_concurrency: Option<u32>,
    pub prefill_ramp: Option<Ramp>,
    /// What ends sending: the first of these, at least one, unless the arrival ends by itself.
    pub stop: Vec<StopWhen>,
    /// After a time limit, how long to wait for what is in flight; `None` waits without limit.
    pub grace: Option<Nanos>,
    /// Whether it starts as soon as the phase before it sends no more.
    pub seamless: bool,
    /// The share of failed requests past which the run is ended; `None` is any.
    pub failed_request_threshold: Option<f64>,
    /// Requests that are given up on purpose; none in a warm-up.
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

impl PhasePlan {
    /// A phase named as its kind, without limits, that nothing ends.
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

    /// Requests it may have in flight at once: one a live session, and no more than it ever sends. `None` where nothing
    /// bounds them.
    pub fn peak_in_flight(&self) -> Option<u64> {
        [self.concurrency.map(u64::from), self.requests(), self.sessions()].into_iter().flatten().min()
    }

    /// The time that ends it, if one does.
    pub fn duration(&self) -> Option<Nanos> {
        self.stop.iter().find_map(|stop| if let StopWhen::Elapsed(n) = stop { Some(*n) } else { None })
    }
}

/// Requests that phases may have in flight together which follow each other without a pause: what an earlier one left
/// counts in the limit of the next, but not where one has none.
pub(crate) fn peak_together(phases: &[PhasePlan]) -> Option<u64> {
    let all =
        phases.iter().map(PhasePlan::peak_in_flight).try_fold(0, |sum: u64, peak| Some(sum.saturating_add(peak?)))?;
    let limits: Option<Vec<u32>> = phases.iter().map(|phase| phase.concurrency).collect();
    let limit = limits.and_then(|limits| limits.into_iter().max());
    Some(limit.map_or(all, |limit| all.min(u64::from(limit))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_in_flight_is_bounded_by_slots_and_by_what_is_sent() {
        let peak = |concurrency, stop| {
            let plan = PhasePlan::new(PhaseKind::Profiling, Arrival::Concurrency);
            PhasePlan { concurrency, stop: vec![stop], ..plan }.peak_in_flight()
        };
        assert_eq!(peak(Some(64), StopWhen::Elapsed(Nanos(1))), Some(64));
        assert_eq!(peak(Some(64), StopWhen::Requests(10)), Some(10));
        assert_eq!(peak(None, StopWhen::Sessions(10)), Some(10));
        assert_eq!(peak(None, StopWhen::Elapsed(Nanos(1))), None);
    }

    #[test]
    fn phases_that_overlap_share_their_limits_or_add_up() {
        let phase = |concurrency, stop| {
            let plan = PhasePlan::new(PhaseKind::Profiling, Arrival::Concurrency);
            PhasePlan { concurrency, stop: vec![stop], ..plan }
        };
        let (long, few) = (StopWhen::Elapsed(Nanos(1)), StopWhen::Requests(3));
        assert_eq!(peak_together(&[phase(Some(64), long), phase(Some(8), long)]), Some(64));
        assert_eq!(peak_together(&[phase(Some(64), few), phase(Some(64), few)]), Some(6));
        assert_eq!(peak_together(&[phase(Some(64), long), phase(None, few)]), Some(67));
        assert_eq!(peak_together(&[phase(Some(64), long), phase(None, long)]), None);
    }
}
