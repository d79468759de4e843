//! The live API as a consumer: it learns of a run during its preparation, and of its results when they are written.
//!
//! The command creates it, because only the command listens on a port. It outlives its runs: a campaign has one for all
//! runs, and its subscription to the campaign delivers the events of each.

use super::{Consumer, ConsumerKind};
use aiperf_plan::Plan;

/// The live API of a campaign.
pub trait LiveApi: Send + Sync {
    /// Follows a run that is being prepared.
    fn follow(&self, plan: &Plan) -> Box<dyn Consumer>;
}

/// The live API, as a consumer.
pub(super) const KIND: ConsumerKind = ConsumerKind {
    name: "live API",
    lost: "the live API has no results",
    check: |_| Ok(()),
    probe: |run| Ok(run.live_api.as_ref().map(|api| api.follow(&run.plan))),
};
