//! The runs that the API serves, one after the other.

use super::about::About;
use super::final_results::FinalResults;
use super::hub::Hub;
use aiperf_campaign::WrittenRun;
use aiperf_campaign::consumers::{Consumer, Degraded, LiveApi, RunContext};
use aiperf_plan::Plan;
use aiperf_plan::redact::Redactor;
use std::sync::Arc;

/// The API, as a campaign sees it.
pub(super) struct Runs {
    pub(super) hub: Arc<Hub>,
    pub(super) redactor: Arc<Redactor>,
}

impl LiveApi for Runs {
    fn follow(&self, plan: &Plan) -> Box<dyn Consumer> {
        self.hub.expect(About::new(plan, &self.redactor, env!("CARGO_PKG_VERSION")));
        Box::new(ServedRun { hub: self.hub.clone(), expected: expected_requests(plan) })
    }
}

/// One run, whose results go to the hub.
struct ServedRun {
    hub: Arc<Hub>,
    expected: Option<u64>,
}

impl Consumer for ServedRun {
    /// A run that failed keeps the results of the one before.
    fn close(self: Box<Self>, _run: &RunContext, finished: Option<&WrittenRun>) -> Result<(), Degraded> {
        finished.into_iter().for_each(|finished| self.hub.finished(FinalResults::new(finished, self.expected)));
        Ok(())
    }
}

/// Requests of all profiling phases, if their number is known.
fn expected_requests(plan: &Plan) -> Option<u64> {
    plan.profiling().map(|phase| phase.requests()).sum()
}
