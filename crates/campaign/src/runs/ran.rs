//! A run that is over, as one of many.

use crate::aggregate::{RunOutcome, RunRecords};
use aiperf_plan::{CampaignPlan, Cell, ConvergenceMode, RunId};
use std::sync::Arc;

/// A run that is over.
pub struct Ran {
    pub run: RunId,
    pub cell: Arc<Cell>,
    pub outcome: RunOutcome,
    /// What its single requests measured, where that is wanted again: all of it where it is written down nowhere, else
    /// what decides whether trials have shown enough.
    pub records: Option<RunRecords>,
    /// An earlier command ran it: the server need not rest after it, and is not warm from it.
    pub is_earlier: bool,
    /// Nothing more is to be run.
    pub ends_all: bool,
}

/// What is kept of a run's single requests until all runs are over: a file that has them need not be held in memory.
pub fn worth_keeping(plan: &CampaignPlan, cell: &Cell, records: RunRecords) -> Option<RunRecords> {
    if plan.trials.count == 1 {
        return None;
    }
    if !cell.plan.artifacts.records.jsonl {
        return Some(records);
    }
    let rule = plan.trials.convergence.as_ref().filter(|rule| rule.mode == ConvergenceMode::Distribution)?;
    let RunRecords { label, values } = records;
    Some(RunRecords { label, values: values.into_iter().filter(|(tag, _)| *tag == rule.metric).collect() })
}
