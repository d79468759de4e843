//! `aiperf synthesize agentic-code`: a made-up trace of coding agents, with pages to look at it.

use super::path::path;
use super::validate_trace;
use crate::exit::{self, Exit};
use crate::new_file::WholeFolder;
use crate::{signals, terminal};
use aiperf_campaign::trace_tools::agentic::{
    self, AgenticConfig, AgenticDataset, AgenticPlan, ConfigFault, MakeError, WriteFile,
};
use aiperf_campaign::trace_tools::validate::Validation;
use aiperf_config::small_file;
use aiperf_report::{discard_temporaries, literal, log_time, thousands};
use aiperf_types::WallNs;
use clap::{Parser, Subcommand};
use std::fmt::Display;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Generate datasets.
#[derive(Debug, Parser)]
#[command(name = "aiperf synthesize", version)]
pub(crate) struct SynthesizeCommand {
    #[command(subcommand)]
    target: Target,
}

#[derive(Debug, Subcommand)]
enum Target {
    /// Generate a mooncake trace of coding agents.
    ///
    /// Sessions begin with a prompt shared by all, continue with a part shared by the sessions of a repository, and
    /// grow turn by turn until their context is full or they restart. All files go into a new folder: dataset.jsonl for
    /// aiperf analyze-trace and others; manifest.json, which --config accepts to generate it again; quality.json;
    /// comparison.txt; cache_structure.json; and pages for a browser: report.html, cache_explorer.html,
    /// simulation.html.
    AgenticCode(AgenticCode),
}

#[derive(Debug, clap::Args)]
struct AgenticCode {
    /// Sessions to generate. They are written one by one, so their number takes no memory.
    #[arg(long, value_name = "COUNT", default_value = "1000")]
    num_sessions: NonZeroU64,
    /// Folder in which the new folder is created.
    #[arg(long, value_name = "FOLDER", default_value = ".", value_parser = path)]
    output: PathBuf,
    /// Configuration of the sessions: a JSON file, the manifest of another dataset, or default.
    #[arg(long, value_name = "FILE", value_parser = path)]
    config: Option<PathBuf>,
    /// The same seed makes the same dataset.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Maximum tokens of a prompt, instead of the configuration's max_prompt_tokens.
    #[arg(long, value_name = "TOKENS")]
    max_isl: Option<u64>,
    /// Maximum tokens of a response, instead of the configuration's generation_length.max.
    #[arg(long, value_name = "TOKENS")]
    max_osl: Option<u64>,
}

/// Runs with the arguments after `synthesize`.
pub(crate) fn run(args: &[String]) -> Exit {
    let args = std::iter::once("aiperf synthesize").chain(args.iter().map(String::as_str));
    let Target::AgenticCode(options) = match SynthesizeCommand::try_parse_from(args) {
        Ok(command) => command.target,
        Err(error) => return exit::print_clap(error),
    };
    let plan = match plan(&options) {
        Ok(plan) => plan,
        Err(fault) => return exit::refuse(fault),
    };
    signals::leave_at_once(discard_temporaries);
    match make(&plan, &options.output) {
        Ok(text) => exit::print(&text),
        Err(Unmade::Config(fault)) => exit::refuse(fault),
        Err(Unmade::Write(place, error)) => {
            exit::fail(format_args!("cannot write {}: {error}\n  try: another --output", place.display()))
        }
        Err(Unmade::NoTrace(text)) => exit::fail(text),
    }
}

/// The name of the built-in configuration.
const DEFAULT: &str = "default";

fn plan(options: &AgenticCode) -> Result<AgenticPlan, String> {
    let (mut config, name) = match &options.config {
        None => (AgenticConfig::default(), DEFAULT.to_owned()),
        // A file of that name takes precedence over the built-in configuration.
        Some(path) if path == Path::new(DEFAULT) && !path.exists() => (AgenticConfig::default(), DEFAULT.to_owned()),
        Some(path) => {
            let wrong = |fault: &dyn Display| format!("--config {}: {fault}", path.display());
            let text = small_file::text(path, small_file::SETTINGS)
                .map_err(|rule| wrong(&format_args!("{rule}\n  try: a JSON file, or --config {DEFAULT}")))?;
            let name = path.file_stem().map_or(DEFAULT.into(), |stem| stem.to_string_lossy());
            (AgenticConfig::read(&text).map_err(|fault| wrong(&fault))?, name.into_owned())
        }
    };
    if let Some(tokens) = options.max_isl {
        config = config.with_max_input(tokens).map_err(|fault| format!("--max-isl {tokens}: {fault}"))?;
    }
    if let Some(tokens) = options.max_osl {
        config = config.with_max_output(tokens).map_err(|fault| format!("--max-osl {tokens}: {fault}"))?;
    }
    Ok(AgenticPlan { config, name, sessions: options.num_sessions.get(), seed: options.seed })
}

/// Why no dataset was made.
enum Unmade {
    Config(ConfigFault),
    Write(PathBuf, io::Error),
    /// The written file is not a valid trace.
    NoTrace(String),
}

/// Makes the dataset, and returns a description of its files.
fn make(plan: &AgenticPlan, output: &Path) -> Result<String, Unmade> {
    let unwritten = |error| Unmade::Write(output.to_owned(), error);
    let folder = WholeFolder::create(output).map_err(unwritten)?;
    let sessions = thousands(plan.sessions);
    terminal::print(&format!("Generating {sessions} sessions (seed={})...\n", plan.seed));
    let write = |name: &'static str, write: WriteFile<'_>| -> Result<(), MakeError> {
        let mut file = BufWriter::with_capacity(1 << 17, folder.file(name)?);
        write(&mut file)?;
        Ok(file.flush()?)
    };
    let made = plan.make(write).map_err(|error| match error {
        MakeError::Config(fault) => Unmade::Config(fault),
        MakeError::Write(error) => unwritten(error),
    })?;
    let trace = folder.path().join(agentic::TRACE);
    let found =
        Validation::read(&trace, Some(plan.config.block_size())).map_err(|error| Unmade::NoTrace(error.to_string()))?;
    if found.fault_count > 0 {
        return Err(Unmade::NoTrace(validate_trace::failed(Path::new(agentic::TRACE), &found)));
    }
    let placed = folder.finish(&format!("{}_{}s_seed{}_{}", plan.name, plan.sessions, plan.seed, stamp()));
    let folder = placed.map_err(unwritten)?;
    Ok(described(&folder, &made))
}

fn described(folder: &Path, made: &AgenticDataset) -> String {
    let turns = thousands(made.turns);
    let path = |name: &str| folder.join(name).display().to_string();
    let text = format!(
        "Run directory: {}\n  JSONL:           {} ({turns} turns)\n  Manifest:        {}\n  Quality:         {}\n  \
         Validation:      Mooncake trace ({turns} rows)\n  Dashboard:       {}\n  Cache explorer:  {}\n  Simulation:      \
         {}\n\n{}\nView: open {} in a browser\n",
        folder.display(),
        path(agentic::TRACE),
        path(agentic::MANIFEST),
        path(agentic::QUALITY),
        path(agentic::REPORT),
        path(agentic::CACHE_EXPLORER),
        path(agentic::SIMULATION),
        made.comparison,
        path(agentic::REPORT)
    );
    literal(&text)
}

/// Now, as `YYYYmmdd-HHMMSS` in UTC.
fn stamp() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (date, time) = log_time(WallNs(since.as_nanos() as u64));
    format!("{}-{}", date.replace('-', ""), time[..8].replace(':', ""))
}
