//! Every strategy, one file each, and their combination for a plan.
//!
//! One strategy chooses cells: it returns the first trial of each. [`Trials`] repeats these, and [`Cooldown`] lets the
//! server rest between runs.

pub mod cooldown;
pub mod grid;
pub mod trials;

use super::strategy::Strategy;
use aiperf_plan::CampaignPlan;

pub use cooldown::Cooldown;
pub use grid::Grid;
pub use trials::Trials;

/// Returns a strategy that chooses cells, if the plan asks for it.
type Chooses = fn(&CampaignPlan) -> Option<Box<dyn Strategy>>;

/// Every strategy that chooses cells. The first one that the plan asks for is used; the grid accepts every plan.
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
