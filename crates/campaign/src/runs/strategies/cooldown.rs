//! Lets the server rest between two runs.

use crate::runs::completed_run::CompletedRun;
use crate::runs::strategy::{Next, Strategy};
use aiperf_plan::{Order, Point, RunId};
use aiperf_types::Nanos;

/// The runs of another strategy, with rests between them.
pub struct Cooldown {
    runs: Box<dyn Strategy>,
    order: Order,
    between_cells: Nanos,
    between_trials: Nanos,
    /// The run after the rest.
    held: Option<Point>,
}

impl Cooldown {
    pub fn new(runs: Box<dyn Strategy>, order: Order, between_cells: Nanos, between_trials: Nanos) -> Self {
        Self { runs, order, between_cells, between_trials, held: None }
    }

    fn rest_between(&self, last: RunId, next: RunId) -> Nanos {
        let is_new_trial = match self.order {
            Order::Repeated => last.trial != next.trial,
            Order::Independent => last.cell == next.cell,
        };
        if is_new_trial { self.between_trials } else { self.between_cells }
    }
}

impl Strategy for Cooldown {
    fn next(&mut self, done: &[CompletedRun]) -> Next {
        if let Some(point) = self.held.take() {
            return Next::Run(point);
        }
        let next = self.runs.next(done);
        let Next::Run(point) = &next else { return next };
        let last = done.iter().rfind(|ran| !ran.is_earlier);
        let rest = last.map_or(Nanos(0), |last| self.rest_between(last.run, point.run));
        if rest == Nanos(0) {
            return next;
        }
        self.held = Some(point.clone());
        Next::Wait(rest)
    }

    fn most(&self) -> Option<usize> {
        self.runs.most()
    }
}
