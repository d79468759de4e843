//! The live API, seen from a run: it learns of a run while that is prepared, and of its results when they are written.
//!
//! The command makes it, since only the command listens on a port. It outlives its runs: a campaign has one for all of them,
//! and its subscription to the campaign gives it the events of each.

use super::{Consumer, Kind};
use aiperf_plan::Plan;

/// The live API of a campaign.
pub trait LiveApi: Send + Sync {
    /// Expects a run that is being prepared, and follows it.
    fn follow(&self, plan: &Plan) -> Box<dyn Consumer>;
}

/// The live API, as a consumer.
pub(super) const KIND: Kind = Kind {
    name: "live API",
    lost: "the live API has no results",
    check: |_| Ok(()),
    probe: |run| Ok(run.live_api.as_ref().map(|api| api.follow(&run.plan))),
};
