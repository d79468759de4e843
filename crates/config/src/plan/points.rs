//! Cells of points that are not listed: the settings of the sweep with other values.

use super::cells::{Planning, hide};
use crate::context::Context;
use crate::error::{ConfigError, Problem};
use crate::resolve::Tree;
use aiperf_plan::redact::Redactor;
use aiperf_plan::{CampaignPlan, Cell, MakeCell, Point, PointError};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The inputs of a cell, besides its point.
struct Points {
    tree: Tree,
    env: BTreeMap<String, String>,
    cwd: PathBuf,
    stdout_is_terminal: bool,
    benchmark_id: String,
    args: Vec<String>,
    /// Has the folders of runs.
    campaign: CampaignPlan,
    /// For all runs: made once, before the first.
    redactor: Redactor,
}

/// The function that makes cells from points.
pub(super) fn make_cell(planning: &Planning<'_>, campaign: &CampaignPlan) -> MakeCell {
    let Planning { tree, ctx, args, .. } = planning;
    let points = Points {
        tree: (*tree).clone(),
        env: ctx.env.clone(),
        cwd: ctx.cwd.to_owned(),
        stdout_is_terminal: ctx.stdout_is_terminal,
        benchmark_id: ctx.benchmark_id.clone(),
        args: args.to_vec(),
        campaign: campaign.clone(),
        redactor: campaign.redactor(),
    };
    MakeCell::new(move |point| {
        points.cell(point).map_err(|problems| PointError(ConfigError::Invalid(problems).to_string()))
    })
}

impl Points {
    fn cell(&self, point: &Point) -> Result<Cell, Vec<Problem>> {
        let ctx = Context {
            env: &self.env,
            stdout_is_terminal: self.stdout_is_terminal,
            cwd: &self.cwd,
            benchmark_id: self.benchmark_id.clone(),
        };
        let run = self.tree.at_point(point.run.cell, &point.values, &ctx)?;
        let planning = Planning { tree: &self.tree, ctx: &ctx, args: &self.args, trials: self.campaign.trials.count };
        let mut problems = Vec::new();
        let planned = planning.cell(point.run.cell, Some(&run), &mut Vec::new(), &mut problems);
        let Some(mut cell) = planned.filter(|_| problems.is_empty()) else { return Err(problems) };
        if !self.redactor.hides(cell.plan.all_secrets()) {
            let why = "log lines of all runs would show it";
            return Err(vec![Problem::new("a search cannot vary a secret").because(why).at("sweep")]);
        }
        hide(&mut cell, &self.redactor);
        planning.render_user_files(&self.campaign, &mut cell, Some(&run), &mut problems);
        if problems.is_empty() { Ok(cell) } else { Err(problems) }
    }
}
