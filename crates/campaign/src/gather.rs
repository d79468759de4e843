//! The results of several runs: the lines before the first run and after the last, and the files about all runs.

use crate::aggregate::post_process::{ERRORS_FILE, is_file_name, post_process};
use crate::aggregate::{
    Cell, Confidence, RunOutcome, RunRecords, SweepRules, SweepRun, collate, confidence, sweep, sweep_table,
};
use crate::result_files::records;
use crate::runs::CompletedRun;
use crate::runs::convergence::{has_shown_enough, unsettled};
use aiperf_plan::{self as plan, CampaignPlan, ConvergenceMode};
use aiperf_report::aggregate::{
    AggregateNames, CellOfSweep, ConfidenceReport, write_collated, write_confidence, write_document, write_sweep,
};
use aiperf_report::{
    ExportFailure, MultiRunPlan, Page, ReportError, RunsFolder, multi_run_banner, multi_run_summary, sweep_conclusion,
};
use aiperf_types::LogLevel;
use std::collections::BTreeMap;

/// Describes how the points of a sweep were drawn.
const DESIGN_FILE: &str = "sampling_design.json";
/// The fewest successful runs that can be aggregated.
const ENOUGH: usize = 2;

/// The results of several runs.
pub struct Gathered {
    /// Log lines, in order.
    pub lines: Vec<(LogLevel, String)>,
    pub failures: Vec<ExportFailure>,
    /// Enough runs succeeded for an aggregate.
    pub has_enough: bool,
}

/// The lines before the first run. `most`: the largest number of runs, if known.
pub fn opening(plan: &CampaignPlan, most: Option<usize>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(rule) = &plan.trials.convergence {
        let (mode, metric, stat) = (rule.mode.name(), &rule.metric, &rule.stat);
        let threshold = rule.threshold;
        notes.push(match rule.mode {
            ConvergenceMode::Distribution => format!(
                "Trials end early when {metric} of the last is distributed as that of those before it (p above {threshold})"
            ),
            ConvergenceMode::CiWidth | ConvergenceMode::Cv => {
                format!("Trials end early by {mode} of {metric} ({stat}) below {threshold}")
            }
        });
    }
    let banner = MultiRunPlan {
        configurations: (!plan.listed.is_empty()).then_some(plan.listed.len()),
        trials: plan.trials.count as usize,
        total_runs: most,
        confidence_level: plan.trials.confidence_level,
        cooldown_seconds: plan.trials.cooldown.as_secs_f64(),
        notes,
    };
    multi_run_banner(&banner)
}

/// A table of the finished cells of a sweep, if the plan asks for one.
pub fn table_so_far(plan: &CampaignPlan, done: &[CompletedRun], page: Page) -> Option<String> {
    let is_wanted = plan.sweep.as_ref().is_some_and(|sweep| sweep.shows_table) && plan.listed.len() != 1;
    if !is_wanted {
        return None;
    }
    Some(sweep_table(&rules(plan, done)?, &sweep_runs(plan, done)).draw(page))
}

/// Removes the files of an earlier command about all of its runs.
pub fn remove_stale(plan: &CampaignPlan, folder: &RunsFolder) -> Result<(), ReportError> {
    let artifacts = &plan.base.artifacts;
    folder.remove_lone_run(artifacts)?;
    let names = AggregateNames::of(&artifacts.names);
    let folders = plan.listed.iter().map(|cell| plan.aggregate_dir(cell)).chain([plan.sweep_dir()]);
    let made = plan.sweep.as_ref().and_then(|sweep| sweep.post_process.as_ref());
    let made = made.map(|post| post.output_filename.as_str()).filter(|name| is_file_name(name));
    folder.remove_stale(folders, &names, [DESIGN_FILE, ERRORS_FILE].into_iter().chain(made))
}

/// Removes the files of an earlier command about a cell that is not listed.
pub fn remove_stale_cell(plan: &CampaignPlan, cell: &plan::Cell, folder: &RunsFolder) -> Result<(), ReportError> {
    folder.remove_stale([plan.aggregate_dir(cell)], &AggregateNames::of(&plan.base.artifacts.names), [])
}

/// Aggregates the runs and writes the files. `most`: the largest number of runs, if known.
pub fn gather(
    plan: &CampaignPlan,
    version: &str,
    done: &[CompletedRun],
    most: Option<usize>,
    was_stopped: bool,
) -> Gathered {
    let mut gathered = Gathered { lines: Vec::new(), failures: Vec::new(), has_enough: false };
    let successful = done.iter().filter(|ran| ran.outcome.result.is_ok()).count();
    let total = done.len();
    gathered.say(
        LogLevel::Info,
        match was_stopped {
            true => {
                let of_at_most = most.map_or_else(String::new, |most| format!(", of at most {most}"));
                format!("Stopped: {successful}/{total} runs successful{of_at_most}")
            }
            false => format!("All runs complete: {successful}/{total} successful"),
        },
    );
    gathered.has_enough = successful >= most.map_or(ENOUGH, |most| ENOUGH.min(most));
    match successful {
        0 => {
            gathered.say(LogLevel::Error, "All runs failed - cannot compute confidence statistics.".to_owned());
            return gathered;
        }
        1 if !gathered.has_enough => {
            let text = "Only one run succeeded: nothing is known about how runs differ, and the aggregate is that run.";
            gathered.say(LogLevel::Warning, text.to_owned());
        }
        _ => {}
    }
    let names = AggregateNames::of(&plan.base.artifacts.names);
    let cells: BTreeMap<usize, &plan::Cell> = done.iter().map(|ran| (ran.run.cell, &*ran.cell)).collect();
    for (index, cell) in cells {
        let of_cell: Vec<&CompletedRun> = done.iter().filter(|ran| ran.run.cell == index).collect();
        let outcomes: Vec<RunOutcome> = of_cell.iter().map(|ran| ran.outcome.clone()).collect();
        let Ok(summed) = confidence(plan.trials.confidence_level, &outcomes) else { continue };
        let report = report(plan, cell, version, summed);
        let dir = plan.aggregate_dir(cell);
        gathered.wrote(write_confidence(&dir, &names, &report));
        if plan.trials.count > 1 {
            gathered.say(LogLevel::Info, format!("Aggregate JSON: {}", dir.join(&names.confidence_json).display()));
        }
        gathered.settled(plan, done, cell);
        if plan.sweep.is_none() {
            multi_run_summary(&report).into_iter().for_each(|line| gathered.say(LogLevel::Info, line));
        }
        if plan.trials.count > 1 {
            let records: Vec<RunRecords> = of_cell.iter().filter_map(|ran| gathered.records(plan, ran)).collect();
            let records: Vec<&RunRecords> = records.iter().collect();
            let cooldown = plan.trials.cooldown.as_secs_f64();
            gathered.wrote(write_collated(&dir, &names, &collate(version, cooldown, &outcomes, &records)));
        }
    }
    gather_sweep(plan, done, &names, &mut gathered);
    gathered
}

fn gather_sweep(plan: &CampaignPlan, done: &[CompletedRun], names: &AggregateNames, gathered: &mut Gathered) {
    let Some(wanted) = rules(plan, done) else { return };
    let summed = match sweep(&wanted, &sweep_runs(plan, done)) {
        Ok(summed) => summed,
        Err(error) => return gathered.say(LogLevel::Error, error.to_string()),
    };
    let dir = plan.sweep_dir();
    gathered.wrote(write_sweep(&dir, names, &summed));
    let mut written = vec![dir.join(&names.sweep_json)];
    sweep_conclusion(&summed).into_iter().for_each(|line| gathered.say(LogLevel::Info, line));
    let of_sweep = plan.sweep.as_ref();
    if let Some(design) = of_sweep.and_then(|sweep| sweep.design.as_ref()) {
        gathered.wrote(write_document(&dir, DESIGN_FILE, design));
    }
    if let Some(post) = of_sweep.and_then(|sweep| sweep.post_process.as_ref()) {
        let output = post_process(post, &summed.cells);
        output.answer.into_iter().for_each(|answer| gathered.say(LogLevel::Notice, format!("Answer: {answer}")));
        gathered.wrote(write_document(&dir, &output.file, &output.document));
        written.push(dir.join(&output.file));
        output.warning.into_iter().for_each(|warning| gathered.say(LogLevel::Warning, warning));
    }
    for path in written {
        gathered.say(LogLevel::Info, format!("Sweep file: {}", path.display()));
    }
}

impl Gathered {
    /// The values of single requests of a run: read from the records file, or kept in memory if there is no such file.
    fn records(&mut self, plan: &CampaignPlan, ran: &CompletedRun) -> Option<RunRecords> {
        let metrics = ran.outcome.result.as_ref().ok()?;
        let artifacts = &ran.cell.plan.artifacts;
        if !artifacts.records.jsonl {
            return ran.records.clone();
        }
        let path = plan.run_dir(&ran.cell, ran.run.trial).join(&artifacts.names.records_jsonl);
        let records = records(&ran.outcome.label, &path, metrics);
        if records.is_none() {
            let (name, path) = (plan.name(&ran.cell, ran.run.trial), path.display());
            self.say(LogLevel::Warning, format!("{name} has no part in the collated file: {path} is not whole"));
        }
        records
    }

    /// Logs whether the trials of a cell have converged, if the plan has a rule for it.
    fn settled(&mut self, plan: &CampaignPlan, done: &[CompletedRun], cell: &plan::Cell) {
        let Some(rule) = &plan.trials.convergence else { return };
        let trials = done.iter().filter(|ran| ran.run.cell == cell.index).count();
        let (metric, most) = (&rule.metric, plan.trials.count);
        let whose = plan.sweep.as_ref().map_or(String::new(), |_| format!(" at {}", cell.label));
        match has_shown_enough(&plan.trials, done, cell.index) {
            true => self.say(LogLevel::Info, format!("{metric} settled in {trials} of at most {most} runs{whose}")),
            false => {
                let measure = unsettled(&plan.trials, done, cell.index);
                self.say(LogLevel::Warning, format!("{metric} did not settle in {trials} runs{whose}: {measure}"));
            }
        }
    }

    fn say(&mut self, level: LogLevel, text: String) {
        self.lines.push((level, text));
    }

    fn wrote(&mut self, failures: Vec<ExportFailure>) {
        for failure in &failures {
            self.say(LogLevel::Error, format!("{}: {}", failure.exporter, failure.error));
        }
        self.failures.extend(failures);
    }
}

fn report(plan: &CampaignPlan, cell: &plan::Cell, version: &str, summed: Confidence) -> ConfidenceReport {
    ConfidenceReport {
        version: version.to_owned(),
        tally: summed.tally,
        level: summed.level,
        cooldown_seconds: plan.trials.cooldown.as_secs_f64(),
        cell: plan.sweep.as_ref().map(|sweep| CellOfSweep {
            label: cell.name.clone(),
            values: cell.values.clone(),
            sweep_mode: sweep.order.name().to_owned(),
            model: cell.plan.models.first().cloned(),
        }),
        dataset: None,
        verdicts: summed.verdicts,
        metrics: summed.metrics,
    }
}

fn rules(plan: &CampaignPlan, done: &[CompletedRun]) -> Option<SweepRules> {
    let sweep = plan.sweep.as_ref()?;
    Some(SweepRules {
        sweep_mode: sweep.order.name().to_owned(),
        confidence_level: plan.trials.confidence_level,
        trials: trials_by_cell(done).into_values().max().unwrap_or(0),
        sla_filters: sweep.sla_filters.clone(),
        pareto_axes: sweep.pareto_axes.clone(),
    })
}

fn trials_by_cell(done: &[CompletedRun]) -> BTreeMap<usize, usize> {
    let mut trials = BTreeMap::new();
    done.iter().for_each(|ran| *trials.entry(ran.run.cell).or_default() += 1);
    trials
}

fn sweep_runs(plan: &CampaignPlan, done: &[CompletedRun]) -> Vec<SweepRun> {
    let one = |ran: &CompletedRun| {
        let plan::Cell { label, name, values, .. } = &*ran.cell;
        let cell = Cell { label: label.clone(), values: values.clone(), directory: name.clone() };
        // Trials of different cells have the same labels.
        let label = plan.name(&ran.cell, ran.run.trial);
        SweepRun { cell, outcome: RunOutcome { label, ..ran.outcome.clone() } }
    };
    done.iter().map(one).collect()
}
