//! Which conversations the sessions of a run will say: known beforehand, for whoever makes them ready.

use crate::arrivals::replay_order;
use crate::sampler::Sampler;
use aiperf_plan::{Arrival, Plan};
use aiperf_types::{PhaseIndex, Shapes};

/// The draw that gave a session its conversation: the order it was drawn from, and how many were drawn before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Draw {
    pub order: OrderId,
    pub position: u64,
}

/// Which order conversations are drawn from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrderId {
    /// That of the sampler, which goes on from phase to phase.
    #[default]
    Sampled,
    /// That of a recording, which a phase replays from its begin.
    Replayed(PhaseIndex),
}

impl Draw {
    pub(crate) const fn sampled(position: u64) -> Self {
        Self { order: OrderId::Sampled, position }
    }

    pub(crate) const fn replayed(phase: PhaseIndex, position: u64) -> Self {
        Self { order: OrderId::Replayed(phase), position }
    }
}

/// Conversations in the order in which they are drawn.
#[derive(Clone, Debug)]
pub enum Order {
    Sampled(Sampler),
    Replayed(Vec<u32>),
}

impl Order {
    /// The conversation of a position; `None` after the end.
    pub fn conversation(&self, position: u64) -> Option<u32> {
        match self {
            Self::Sampled(sampler) => Some(sampler.conversation(position)),
            Self::Replayed(order) => order.get(usize::try_from(position).ok()?).copied(),
        }
    }
}

/// The orders that the phases of a plan draw from, in the order of these.
pub fn orders(plan: &Plan, shapes: &Shapes) -> Vec<(OrderId, Order)> {
    let mut orders: Vec<(OrderId, Order)> = Vec::new();
    for (index, phase) in (0..).zip(&plan.phases) {
        let replays = matches!(phase.arrival, Arrival::FixedSchedule { .. });
        let id = if replays { OrderId::Replayed(PhaseIndex(index)) } else { OrderId::Sampled };
        if orders.iter().all(|(known, _)| *known != id) {
            let order = match id {
                OrderId::Sampled => Order::Sampled(Sampler::new(plan.sampling, shapes.len(), &plan.draws())),
                OrderId::Replayed(_) => Order::Replayed(replay_order(shapes)),
            };
            orders.push((id, order));
        }
    }
    orders
}
