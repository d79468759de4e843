//! The runs of a campaign that an earlier command completed, and their results.

use super::completed_run::{CompletedRun, worth_keeping};
use super::strategies::strategy;
use super::strategy::Next;
use crate::aggregate::RunOutcome;
use crate::certainty;
use crate::result_files::{metrics, read_json, records};
use aiperf_plan::redact::Redactor;
use aiperf_plan::run_config::{Change, changes, is_run_config, run_config, sweep_id};
use aiperf_plan::{CampaignPlan, Cell, FileNames, Plan, RunId};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// How many changes a message lists.
const NAMED: usize = 8;

/// The runs in the directory have other settings than the plan.
#[derive(Debug, Error)]
#[error(
    "--resume: {dir} holds runs of another configuration\n  {changes}\n  try: the settings they were run with, or another --artifact-dir, or no --resume to run all of them again"
)]
pub struct ChangedError {
    dir: String,
    changes: String,
}

/// What an earlier command left.
#[derive(Default)]
pub struct Resumed {
    /// Complete runs.
    pub done: Vec<CompletedRun>,
    /// The id that all runs share.
    pub id: Option<String>,
    /// Messages about them.
    pub notes: Vec<String>,
}

/// Finds the runs of all listed cells that an earlier command completed. If no cell is listed, the first run that is
/// asked for gives the id of all runs, and [`Resumed::look_at`] finds each run when it is asked for.
pub fn resume(plan: &CampaignPlan, redactor: &Redactor) -> Result<Resumed, ChangedError> {
    let mut resumed = Resumed::default();
    for cell in &plan.listed {
        for trial in 0..plan.trials.count as usize {
            resumed.look_at(plan, cell, trial, redactor)?;
        }
    }
    if plan.listed.is_empty()
        && let Next::Run(first) = strategy(plan).next(&[])
        && let Ok(cell) = plan.cell(&first)
    {
        let was = read_config(&plan.run_dir(&cell, first.run.trial));
        resumed.id = was.as_ref().and_then(sweep_id).map(str::to_owned);
    }
    Ok(resumed)
}

impl Resumed {
    /// Adds one run, if it is there.
    pub fn look_at(
        &mut self,
        plan: &CampaignPlan,
        cell: &Arc<Cell>,
        trial: usize,
        redactor: &Redactor,
    ) -> Result<(), ChangedError> {
        let planned = plan.run(cell, trial);
        let Some(was) = read_config(&planned.artifacts.dir) else { return Ok(()) };
        let changed = changes(&was, &run_config(&planned, redactor));
        if !changed.is_empty() {
            let dir = planned.artifacts.dir.display().to_string();
            return Err(ChangedError { dir, changes: named(&changed) });
        }
        self.id = self.id.take().or_else(|| sweep_id(&was).map(str::to_owned));
        let Some(ran) = complete(plan, cell, trial, &planned) else { return Ok(()) };
        if plan.trials.count > 1 && !planned.artifacts.records.jsonl {
            let name = plan.name(cell, trial);
            self.notes.push(format!("{name} has no part in the collated file: its records were not written down"));
        }
        self.done.push(ran);
        Ok(())
    }
}

fn named(changed: &[Change]) -> String {
    let mut lines: Vec<String> = changed.iter().take(NAMED).map(Change::to_string).collect();
    if changed.len() > NAMED {
        lines.push(format!("and {} more", changed.len() - NAMED));
    }
    lines.join("\n  ")
}

/// The configuration of the run in a folder; `None` if no run started there, or if it cannot be read.
fn read_config(dir: &Path) -> Option<Value> {
    read_json(&dir.join(FileNames::RUN_CONFIG)).ok().filter(is_run_config)
}

/// A run with complete files and at least one success. All others are repeated.
fn complete(plan: &CampaignPlan, cell: &Arc<Cell>, trial: usize, planned: &Plan) -> Option<CompletedRun> {
    let (dir, names, label) = (&planned.artifacts.dir, &planned.artifacts.names, plan.label(trial));
    let marker = read_json(&dir.join(FileNames::READY_MARKER)).ok()?;
    let is_whole = marker["ready"] == true && marker["was_cancelled"] == false && marker["partial"] == false;
    if !is_whole {
        return None;
    }
    let summary = read_json(&dir.join(&names.summary_json)).ok()?;
    let outcome = RunOutcome::of_metrics(&label, metrics(&summary).collect());
    let outcome = outcome.with_certainty(certainty::read(&summary["measurement"]));
    let measured = outcome.result.as_ref().ok()?;
    let records = match plan.trials.count > 1 && planned.artifacts.records.jsonl {
        // If records are lost, the run is repeated.
        true => worth_keeping(plan, cell, records(&label, &dir.join(&names.records_jsonl), measured)?),
        false => None,
    };
    let run = RunId { cell: cell.index, trial };
    Some(CompletedRun { run, cell: cell.clone(), outcome, records, is_earlier: true, ends_all: false })
}
