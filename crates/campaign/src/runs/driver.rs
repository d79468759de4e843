//! Executes the runs that a strategy asks for, and keeps their results.

use super::completed_run::CompletedRun;
use super::resume::ChangedError;
use super::strategy::{Next, Strategy};
use aiperf_plan::{CampaignPlan, Cell, Order, Plan, Point, PointError, RunId};
use aiperf_types::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

/// Executes single runs.
pub trait RunIn {
    /// Executes a run from its preparation to its files.
    fn run(&mut self, run: RunId, cell: &Arc<Cell>, plan: Plan) -> CompletedRun;
    /// Lets the server rest; `false` after a stop request.
    fn rest(&mut self, length: Nanos) -> bool;
    /// The results of a run that an earlier command completed; asked for if its cell is not listed.
    fn earlier(&mut self, _run: RunId, _cell: &Arc<Cell>) -> Result<Option<CompletedRun>, ChangedError> {
        Ok(None)
    }
    /// Called after each run, with all runs so far.
    fn report_progress(&mut self, _done: &[CompletedRun]) {}
}

/// Why a run that a strategy asks for cannot be executed.
#[derive(Debug, Error)]
pub enum DriveError {
    #[error(transparent)]
    Point(#[from] PointError),
    #[error("two points have the folder {0}\n  the files of one would replace those of the other")]
    SameFolder(String),
    #[error(transparent)]
    Changed(#[from] ChangedError),
}

/// All runs, when no more follow.
pub struct Driven {
    /// Includes runs of an earlier command, in the order of the plan.
    pub runs: Vec<CompletedRun>,
    /// The strategy asks for no more runs: nothing was cut short.
    pub is_complete: bool,
    /// What ended it early.
    pub error: Option<DriveError>,
}

/// Executes all runs that a strategy asks for, after those of an earlier command.
pub fn drive(
    plan: &CampaignPlan,
    strategy: &mut dyn Strategy,
    earlier: Vec<CompletedRun>,
    runner: &mut impl RunIn,
) -> Driven {
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
    done: Vec<CompletedRun>,
    /// The cells that were asked for.
    cells: BTreeMap<usize, Arc<Cell>>,
    /// Cells that this command has run. The warm-up of an earlier command does not count any more.
    warm: BTreeSet<usize>,
}

impl Driver<'_> {
    /// Executes runs until the strategy asks for no more, or a stop is requested. Returns whether it is complete.
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
                    runner.report_progress(&self.done);
                    if ends_all {
                        return Ok(strategy.next(&self.done) == Next::End);
                    }
                }
            }
        }
    }

    fn run(&mut self, point: &Point, runner: &mut impl RunIn) -> Result<CompletedRun, DriveError> {
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
