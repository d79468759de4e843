//! Trials: executes each cell that another strategy chooses several times, until its runs have converged.

use crate::runs::completed_run::CompletedRun;
use crate::runs::convergence::has_shown_enough;
use crate::runs::strategy::{Next, Strategy};
use aiperf_plan::{self as plan, Order, Point, RunId};
use std::collections::BTreeSet;

/// The cells of another strategy, several times each.
pub struct Trials {
    cells: Box<dyn Strategy>,
    order: Order,
    trials: plan::Trials,
    /// The first trial of each cell so far.
    chosen: Vec<Point>,
    has_all: bool,
    /// How many runs were examined.
    seen: usize,
    over: BTreeSet<RunId>,
    /// Cells that need no more trials.
    settled: BTreeSet<usize>,
}

impl Trials {
    pub fn new(cells: Box<dyn Strategy>, order: Order, trials: plan::Trials) -> Self {
        Self {
            cells,
            order,
            trials,
            chosen: Vec::new(),
            has_all: false,
            seen: 0,
            over: BTreeSet::new(),
            settled: BTreeSet::new(),
        }
    }

    fn look_at(&mut self, done: &[CompletedRun]) {
        for ran in &done[self.seen..] {
            self.over.insert(ran.run);
            if has_shown_enough(&self.trials, done, ran.run.cell) {
                self.settled.insert(ran.run.cell);
            }
        }
        self.seen = done.len();
    }

    /// The next run of the cells so far.
    fn open(&self) -> Option<Point> {
        let trials = match self.order {
            // All first trials come before the second ones.
            Order::Repeated if !self.has_all => 1,
            _ => self.trials.count as usize,
        };
        let cells = self.chosen.len();
        let at = |index: usize| match self.order {
            Order::Repeated => (index % cells, index / cells),
            Order::Independent => (index / trials, index % trials),
        };
        let points = (0..cells * trials).map(at).map(|(cell, trial)| (&self.chosen[cell], trial));
        let mut runs = points.map(|(point, trial)| (point, RunId { trial, ..point.run }));
        let (point, run) = runs.find(|(_, run)| !self.over.contains(run) && !self.settled.contains(&run.cell))?;
        Some(Point { run, values: point.values.clone() })
    }
}

impl Strategy for Trials {
    fn next(&mut self, done: &[CompletedRun]) -> Next {
        self.look_at(done);
        loop {
            if let Some(point) = self.open() {
                return Next::Run(point);
            }
            if self.has_all {
                return Next::End;
            }
            match self.cells.next(done) {
                Next::Run(point) => self.chosen.push(point),
                Next::End => self.has_all = true,
                wait @ Next::Wait(_) => return wait,
            }
        }
    }

    fn most(&self) -> Option<usize> {
        Some(self.cells.most()? * self.trials.count as usize)
    }
}
