//! Every strategy, one file each, and how those of a plan are put together.
//!
//! One strategy chooses cells: it gives the first trial of each. [`Trials`] repeats what that one chooses, and
//! [`Cooldown`] has the server rest between runs.

pub mod cooldown;
pub mod grid;
pub mod trials;

use super::strategy::Strategy;
use aiperf_plan::CampaignPlan;

pub use cooldown::Cooldown;
pub use grid::Grid;
pub use trials::Trials;

/// A strategy that chooses cells, where a plan asks for it.
type Chooses = fn(&CampaignPlan) -> Option<Box<dyn Strategy>>;

/// Every strategy that chooses cells. The first that the plan asks for chooses; the grid takes every plan.
const CHOOSE_CELLS: &[Chooses] = &[grid::of];

/// The strategy of a plan.
pub fn strategy(plan: &CampaignPlan) -> Box<dyn Strategy> {
    let cells = CHOOSE_CELLS.iter().find_map(|of| of(plan)).unwrap_or_else(|| Box::new(Grid::new(Vec::new())));
    let trials = Trials::new(cells, plan.order(), plan.trials.clone());
    let between_cells = plan.sweep.as_ref().map_or_else(Default::default, |sweep| sweep.cooldown);
    Box::new(Cooldown::new(Box::new(trials), plan.order(), between_cells, plan.trials.cooldown))
}

#[cfg(test)]
mod tests;
