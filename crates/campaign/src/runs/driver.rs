//! Has runs run as a strategy decides, and keeps what they came to.

use super::ran::Ran;
use super::strategy::{Next, Strategy};
use aiperf_plan::{CampaignPlan, Cell, Order, Plan, RunId};
use aiperf_types::Nanos;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Who runs what is to be run.
pub trait RunIn {
    /// From its preparation to its files.
    fn run(&mut self, run: RunId, cell: &Arc<Cell>, plan: Plan) -> Ran;
    /// Lets the server rest; `false` where somebody wants to stop.
    fn rest(&mut self, length: Nanos) -> bool;
    /// All runs so far, after each of them.
    fn tell(&mut self, _done: &[Ran]) {}
}

/// All runs, when no more are run.
pub struct Driven {
    /// Those of an earlier command among them, in the order of the plan.
    pub runs: Vec<Ran>,
    /// The strategy asks for no more: nothing was cut short.
    pub is_complete: bool,
}

/// Runs everything that a strategy asks for after the runs of an earlier command.
pub fn drive(plan: &CampaignPlan, strategy: &mut dyn Strategy, earlier: Vec<Ran>, runner: &mut impl RunIn) -> Driven {
    let mut done = earlier;
    // Cells that were run by this command: an earlier one's warm-up is long over.
    let mut warm = BTreeSet::new();
    let is_complete = loop {
        match strategy.next(&done) {
            Next::End => break true,
            Next::Wait(length) => {
                if !runner.rest(length) {
                    break false;
                }
            }
            Next::Run(point) => {
                let run = point.run;
                let cell = &plan.listed[run.cell];
                let planned = match warm.insert(run.cell) {
                    true => plan.run(cell, run.trial),
                    false => plan.run_when_warm(cell, run.trial),
                };
                let ran = runner.run(run, cell, planned);
                let ends_all = ran.ends_all;
                done.push(ran);
                runner.tell(&done);
                if ends_all {
                    break strategy.next(&done) == Next::End;
                }
            }
        }
    };
    done.sort_by_key(|ran| match plan.order() {
        Order::Repeated => (ran.run.trial, ran.run.cell),
        Order::Independent => (ran.run.cell, ran.run.trial),
    });
    Driven { runs: done, is_complete }
}
