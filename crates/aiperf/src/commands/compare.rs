//! `aiperf compare`: runs side by side, and whether limits on their differences hold.

use super::path::path;
use crate::exit::{self, Exit};
use crate::new_file::{WholeFile, check_folder};
use crate::{signals, terminal};
use aiperf_campaign::compare::{CompareRequest, Conclusion, MOST_SIDES, Rule, Stat, compare};
use aiperf_plan::{FileNames, collide};
use aiperf_report::compare::CompareReport;
use aiperf_report::{
    Page, compare_cases, compare_json, compare_properties, compare_text, discard_temporaries, junit_xml,
};
use clap::Parser;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file name that stands for stdout.
const STDOUT: &str = "-";

/// Compare runs: each metric with its difference, an interval and a verdict.
///
/// A directory contains a run, several runs of one benchmark (--num-profile-runs), or results of NVIDIA AIPerf. Each is
/// compared with the first. Single runs are compared by their records, in blocks of time as long as requests depend on
/// each other. Several runs per side are compared by how runs differ. Too little data is undecided. Exit code 0: every
/// limit holds; 3: one is broken; 4: at least one is undecided; 2: bad input.
#[derive(Debug, Parser)]
#[command(name = "aiperf compare", version)]
pub(crate) struct CompareCommand {
    /// Artifact directories; the first one is the baseline.
    #[arg(value_name = "DIR", required = true, num_args = 1.., value_parser = path)]
    directories: Vec<PathBuf>,
    /// Fail when a statistic differs by more, such as 'time_to_first_token:p99:+5%' (above) or
    /// 'request_throughput:avg:-5%' (below); in the metric's unit as '+5ms'; may be given several times.
    #[arg(long, value_name = "METRIC:STAT:±N%", allow_hyphen_values = true)]
    fail_on: Vec<String>,
    /// Metrics to show, separated by commas; by default those of the console.
    #[arg(long, value_name = "METRICS", value_delimiter = ',')]
    metrics: Vec<String>,
    /// Statistics to show, separated by commas: avg, p50, p90, p99 or another percentile.
    #[arg(long, value_name = "STATS", value_delimiter = ',')]
    stats: Vec<String>,
    /// Confidence level of intervals and verdicts.
    #[arg(long, value_name = "LEVEL", default_value = "0.95", value_parser = level)]
    confidence_level: f64,
    /// Write the comparison to this file, as JSON; - is stdout, and the table goes to stderr.
    #[arg(long, value_name = "FILE", value_parser = path)]
    json: Option<PathBuf>,
    /// Write the verdict of each --fail-on to this file, as JUnit XML.
    #[arg(long, value_name = "FILE", value_parser = path)]
    junit: Option<PathBuf>,
}

fn level(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(level) if (0.5..1.0).contains(&level) => Ok(level),
        _ => Err("a level is from 0.5 to below 1, such as 0.95".to_owned()),
    }
}

/// Runs with the arguments after `compare`.
pub(crate) fn run(args: &[String]) -> Exit {
    let args = std::iter::once("aiperf compare").chain(args.iter().map(String::as_str));
    let command = match CompareCommand::try_parse_from(args) {
        Ok(command) => command,
        Err(error) => return exit::print_clap(error),
    };
    signals::leave_at_once(discard_temporaries);
    let request = match request(&command) {
        Ok(request) => request,
        Err(refused) => return exit::refuse(refused),
    };
    let report = match compare(&request) {
        Ok(report) => report,
        Err(error) => return exit::refuse(error),
    };
    conclude(&command, &report)
}

fn request(command: &CompareCommand) -> Result<CompareRequest, String> {
    let paths = command.directories.clone();
    match paths.len() {
        1 => {
            return Err(format!(
                "there is one directory, {}, and a comparison takes two or more\n  try: aiperf compare BEFORE AFTER",
                paths[0].display()
            ));
        }
        count if count > MOST_SIDES => {
            return Err(format!("there are {count} directories\n  try: {MOST_SIDES} at most"));
        }
        _ => {}
    }
    if command.junit.is_some() && command.fail_on.is_empty() {
        let what = "--junit has a case for each --fail-on, and there is none";
        return Err(format!("{what}\n  try: --fail-on 'time_to_first_token:p99:+5%' with it, or --json"));
    }
    for (flag, path) in [("--json", &command.json), ("--junit", &command.junit)] {
        path.as_deref()
            .map_or(Ok(()), |path| check_folder(flag, path).and_then(|()| is_no_result(flag, path, &paths)))?;
    }
    let rules: Vec<Rule> = command.fail_on.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
    let stat = |text: &String| text.parse().map_err(|what: String| format!("--stats: {what}"));
    let stats: Vec<Stat> = command.stats.iter().map(stat).collect::<Result<_, _>>()?;
    Ok(CompareRequest {
        paths,
        level: command.confidence_level,
        metrics: command.metrics.iter().map(|tag| tag.trim().to_owned()).collect(),
        stats,
        rules,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// Refuses to overwrite a file of a compared run.
fn is_no_result(flag: &str, path: &Path, compared: &[PathBuf]) -> Result<(), String> {
    let Ok(real) = path.canonicalize() else { return Ok(()) };
    let names = FileNames::new(None);
    let is_result = |folder: &PathBuf| {
        let inside = folder.canonicalize().ok().and_then(|folder| Some(real.strip_prefix(folder).ok()?.to_owned()));
        inside.is_some_and(|inside| names.all().any(|name| collide(&inside, Path::new(name))))
    };
    match compared.iter().any(is_result) {
        true => Err(format!("{flag} {} is a file of a run that is compared\n  try: another file", path.display())),
        false => Ok(()),
    }
}

/// Writes the requested files, then the table, and returns the exit code.
fn conclude(command: &CompareCommand, report: &CompareReport) -> Exit {
    let json_to_stdout = command.json.as_deref() == Some(Path::new(STDOUT));
    let mut unwritten = None;
    let files = [
        ("--json", command.json.as_deref().filter(|_| !json_to_stdout), compare_json as fn(&CompareReport) -> Vec<u8>),
        ("--junit", command.junit.as_deref(), junit),
    ];
    for (flag, path, document) in files {
        if let Some(path) = path
            && let Err(error) = write(path, &document(report))
        {
            unwritten = Some(exit::fail(format_args!(
                "cannot write {}: {error}\n  try: another file for {flag}",
                path.display()
            )));
        }
    }
    let printed = if json_to_stdout {
        terminal::complain(&compare_text(report, terminal::stderr_columns().map_or_else(Page::file, Page::screen)));
        let document = compare_json(report);
        exit::print(&format!("{}\n", String::from_utf8_lossy(&document)))
    } else {
        exit::print(&compare_text(
            report,
            terminal::stdout_page().unwrap_or_else(|| terminal::piped_page(Page::file())),
        ))
    };
    match (unwritten, printed) {
        (Some(failed), _) => failed,
        (None, Exit::Success) => match Conclusion::of(report) {
            Conclusion::Within => Exit::Success,
            Conclusion::Beyond => Exit::LimitBroken,
            Conclusion::Undecided => Exit::Undecided,
        },
        (None, failed) => failed,
    }
}

fn junit(report: &CompareReport) -> Vec<u8> {
    junit_xml("aiperf compare", &compare_properties(report), &compare_cases(report)).into_bytes()
}

fn write(path: &Path, document: &[u8]) -> io::Result<()> {
    let mut file = WholeFile::create(path, true)?;
    file.write_all(document)?;
    file.finish()
}
