//! Has runs run as a strategy decides, and keeps their results.

use super::ran::Ran;
use super::resume::ChangedError;
use super::strategy::{Next, Strategy};
use aiperf_plan::{CampaignPlan, Cell, Order, Plan, Point, PointError, RunId};
use aiperf_types::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

/// Who runs what is to be run.
pub trait RunIn {
    /// From its preparation to its files.
    fn run(&mut self, run: RunId, cell: &Arc<Cell>, plan: Plan) -> Ran;
    /// Lets the server rest; `false` where somebody wants to stop.
    fn rest(&mut self, length: Nanos) -> bool;
    /// A run that an earlier command completed; asked where its cell is not listed.
    fn earlier(&mut self, _run: RunId, _cell: &Arc<Cell>) -> Result<Option<Ran>, ChangedError> {
        Ok(None)
    }
    /// All runs so far, after each of them.
    fn tell(&mut self, _done: &[Ran]) {}
}

/// Why a run that a strategy asks for cannot be run.
#[derive(Debug, Error)]
pub enum DriveError {
    #[error(transparent)]
    Point(#[from] PointError),
    #[error("two points have the folder {0}\n  the files of one would replace those of the other")]
    SameFolder(String),
    #[error(transparent)]
    Changed(#[from] ChangedError),
}

/// All runs, when no more are run.
pub struct Driven {
    /// Those of an earlier command among them, in the order of the plan.
    pub runs: Vec<Ran>,
    /// The strategy asks for no more: nothing was cut short.
    pub is_complete: bool,
    /// What ended it early.
    pub error: Option<DriveError>,
}

/// Runs everything that a strategy asks for after the runs of an earlier command.
pub fn drive(plan: &CampaignPlan, strategy: &mut dyn Strategy, earlier: Vec<Ran>, runner: &mut impl RunIn) -> Driven {
    let mut driver = Driver { plan, done: earlier, cells: BTreeMap::new(), warm: BTreeSet::new() };
    let (is_complete, error) = match driver.drive(strategy, runner) {
        Ok(is_complete) => (is_complete, None),
        Err(error) => (false, Some(error)),
    };
    let mut runs = driver.done;
    runs.sort_by_key(|ran| match plan.order() {
        Order::Repeated => (ran.run.trial, ran.run.cell),
        Order::Independent => (ran.run.cell, ran.run.trial),
    });
    Driven { runs, is_complete, error }
}

struct Driver<'a> {
    plan: &'a CampaignPlan,
    done: Vec<Ran>,
    /// Those that were asked for.
    cells: BTreeMap<usize, Arc<Cell>>,
    /// Cells that were run by this command: an earlier one's warm-up is long over.
    warm: BTreeSet<usize>,
}

impl Driver<'_> {
    /// Runs until nothing more is asked for, or a stop is requested; returns whether it is complete.
    fn drive(&mut self, strategy: &mut dyn Strategy, runner: &mut impl RunIn) -> Result<bool, DriveError> {
        loop {
            match strategy.next(&self.done) {
                Next::End => return Ok(true),
                Next::Wait(length) => {
                    if !runner.rest(length) {
                        return Ok(false);
                    }
                }
                Next::Run(point) => {
                    let ran = self.run(&point, runner)?;
                    let ends_all = ran.ends_all;
                    self.done.push(ran);
                    runner.tell(&self.done);
                    if ends_all {
                        return Ok(strategy.next(&self.done) == Next::End);
                    }
                }
            }
        }
    }

    fn run(&mut self, point: &Point, runner: &mut impl RunIn) -> Result<Ran, DriveError> {
        let run = point.run;
        let cell = self.cell(point)?;
        let is_listed = run.cell < self.plan.listed.len();
        if !is_listed && let Some(earlier) = runner.earlier(run, &cell)? {
            return Ok(earlier);
        }
        let planned = match self.warm.insert(run.cell) {
            true => self.plan.run(&cell, run.trial),
            false => self.plan.run_when_warm(&cell, run.trial),
        };
        Ok(runner.run(run, &cell, planned))
    }

    fn cell(&mut self, point: &Point) -> Result<Arc<Cell>, DriveError> {
        if let Some(cell) = self.cells.get(&point.run.cell) {
            return Ok(cell.clone());
        }
        let cell = self.plan.cell(point)?;
        if self.cells.values().any(|other| other.name == cell.name) {
            return Err(DriveError::SameFolder(cell.name.clone()));
        }
        self.cells.insert(point.run.cell, cell.clone());
        Ok(cell)
    }
}
