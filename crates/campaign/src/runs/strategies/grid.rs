//! Listed cells, each once, in order: the points of a grid, scenarios, drawn points, or the only cell.

use crate::runs::completed_run::CompletedRun;
use crate::runs::strategy::{Next, Strategy};
use aiperf_plan::{CampaignPlan, Point, RunId};
use serde_json::{Map, Value};

/// The cells of a plan.
pub struct Grid {
    /// The swept values of each cell.
    cells: Vec<Map<String, Value>>,
    given: usize,
}

impl Grid {
    pub fn new(cells: Vec<Map<String, Value>>) -> Self {
        Self { cells, given: 0 }
    }
}

pub(super) fn of(plan: &CampaignPlan) -> Option<Box<dyn Strategy>> {
    Some(Box::new(Grid::new(plan.listed.iter().map(|cell| cell.values.clone()).collect())))
}

impl Strategy for Grid {
    fn next(&mut self, _: &[CompletedRun]) -> Next {
        let Some(values) = self.cells.get(self.given) else { return Next::End };
        let run = RunId { cell: self.given, trial: 0 };
        self.given += 1;
        Next::Run(Point { run, values: values.clone() })
    }

    fn most(&self) -> Option<usize> {
        Some(self.cells.len())
    }
}
