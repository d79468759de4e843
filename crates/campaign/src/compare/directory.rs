//! What a directory contains: a run, several runs of one benchmark, or nothing that can be a side.

use super::CompareError;
use super::summary::{Aggregate, RunSummary, entries};
use aiperf_plan::{CampaignPlan, FileNames};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folder of several runs of one benchmark.
const RUNS: &str = CampaignPlan::RUNS;
const AGGREGATE: &str = CampaignPlan::AGGREGATE;
/// How many cells of a sweep a message names.
const NAMED_CELLS: usize = 8;

/// The content of a directory.
#[derive(Debug)]
pub(super) enum Contents {
    Run(Box<RunSummary>),
    /// At least two runs, and the names of those without results.
    Runs(Vec<RunSummary>, Vec<String>),
    Aggregate(Aggregate),
}

impl Contents {
    pub(super) fn read(path: &Path) -> Result<Self, CompareError> {
        match path.metadata() {
            Err(source) if source.kind() == ErrorKind::NotFound => {
                return Err(CompareError::Missing { path: path.to_owned() });
            }
            Err(source) => return Err(CompareError::Unreadable { path: path.to_owned(), source }),
            Ok(meta) if !meta.is_dir() => return Err(CompareError::NoDirectory { path: path.to_owned() }),
            Ok(_) => {}
        }
        if let Some(run) = RunSummary::find(path)? {
            return Ok(Self::Run(Box::new(run)));
        }
        if path.file_name().is_some_and(|name| name == RUNS)
            && let Some(contents) = Self::of_runs(&folders(path)?)?
        {
            return Ok(contents);
        }
        let runs = path.join(RUNS);
        if runs.is_dir()
            && let Some(contents) = Self::of_runs(&folders(&runs)?)?
        {
            return Ok(contents);
        }
        if let Some(file) = Aggregate::file(path)? {
            // The runs contain more than their aggregate.
            return match Self::of_runs(&runs_of_aggregate(path)?)? {
                Some(contents) => Ok(contents),
                None => Aggregate::read(&file).map(Self::Aggregate),
            };
        }
        match runs_without_results(path)? {
            0 => {}
            runs => return Err(CompareError::NoneSucceeded { path: path.to_owned(), runs }),
        }
        match cells(path)? {
            cells if cells.is_empty() => Err(CompareError::NoRun { path: path.to_owned() }),
            cells => {
                let count = cells.len();
                let named = cells.iter().take(NAMED_CELLS).map(|cell| cell.display().to_string());
                let more = (count > NAMED_CELLS).then(|| format!("{} more", count - NAMED_CELLS));
                let cells = named.chain(more).collect::<Vec<_>>().join(", ");
                Err(CompareError::Sweep { path: path.to_owned(), count, cells })
            }
        }
    }

    /// `None` if none of the directories contains a run.
    fn of_runs(dirs: &[PathBuf]) -> Result<Option<Self>, CompareError> {
        let (mut runs, mut without) = (Vec::new(), Vec::new());
        for dir in dirs {
            match RunSummary::find(dir)? {
                // The first run of a command replaces that of an earlier command; later runs of that command may still
                // be there.
                Some(run) if runs.first().is_some_and(|first: &RunSummary| first.sweep_id != run.sweep_id) => {
                    without.push(run.label);
                }
                Some(run) if run.counts() => runs.push(run),
                _ => without.push(dir.file_name().unwrap_or_default().to_string_lossy().into_owned()),
            }
        }
        Ok(match runs.len() {
            0 => None,
            1 => runs.pop().map(|run| Self::Run(Box::new(run))),
            _ => Some(Self::Runs(runs, without)),
        })
    }
}

/// The number of runs here, if none has results.
fn runs_without_results(path: &Path) -> Result<usize, CompareError> {
    let inner = path.join(RUNS);
    let dir = match path.file_name().is_some_and(|name| name == RUNS) {
        true => path,
        false if inner.is_dir() => &inner,
        false => return Ok(0),
    };
    // Every run of several has a configuration, even if it failed.
    let is_run = |dir: &PathBuf| {
        dir.join(FileNames::RUN_CONFIG).is_file() || RunSummary::find(dir).is_ok_and(|run| run.is_some())
    };
    Ok(folders(dir)?.iter().filter(|dir| is_run(dir)).count())
}

fn folders(dir: &Path) -> Result<Vec<PathBuf>, CompareError> {
    let mut folders = entries(dir)?;
    folders.retain(|path| path.is_dir());
    Ok(folders)
}

/// The runs of an aggregate: those next to it, or the same cell of each trial of a sweep.
fn runs_of_aggregate(dir: &Path) -> Result<Vec<PathBuf>, CompareError> {
    // A path such as `.` has no usable parent.
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let is_aggregate = |dir: &Path| dir.file_name().is_some_and(|name| name == AGGREGATE);
    let Some(parent) = dir.parent() else { return Ok(Vec::new()) };
    if is_aggregate(&dir) {
        let runs = parent.join(RUNS);
        return if runs.is_dir() { folders(&runs) } else { Ok(Vec::new()) };
    }
    let runs = parent.parent().map(|base| base.join(RUNS)).filter(|runs| is_aggregate(parent) && runs.is_dir());
    match (runs, dir.file_name()) {
        (Some(runs), Some(cell)) => {
            Ok(folders(&runs)?.into_iter().map(|trial| trial.join(cell)).filter(|run| run.is_dir()).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// The cells of a sweep: folders with one run or several, or with an aggregate next to those of other cells.
fn cells(dir: &Path) -> Result<Vec<PathBuf>, CompareError> {
    let aggregate = dir.join(AGGREGATE);
    let mut found = Vec::new();
    for folder in folders(dir)? {
        if folder.join(RUNS).is_dir() || RunSummary::find(&folder).is_ok_and(|run| run.is_some()) {
            found.push(folder);
        }
    }
    if found.is_empty() && aggregate.is_dir() {
        for folder in folders(&aggregate)? {
            if Aggregate::file(&folder)?.is_some() {
                found.push(folder);
            }
        }
    }
    Ok(found)
}
