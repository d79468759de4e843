//! `aiperf analyze-trace`: how long the requests of a trace are, and how much of them a cache could answer.

use super::path::path;
use crate::exit::{self, Exit};
use crate::new_file::WholeFile;
use crate::{signals, terminal};
use aiperf_campaign::memory::room;
use aiperf_campaign::trace_tools::analysis::{Analysis, Spread};
use aiperf_report::{Page, StatisticsRow, discard_temporaries, literal, statistics_table, thousands};
use clap::Parser;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// Show how long the requests of a mooncake trace are, and how much of them a prefix cache could serve.
///
/// The trace is JSON lines, optionally compressed with gzip, with input_length, output_length and hash_ids. It is read
/// once; memory grows with the number of distinct ids and prefixes.
#[derive(Debug, Parser)]
#[command(name = "aiperf analyze-trace", version)]
pub(crate) struct AnalyzeCommand {
    /// The trace.
    #[arg(value_name = "INPUT_FILE", required_unless_present = "named_input", value_parser = path)]
    input: Option<PathBuf>,
    /// The trace, by name.
    #[arg(long = "input-file", value_name = "FILE", conflicts_with = "input", value_parser = path)]
    named_input: Option<PathBuf>,
    /// Tokens per block of the cache: the length of one id of hash_ids.
    #[arg(long, value_name = "TOKENS", default_value = "512")]
    block_size: NonZeroU32,
    /// Also write the report to this file, as JSON; an existing file is replaced.
    #[arg(long, value_name = "FILE", value_parser = path)]
    output_file: Option<PathBuf>,
}

/// Runs with the arguments after `analyze-trace`.
pub(crate) fn run(args: &[String]) -> Exit {
    let args = std::iter::once("aiperf analyze-trace").chain(args.iter().map(String::as_str));
    let command = match AnalyzeCommand::try_parse_from(args) {
        Ok(command) => command,
        Err(error) => return exit::print_clap(error),
    };
    let Some(input) = command.input.or(command.named_input) else { return exit::refuse("there is no input file") };
    signals::leave_at_once(discard_temporaries);
    if let Some(output) = &command.output_file
        && is_same(&input, output)
    {
        return exit::refuse(format_args!(
            "--output-file {} is the trace itself\n  try: another --output-file",
            output.display()
        ));
    }
    let analysis = match Analysis::read(&input, command.block_size.get().into(), room()) {
        Ok(analysis) => analysis,
        Err(error) => return exit::refuse(error),
    };
    let Some(output) = &command.output_file else { return exit::print(&report(&analysis)) };
    // The file is written before the report, because the report names it.
    if let Err(error) = write(output, &analysis) {
        let _ = exit::print(&report(&analysis));
        return exit::fail(format_args!("cannot write {}: {error}\n  try: another --output-file", output.display()));
    }
    let path = literal(&output.display().to_string());
    exit::print(&format!("{}\nAnalysis report saved to {path}\n", report(&analysis)))
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn write(path: &Path, analysis: &Analysis) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = WholeFile::create(path, true)?;
    file.write_all(analysis.json().as_bytes())?;
    file.finish()
}

fn report(analysis: &Analysis) -> String {
    let page = terminal::stdout_page().unwrap_or_else(|| terminal::piped_page(Page::file()));
    let rows = [
        row("Input Length", analysis.input),
        row("Context Length", analysis.context),
        row("Unique Prompt Length", analysis.unique),
        row("Output Length", analysis.output),
        row("Theoretical Hit Rates", analysis.hit_rate),
    ];
    format!(
        "\nTrace Analysis Report\nTotal requests:   {}\nUnique prefixes:  {}\nPrefix groups:    {}\n\n{}",
        thousands(analysis.requests),
        thousands(analysis.prefixes),
        thousands(analysis.groups),
        statistics_table("Trace Statistics", &rows, page)
    )
}

fn row(label: &str, spread: Option<Spread>) -> StatisticsRow<'_> {
    let values =
        |Spread { mean, deviation, min, p25, median, p75, max }: Spread| [mean, deviation, min, p25, median, p75, max];
    (label, spread.map(values))
}
