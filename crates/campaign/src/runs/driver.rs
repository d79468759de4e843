//! Has runs run in the order of the agenda, and keeps what they came to.

use super::agenda::{Agenda, Step};
use super::convergence::{Trials, is_converged};
use crate::aggregate::{RunOutcome, RunRecords};
use aiperf_plan::{CampaignPlan, ConvergenceMode, Order, Plan, RunId};
use aiperf_types::Nanos;
use std::collections::BTreeSet;

/// Who runs what is to be run.
pub trait RunIn {
    /// From its preparation to its files.
    fn run(&mut self, run: RunId, plan: Plan) -> Ran;
    /// Lets the server rest; `false` where somebody wants to stop.
    fn rest(&mut self, length: Nanos) -> bool;
    /// All runs so far, after each of them.
    fn tell(&mut self, _done: &[Ran]) {}
}

/// A run that is over.
pub struct Ran {
    pub run: RunId,
    pub outcome: RunOutcome,
    /// What its single requests measured, where that is wanted again: all of it where it is written down nowhere, else
    /// what decides whether trials have shown enough.
    pub records: Option<RunRecords>,
    /// Nothing more is to be run.
    pub ends_all: bool,
}

/// What is kept of a run's single requests until all runs are over: a file that has them need not be held in memory.
pub fn worth_keeping(plan: &CampaignPlan, run: RunId, records: RunRecords) -> Option<RunRecords> {
    if plan.trials.count == 1 {
        return None;
    }
    if !plan.cells[run.cell].plan.artifacts.records.jsonl {
        return Some(records);
    }
    let rule = plan.trials.convergence.as_ref().filter(|rule| rule.mode == ConvergenceMode::Distribution)?;
    let RunRecords { label, values } = records;
    Some(RunRecords { label, values: values.into_iter().filter(|(tag, _)| *tag == rule.metric).collect() })
}

/// Runs that a plan still asks for after some were done, at most.
pub fn runs_left(plan: &CampaignPlan, done: &[Ran]) -> usize {
    agenda_after(plan, done).left()
}

fn agenda_after(plan: &CampaignPlan, done: &[Ran]) -> Agenda {
    let mut agenda = Agenda::of(plan);
    for ran in done {
        agenda.was_done(ran.run);
        if has_shown_enough(plan, done, ran.run.cell) {
            agenda.spare_rest(ran.run.cell);
        }
    }
    agenda
}

/// Runs everything that a plan says and that was not done before, in its order; gives all of it, in that order.
pub fn drive(plan: &CampaignPlan, before: Vec<Ran>, runner: &mut impl RunIn) -> Vec<Ran> {
    let mut agenda = agenda_after(plan, &before);
    let mut done = before;
    // Cells that were run by this command: an earlier one's warm-up is long over.
    let mut warm = BTreeSet::new();
    loop {
        match agenda.next() {
            Step::End => break,
            Step::Wait(length) => {
                if !runner.rest(length) {
                    agenda.stop();
                }
                agenda.waited();
            }
            Step::Run(run) => {
                let is_warm = !warm.insert(run.cell);
                let ran = runner.run(run, if is_warm { plan.run_when_warm(run) } else { plan.run(run) });
                agenda.done(run);
                if ran.ends_all {
                    agenda.stop();
                }
                done.push(ran);
                runner.tell(&done);
                if has_shown_enough(plan, &done, run.cell) {
                    agenda.spare_rest(run.cell);
                }
            }
        }
    }
    done.sort_by_key(|ran| match plan.order() {
        Order::Repeated => (ran.run.trial, ran.run.cell),
        Order::Independent => (ran.run.cell, ran.run.trial),
    });
    done
}

/// Whether another trial of a cell would add nothing.
pub(crate) fn has_shown_enough(plan: &CampaignPlan, done: &[Ran], cell: usize) -> bool {
    let Some(rule) = &plan.trials.convergence else { return false };
    let of_cell = done.iter().filter(|ran| ran.run.cell == cell);
    let value = |ran: &Ran| {
        let metrics = ran.outcome.result.as_ref().ok()?;
        metrics.iter().find(|metric| metric.tag == rule.metric)?.stats.get(&rule.stat)
    };
    let values = of_cell.clone().filter_map(value).filter(|value| value.is_finite()).collect();
    let requests = |ran: &Ran| {
        let records = ran.records.as_ref().filter(|_| ran.outcome.result.is_ok())?;
        records.values.get(&rule.metric).cloned()
    };
    let requests = match rule.mode {
        ConvergenceMode::Distribution => of_cell.filter_map(requests).collect(),
        ConvergenceMode::CiWidth | ConvergenceMode::Cv => Vec::new(),
    };
    is_converged(rule, plan.trials.confidence_level, &Trials { values, requests })
}
