//! Runs side by side: how far each metric differs, how certain that is, and whether limits hold.
//!
//! Each side is compared with the first. If both sides are several runs of a benchmark, the values of the runs are
//! compared (Welch). If both are single runs, their records are compared over time (see
//! `aiperf_statistics::comparison`). Shares of requests, such as failures, are compared by their counts (Fisher). More
//! failures break every limit on metrics of successful requests: a server that fails its slow requests is not faster.
//!
//! A measurement can be off (`measurement.error_bound` of a summary). A difference that is not larger than the bounds of
//! both sides is undecided, whatever chance has to do with it.
//!
//! If no method applies, the values are shown as undecided, with the reason. All verdicts of a comparison are corrected
//! for their number (Holm), and so are all limits.
//!
//! # Layout
//! - [`rule`]: limits, and the statistics that are compared
//! - `metrics`: which metrics are compared, and which direction of each is better
//! - `summary`, `directory`: read the files of a run back; what a directory contains
//! - `side`: one side, and its values in the order of time
//! - `settings`: how the benchmarks differ
//! - `verdicts`: the conclusions

mod directory;
mod metrics;
pub mod rule;
mod settings;
mod side;
mod summary;
mod verdicts;

use aiperf_plan::nearest::nearest;
use aiperf_report::compare::{CompareReport, FailedRequests, LimitOutcome, Pair, Side as ReportedSide};
use aiperf_report::thousands;
pub use rule::{Rule, Stat};
use settings::Written;
use side::{Records, Side};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use verdicts::Wanted;

/// By how much records may fall short of the count in the summary, and a rate may differ from it.
const LARGEST_GAP: f64 = 0.01;
/// Sides are named by letters.
pub const MOST_SIDES: usize = 26;

/// Why sides cannot be compared.
#[derive(Debug, Error)]
pub enum CompareError {
    #[error("there is no directory {}\n  try: one that aiperf profile wrote, such as those in artifacts/", path.display())]
    Missing { path: PathBuf },
    #[error("{} is not a directory\n  try: the directory of the run, {}", path.display(), parent(path).display())]
    NoDirectory { path: PathBuf },
    #[error("{} cannot be read: {source}\n  try: ls -l to see who may, and a copy that you may read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not JSON: {source}\n  try: a run that ended; a copy may have been cut off", path.display())]
    Malformed { path: PathBuf, source: serde_json::Error },
    #[error("{} is not the summary of a run: it has no schema_version and input_config\n  try: a directory as aiperf \
             profile wrote it", path.display())]
    NotASummary { path: PathBuf },
    #[error("{} holds no run: there is no profile_export_aiperf.json in it and no profile_runs\n  try: the artifact \
             directory of a run that ended, such as those in artifacts/", path.display())]
    NoRun { path: PathBuf },
    #[error("none of the runs in {} succeeded (there are {runs}), so there is nothing to compare\n  try: the errors in their \
             logs and summaries, then runs that succeed", path.display())]
    NoneSucceeded { path: PathBuf, runs: usize },
    #[error(
        "{what} is not measured in {side}: none of its {failed} requests succeeded\n  try: --metrics \
             request_error_rate, and the errors in its records"
    )]
    AllFailed { what: String, side: String, failed: u64 },
    #[error("{} holds several runs: {names}\n  try: a directory for each of them", path.display())]
    SeveralRuns { path: PathBuf, names: String },
    #[error("{} is a sweep of {count} cells, and each side is one of them\n  try: two of {cells}", path.display())]
    Sweep { path: PathBuf, count: usize, cells: String },
    #[error(
        "{tag} is in {first}, and in {second}\n  try: runs that were measured in one unit, or --metrics without it"
    )]
    Units { tag: String, first: String, second: String },
    #[error("{what} is not measured in {side}\n  try: {way_out}")]
    NotMeasured { what: String, side: String, way_out: String },
    #[error("{first} and {second} have no metric in common\n  try: runs of one kind of endpoint")]
    NothingShared { first: String, second: String },
    #[error("--fail-on '{rule}' is in {given}, and {tag} is in {unit}\n  try: a limit in {unit}, or in %")]
    LimitUnit { rule: String, given: String, tag: String, unit: String },
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// What the user asks for.
#[derive(Clone, Debug)]
pub struct CompareRequest {
    /// At least two.
    pub paths: Vec<PathBuf>,
    /// The confidence level: 0.95.
    pub level: f64,
    /// Metrics to show; empty for those on the console.
    pub metrics: Vec<String>,
    /// Statistics to show; empty for the default ones of each metric.
    pub stats: Vec<Stat>,
    pub rules: Vec<Rule>,
    /// The version of this program, for the files.
    pub version: String,
}

/// The verdict over all limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conclusion {
    Within,
    Undecided,
    Beyond,
}

impl Conclusion {
    /// The worst verdict of a report.
    pub fn of(report: &CompareReport) -> Self {
        let one = |outcome: LimitOutcome| match outcome {
            LimitOutcome::Within => Self::Within,
            LimitOutcome::Undecided(_) => Self::Undecided,
            LimitOutcome::Beyond => Self::Beyond,
        };
        report.judgements().map(|(_, judgement)| one(judgement.outcome)).max().unwrap_or(Self::Within)
    }
}

/// Compares every side with the first.
pub fn compare(request: &CompareRequest) -> Result<CompareReport, CompareError> {
    let labels = ('A'..='Z').map(String::from);
    let sides: Vec<Side> =
        labels.zip(&request.paths).map(|(label, path)| Side::read(label, path)).collect::<Result<_, _>>()?;
    let Some((first, others)) = sides.split_first() else {
        return Ok(CompareReport {
            version: request.version.clone(),
            level: request.level,
            sides: Vec::new(),
            pairs: Vec::new(),
            notes: Vec::new(),
        });
    };
    let wanted: Vec<Wanted> = others.iter().map(|second| wanted(request, first, second)).collect::<Result<_, _>>()?;
    let tags = record_tags(&wanted);
    let mut notes: Vec<String> = sides.iter().flat_map(Side::notes).collect();
    notes.extend(versions_note(&sides));
    let records = read_records(&sides, &tags)?;
    notes.extend(records.iter().flat_map(|(_, notes)| notes.clone()));
    let mut pairs: Vec<Pair> = Vec::new();
    for (at, (second, wanted)) in others.iter().zip(&wanted).enumerate() {
        let records = (&records[0].0, &records[at + 1].0);
        let (pair, more) = verdicts::pair((first, second), records, wanted, at + 1, request.level)?;
        notes.extend(more);
        pairs.push(Pair { settings: settings_of(first, second), ..pair });
    }
    verdicts::correct(&mut pairs, request.level);
    let more = pairs.iter().filter_map(|pair| failures_note(pair, &sides)).collect::<Vec<_>>();
    notes.splice(0..0, more);
    let sides = sides.iter().zip(&records).map(|(side, (records, _))| ReportedSide {
        label: side.label.clone(),
        path: side.path.display().to_string(),
        runs: side.runs(),
        records: records.len(),
        verdicts: side.verdicts(),
    });
    Ok(CompareReport { version: request.version.clone(), level: request.level, sides: sides.collect(), pairs, notes })
}

/// What to compare between two sides, checked against what they measured.
fn wanted(request: &CompareRequest, first: &Side, second: &Side) -> Result<Wanted, CompareError> {
    let (here, there) = (first.tags(), second.tags());
    for tag in request.metrics.iter().map(String::as_str).chain(request.rules.iter().map(|rule| rule.tag.as_str())) {
        is_measured(tag, first, &here)?;
        is_measured(tag, second, &there)?;
    }
    let shared = |tag: &&str| here.contains(tag) && there.contains(tag);
    let shown: Vec<String> = match request.metrics.is_empty() {
        true => metrics::shown().iter().map(|metric| metric.tag).filter(shared).map(str::to_owned).collect(),
        false => request.metrics.clone(),
    };
    if shown.is_empty() {
        return Err(CompareError::NothingShared { first: first.name(), second: second.name() });
    }
    let default: Vec<&str> = metrics::shown().iter().map(|metric| metric.tag).collect();
    let only = |these: &BTreeSet<&str>, those: &BTreeSet<&str>| -> Vec<String> {
        default
            .iter()
            .filter(|tag| these.contains(*tag) && !those.contains(*tag))
            .map(|tag| (*tag).to_owned())
            .collect()
    };
    let wanted = Wanted {
        shown,
        stats: request.stats.clone(),
        rules: request.rules.clone(),
        only_first: only(&here, &there),
        only_second: only(&there, &here),
    };
    for tag in wanted.tags() {
        let (unit, other) = (first.unit(tag)?.unwrap_or_default(), second.unit(tag)?.unwrap_or_default());
        if unit != other {
            return Err(CompareError::Units {
                tag: tag.to_owned(),
                first: format!("{unit} in {}", first.name()),
                second: format!("{other} in {}", second.name()),
            });
        }
        for rule in request.rules.iter().filter(|rule| rule.tag == tag) {
            if let rule::By::Amount { unit: given, .. } = &rule.by
                && given != unit
            {
                let (rule, given) = (rule.text.clone(), given.clone());
                return Err(CompareError::LimitUnit { rule, given, tag: tag.to_owned(), unit: unit.to_owned() });
            }
        }
    }
    Ok(wanted)
}

/// The first note: a side has more failures. All other metrics are of requests that succeeded.
fn failures_note(pair: &Pair, sides: &[Side]) -> Option<String> {
    let failures = pair.failures.as_ref().filter(|failures| failures.rose())?;
    let (first, second) = (&sides[pair.first].label, &sides[pair.second].label);
    let words = |side: FailedRequests| {
        let share = 100.0 * side.share();
        format!("{} of {} requests ({share:.2}%)", thousands(side.failed), thousands(side.requests))
    };
    let (before, after) = (words(failures.first), words(failures.second));
    Some(format!(
        "{second} fails more requests than {first}: {after}, against {before}; latencies are of requests that succeeded"
    ))
}

fn is_measured(tag: &str, side: &Side, tags: &BTreeSet<&str>) -> Result<(), CompareError> {
    if tags.contains(tag) {
        return Ok(());
    }
    if let Some(failed) = side.proportion(metrics::ERRORS).filter(|failed| failed.hits == failed.of)
        && metrics::is_of_successes(tag)
    {
        return Err(CompareError::AllFailed { what: tag.to_owned(), side: side.name(), failed: failed.hits });
    }
    let way_out = match nearest(tag, tags.iter().copied()) {
        Some(near) => format!("{near}; did you mean that?"),
        None => "a metric that both sides have; aiperf metrics lists every metric".to_owned(),
    };
    Err(CompareError::NotMeasured { what: tag.to_owned(), side: side.name(), way_out })
}

/// The metrics to read from each record: those of requests, and the parts of rates.
fn record_tags(wanted: &[Wanted]) -> Vec<String> {
    let mut tags = BTreeSet::new();
    for tag in wanted.iter().flat_map(Wanted::tags) {
        match metrics::RATES.iter().find(|(rate, _)| *rate == tag) {
            Some((_, weight)) => tags.extend(*weight),
            None => drop(tags.insert(tag)),
        }
    }
    tags.into_iter().map(str::to_owned).collect()
}

type Read = (Records, Vec<String>);

/// The records of every side, read two at a time: reading is most of the work.
fn read_records(sides: &[Side], tags: &[String]) -> Result<Vec<Read>, CompareError> {
    // Sides of several runs are compared by their summaries. So the records of a single run next to them are not
    // needed.
    let needs_records =
        |side: &Side| side.run().is_some() && sides.iter().filter(|side| side.run().is_some()).count() > 1;
    let read = |side: &Side| match needs_records(side) {
        true => Records::read(side, tags),
        false => Ok((Records::Without(aiperf_report::compare::Reason::FewRuns), Vec::new())),
    };
    let mut all = Vec::new();
    for two in sides.chunks(2) {
        let read = std::thread::scope(|scope| {
            let threads: Vec<_> = two.iter().map(|side| scope.spawn(move || read(side))).collect();
            threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
        });
        for one in read {
            all.push(one.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
    }
    Ok(all)
}

fn settings_of(first: &Side, second: &Side) -> Vec<aiperf_report::compare::SettingDifference> {
    let (Some(here), Some(there)) = (first.config(), second.config()) else { return Vec::new() };
    let is_alike = (first.program(), first.version()) == (second.program(), second.version());
    settings::differences(here, there, if is_alike { Written::Alike } else { Written::Differently })
}

/// A note if the sides were measured by different programs or versions.
fn versions_note(sides: &[Side]) -> Option<String> {
    let known: Vec<(&Side, &str)> = sides.iter().filter_map(|side| Some((side, side.version()?))).collect();
    let (first, version) = known.first()?;
    let programs_differ = known.iter().any(|(side, _)| side.program() != first.program());
    let named = |(side, version): &(&Side, &str)| match side.program().filter(|_| programs_differ) {
        Some(program) => format!("{} by {} {version}", side.label, program.name()),
        None => format!("{} by {version}", side.label),
    };
    let named = known.iter().map(named).collect::<Vec<_>>().join(", ");
    if programs_differ {
        return Some(format!("Measured by different programs: {named}"));
    }
    let differs = known.iter().any(|(_, other)| other != version);
    differs.then(|| format!("Measured by different versions of aiperf: {named}"))
}
