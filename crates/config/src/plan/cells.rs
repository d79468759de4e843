//! One cell of a benchmark: the plan of a run of a sweep, or of the only run, with the seeds, names and files of its
//! trials.

use super::{endpoint, user_files};
use crate::context::Context;
use crate::error::Problem;
use crate::export;
use crate::resolve::{RunVariation, Tree};
use aiperf_plan::redact::{Redactor, secrets_in_members, visit_texts};
use aiperf_plan::{CampaignPlan, Cell};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// The inputs for planning cells.
pub(super) struct Planning<'a> {
    pub tree: &'a Tree,
    pub ctx: &'a Context<'a>,
    pub args: &'a [String],
    /// The most trials of each cell.
    pub trials: u32,
}

impl Planning<'_> {
    /// The cell of one run of a sweep, or of the only run.
    pub(super) fn cell(
        &self,
        index: usize,
        run: Option<&RunVariation>,
        notes: &mut Vec<String>,
        problems: &mut Vec<Problem>,
    ) -> Option<Cell> {
        let Self { tree, ctx, args, trials } = self;
        let own = self.own(run);
        let mut plan = super::plan(&own, ctx, args, notes, problems)?;
        // A sweep may vary variables too.
        plan.secrets.extend(run.iter().flat_map(|run| secrets_in_members(&run.values)));
        notes.extend(endpoint::replaced(&plan, &own));
        let trials = 0..*trials as usize;
        let seed = |trial| tree.trial_seed(run, trial).and_then(|seed| u64::try_from(seed).ok());
        let id = |trial| match tree.single_run() {
            true => ctx.benchmark_id.clone(),
            false => hex(&format!("{}:{index}:{trial}", ctx.benchmark_id))[..12].to_owned(),
        };
        Some(Cell {
            index,
            label: run.map_or_else(|| "base".to_owned(), |run| run.label.clone()),
            name: run.map_or_else(|| "base".to_owned(), |run| run.dir_name.clone()),
            values: run.map_or_else(Map::new, |run| run.values.clone()),
            plan,
            seeds: trials.clone().map(seed).collect(),
            ids: trials.map(id).collect(),
            user_files: Vec::new(),
        })
    }

    /// Renders the user's files for each trial: they name its own folder. Most problems of these files were found
    /// before.
    pub(super) fn render_user_files(
        &self,
        campaign: &CampaignPlan,
        cell: &mut Cell,
        run: Option<&RunVariation>,
        problems: &mut Vec<Problem>,
    ) {
        let plan = &cell.plan;
        if plan.artifacts.user_files.is_empty() {
            return;
        }
        let own = self.own(run);
        let mut found = Vec::new();
        let of_trial = |trial| {
            let dir = campaign.run_dir(cell, trial);
            user_files::user_files(&own, &dir, &plan.models, &plan.endpoint, &mut Vec::new(), &mut found)
        };
        let files = (0..campaign.trials.count as usize).map(of_trial).collect();
        found.retain(|problem| !problems.iter().any(|other| other.what == problem.what));
        problems.extend(found);
        cell.user_files = files;
    }

    /// The configuration of one run, as if it were the only one.
    fn own(&self, run: Option<&RunVariation>) -> Tree {
        run.map_or_else(|| self.tree.clone(), |run| self.tree.of_run(run))
    }
}

/// Removes secrets from the values and names of a cell: folders, files and lines show them.
pub(super) fn hide(cell: &mut Cell, redactor: &Redactor) {
    let mut values = Value::Object(std::mem::take(&mut cell.values));
    export::without_secrets(&mut values);
    visit_texts(&mut values, &mut |text| *text = redactor.hide(text).into_owned());
    if let Value::Object(values) = values {
        cell.values = values;
    }
    if let Cow::Owned(hidden) = redactor.hide(&cell.label) {
        cell.label = hidden;
    }
    // A folder name without a secret, still unique to its run.
    if matches!(redactor.hide(&cell.name), Cow::Owned(_))
        || cell.values.keys().any(|path| export::is_secret_setting(path))
    {
        cell.name = format!("variation_{}", cell.index);
    }
}

/// Hex digits that depend on a text only.
pub(super) fn hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
