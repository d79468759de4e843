//! Which conversations the sessions of a run will send: known beforehand, so that they can be prepared.

use crate::message::OrderId;
use crate::replay::replay_order;
use crate::sampler::Sampler;
use aiperf_plan::{PhasePlan, Plan, Sampling, StopWhen};
use aiperf_types::{PhaseIndex, Shapes};

/// Conversations in the order in which they are drawn.
#[derive(Clone, Debug)]
pub enum Order {
    /// Up to an end, where it is known.
    Sampled {
        sampler: Sampler,
        end: Option<u64>,
    },
    Replayed(Vec<u32>),
}

impl Order {
    /// The conversation of a position; `None` after the end.
    pub fn conversation(&self, position: u64) -> Option<u32> {
        match self {
            Self::Sampled { sampler, end } => {
                end.is_none_or(|end| position < end).then(|| sampler.conversation(position))
            }
            Self::Replayed(order) => order.get(usize::try_from(position).ok()?).copied(),
        }
    }
}

/// The orders that the phases of a plan draw from, in the order of these.
pub fn orders(plan: &Plan, shapes: &Shapes) -> Vec<(OrderId, Order)> {
    let mut orders: Vec<(OrderId, Order)> = Vec::new();
    for (index, phase) in (0..).zip(&plan.phases) {
        let id = if phase.arrival.replays() { OrderId::Replayed(PhaseIndex(index)) } else { OrderId::Sampled };
        if orders.iter().all(|(known, _)| *known != id) {
            let order = match id {
                OrderId::Sampled => Order::Sampled {
                    sampler: Sampler::new(plan.sampling, shapes.len(), &plan.draws()),
                    end: most_draws(&plan.phases),
                },
                OrderId::Replayed(_) => Order::Replayed(replay_order(shapes)),
            };
            orders.push((id, order));
        }
    }
    orders
}

/// How many conversations, from the first, a run can draw: the others need not be made ready.
pub fn reachable(plan: &Plan, shapes: &Shapes) -> u32 {
    let is_in_order = plan.sampling == Sampling::Sequential && !plan.phases.iter().any(|phase| phase.arrival.replays());
    let drawn = most_draws(&plan.phases).filter(|_| is_in_order).and_then(|drawn| u32::try_from(drawn).ok());
    drawn.map_or(shapes.len(), |drawn| drawn.min(shapes.len()))
}

/// How many conversations the sampler is asked for at most; `None` where only time limits them.
pub fn most_draws(phases: &[PhasePlan]) -> Option<u64> {
    phases.iter().filter(|phase| !phase.arrival.replays()).map(most_sessions).sum()
}

/// How many sessions a phase draws at most. Each sends a request at once, unless it waits for the prefill of others;
/// users draw theirs long before.
fn most_sessions(phase: &PhasePlan) -> Option<u64> {
    if phase.arrival.user_interval().is_some() {
        return None;
    }
    let limit = |stop: &StopWhen| match stop {
        StopWhen::Sessions(sessions) => Some(*sessions),
        StopWhen::Requests(requests) => Some(*requests).filter(|_| phase.prefill_concurrency.is_none()),
        StopWhen::Elapsed(_) => None,
    };
    phase.stop.iter().filter_map(limit).min()
}
