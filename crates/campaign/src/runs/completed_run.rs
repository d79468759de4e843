//! A finished run, as one of several.

use crate::aggregate::{RunOutcome, RunRecords};
use aiperf_plan::{CampaignPlan, Cell, ConvergenceMode, RunId};
use std::sync::Arc;

/// A finished run.
pub struct CompletedRun {
    pub run: RunId,
    pub cell: Arc<Cell>,
    pub outcome: RunOutcome,
    /// The values of single requests that are still needed: all of them if no file contains them, else those that
    /// decide whether trials have converged.
    pub records: Option<RunRecords>,
    /// An earlier command executed it: the server need not rest after it, and is not warm from it.
    pub is_earlier: bool,
    /// No more runs follow.
    pub ends_all: bool,
}

/// The values of single requests to keep until all runs are over. If a file contains them, they need not stay in
/// memory.
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
