//! What decides which metrics a run has.

use aiperf_metrics::RunTraits;
use aiperf_plan::Plan;

pub(crate) fn traits(plan: &Plan) -> RunTraits {
    let mut traits = RunTraits::new(plan.endpoint.kind, plan.endpoint.streaming);
    traits.server_token_count = plan.endpoint.server_token_count;
    traits.slos = plan.metrics.slos.clone();
    traits.fixed_schedule = plan.profiling().any(|phase| phase.arrival.replays());
    traits.open_loop = plan.profiling().any(|phase| !phase.arrival.is_closed_loop());
    traits.thresholds = plan.metrics.thresholds;
    traits.show_internal = plan.metrics.show_internal;
    traits.show_experimental = plan.metrics.show_experimental;
    traits
}
