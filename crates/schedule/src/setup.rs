//! What a schedule is made from.

use crate::sampler::Sampler;
use aiperf_plan::{Draws, PhasePlan, Plan, Sampling, TimingPlan};
use aiperf_types::Shapes;
use std::sync::Arc;

/// What a schedule is made from.
#[derive(Clone, Debug)]
pub struct Setup {
    pub phases: Vec<PhasePlan>,
    /// The conversations, at least one.
    pub shapes: Arc<Shapes>,
    /// How many URLs sessions take turns at, at least one.
    pub urls: u32,
    pub sampler: Sampler,
    pub draws: Draws,
    pub timing: TimingPlan,
    /// Whether phases start only after their hooks answered.
    pub asks_hooks: bool,
}

impl Setup {
    /// Phases over these conversations, one after the other, at one URL.
    pub fn new(phases: Vec<PhasePlan>, shapes: impl Into<Arc<Shapes>>, draws: Draws) -> Self {
        let (shapes, timing) = (shapes.into(), TimingPlan::default());
        let sampler = Sampler::new(Sampling::Sequential, shapes.len(), &draws);
        Self { phases, shapes, urls: 1, sampler, draws, timing, asks_hooks: false }
    }

    /// For a plan over these conversations.
    pub fn of(plan: &Plan, shapes: Arc<Shapes>) -> Self {
        let draws = plan.draws();
        Self {
            urls: plan.endpoint.urls.len().max(1) as u32,
            sampler: Sampler::new(plan.sampling, shapes.len(), &draws),
            timing: plan.timing,
            ..Self::new(plan.phases.clone(), shapes, draws)
        }
    }
}
