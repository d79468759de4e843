//! Phases: blocks of load with their own limits and ends.

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
    /// What ends sending: the first of these, at least one.
    pub stop: Vec<StopWhen>,
    /// After a time limit, how long to wait for what is in flight; `None` waits without limit.
    pub grace: Option<Nanos>,
}

/// How requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Arrival {
    /// As fast as slots come free.
    Concurrency,
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
    /// The request count that ends it, if one does.
    pub fn requests(&self) -> Option<u64> {
        self.stop.iter().find_map(|stop| if let StopWhen::Requests(n) = stop { Some(*n) } else { None })
    }

    /// The session count that ends it, if one does.
    pub fn sessions(&self) -> Option<u64> {
        self.stop.iter().find_map(|stop| if let StopWhen::Sessions(n) = stop { Some(*n) } else { None })
    }

    /// The time that ends it, if one does.
    pub fn duration(&self) -> Option<Nanos> {
        self.stop.iter().find_map(|stop| if let StopWhen::Elapsed(n) = stop { Some(*n) } else { None })
    }
}
