//! Every command: its name, its purpose, its function. Help, completions and hints for mistyped names are generated
//! from this table.

use super::{analyze_trace, compare, config, demo, metrics, profile, schedule, sim, synthesize};
use crate::exit::{self, Exit};
use aiperf_config::completion::{Command as Completed, Values, Word, profile_words};
use aiperf_plan::nearest::nearest;
use clap::CommandFactory;

struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Exit,
}

const COMMANDS: &[Command] = &[
    Command { name: "profile", about: "Benchmark a server", run: profile::run },
    Command { name: "demo", about: "Benchmark the built-in simulated server: nothing to set up", run: demo::run },
    Command { name: "sim", about: "Start a simulated server to practise on", run: sim::main },
    Command { name: "schedule", about: "Show when profile would send what, and send nothing", run: schedule::run },
    Command { name: "compare", about: "Compare runs, and fail a pipeline on limits", run: compare::run },
    Command { name: "config", about: "Make, show and check configuration files", run: config::run },
    Command { name: "validate", about: "Check a configuration file or a trace", run: config::validate_command },
    Command { name: "analyze-trace", about: "Show lengths and cache hits of a trace", run: analyze_trace::run },
    Command { name: "synthesize", about: "Make up a trace of coding agents", run: synthesize::run },
    Command { name: "metrics", about: "Print every metric, --json for machines", run: metrics::run },
    Command { name: "completions", about: "Print completions for bash, zsh or fish", run: print_completions },
    Command { name: "man", about: "Print the manual page", run: config::print_manual },
];

/// Commands of AIPerf that do not exist here, with what to use instead.
const NOT_YET: &[(&str, &str)] = &[
    ("analyze", "the records of the run, one JSON line a request: profile_export.jsonl"),
    ("chat", "aiperf profile --request-count 1, or curl"),
    ("kube", "aiperf profile in a job of your own"),
    ("plot", "the files of the run, as CSV and JSON"),
    ("plugins", "aiperf profile --help and aiperf metrics, which list what there is"),
    ("proxy", "aiperf profile, which is one process"),
    ("service", "aiperf profile, which is one process"),
    ("speed-bench-report", "the files of the run, as CSV and JSON"),
];

const FIRST_RUN: &str =
    "aiperf profile --model Qwen/Qwen3-0.6B --url localhost:8000 --streaming --concurrency 10 --request-count 100";

/// Runs the command that the arguments of the process name.
pub(crate) fn dispatch(args: &[String]) -> Exit {
    let Some((first, rest)) = args.split_first() else { return exit::print_help(&help()) };
    match first.as_str() {
        "--help" | "-h" => exit::print_help(&help()),
        "--version" | "-V" => version(),
        "help" => match rest {
            [] => exit::print_help(&help()),
            [name, more @ ..] => match find(name) {
                // `help config init` is `config init --help`.
                Some(command) => (command.run)(&[more, &["--help".to_owned()]].concat()),
                None => unknown(name),
            },
        },
        name => match find(name) {
            Some(_) if matches!(rest, [only] if only == "--version" || only == "-V") => version(),
            Some(command) => (command.run)(rest),
            None => unknown(name),
        },
    }
}

fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

fn version() -> Exit {
    exit::print(&format!("{}\n", env!("CARGO_PKG_VERSION")))
}

fn help() -> String {
    let commands: String = COMMANDS.iter().map(|one| format!("  {:<15}{}\n", one.name, one.about)).collect();
    let codes: String = exit::CODES.iter().map(|(code, meaning)| format!("  {code:<15}{meaning}\n")).collect();
    format!(
        "Measures how fast LLM inference servers really are\n\nUsage: aiperf <COMMAND> [OPTIONS]\n\n\
         Commands:\n{commands}  help           Print help, also of a command: aiperf help profile\n\nOptions:\n  -h, --help       Print help\n  \
         -V, --version    Print the version\n\nExit codes:\n{codes}\nA first run against your own server:\n  {FIRST_RUN}\n"
    )
}

fn unknown(name: &str) -> Exit {
    if let Some((_, instead)) = NOT_YET.iter().find(|(known, _)| *known == name) {
        return exit::refuse(format_args!("aiperf {name} is not there yet\n  try: {instead}"));
    }
    let way_out = if name.starts_with('-') {
        format!("aiperf profile {name} ...; options stand after the command")
    } else {
        let lower = name.to_ascii_lowercase();
        let names = || COMMANDS.iter().map(|command| command.name).chain(["help"]);
        let begins = || names().find(|known| lower.len() > 1 && known.starts_with(&lower));
        match nearest(&lower, names()).or_else(begins) {
            Some(near) => format!("aiperf {near}; did you mean that?"),
            None => "aiperf --help".to_owned(),
        }
    };
    exit::refuse(format_args!("there is no command '{name}'\n  try: {way_out}"))
}

const COMPLETIONS_HELP: &str = "\
Print completions for a shell

Usage: aiperf completions bash|zsh|fish

  bash  aiperf completions bash > ~/.local/share/bash-completion/completions/aiperf
  zsh   aiperf completions zsh > a folder of $fpath, as _aiperf
  fish  aiperf completions fish > ~/.config/fish/completions/aiperf.fish
";

fn print_completions(args: &[String]) -> Exit {
    use aiperf_config::completion::{Shell, completions};
    let way_out = "try: aiperf completions bash, zsh or fish";
    let Some((first, more)) = args.split_first() else {
        return exit::refuse(format_args!("completions needs a shell\n  {way_out}"));
    };
    match Shell::parse(first).filter(|_| more.is_empty()) {
        Some(shell) => exit::print(&completions(shell, &completed())),
        None if first == "--help" || first == "-h" => exit::print_help(COMPLETIONS_HELP),
        None => exit::refuse(format_args!("there are no completions for '{}'\n  {way_out}", args.join(" "))),
    }
}

/// Every command, for shell completion.
fn completed() -> Vec<Completed> {
    let one = |command: &Command| {
        let base = Completed::new(command.name, command.about);
        match command.name {
            "profile" => Completed { words: profile_words(&[]), ..base },
            // The demo has its own server and configuration.
            "demo" => Completed { words: profile_words(&["--url", "--config"]), ..base },
            "schedule" => Completed { words: [schedule::completed(), profile_words(&[])].concat(), ..base },
            "sim" => Completed { words: words(&sim::SimCommand::command()), ..base },
            "config" => {
                let clap = config::ConfigCommand::command();
                let action = |action: &clap::Command| Completed {
                    words: if action.get_name() == "show" { profile_words(&[]) } else { words(action) },
                    operand: if action.get_name() == "init" { Values::Nothing } else { operand(action) },
                    ..Completed::new(
                        action.get_name(),
                        &action.get_about().map(ToString::to_string).unwrap_or_default(),
                    )
                };
                Completed { actions: clap.get_subcommands().map(action).collect(), ..base }
            }
            "validate" => Completed { operand: Values::Path, ..base },
            "compare" => {
                let clap = compare::CompareCommand::command();
                Completed { words: words(&clap), operand: Values::Path, ..base }
            }
            "analyze-trace" => {
                let clap = analyze_trace::AnalyzeCommand::command();
                Completed { words: words(&clap), operand: Values::Path, ..base }
            }
            "synthesize" => {
                let clap = synthesize::SynthesizeCommand::command();
                let target = |target: &clap::Command| Completed {
                    words: words(target),
                    ..Completed::new(
                        target.get_name(),
                        &target.get_about().map(ToString::to_string).unwrap_or_default(),
                    )
                };
                Completed { actions: clap.get_subcommands().map(target).collect(), ..base }
            }
            "metrics" => {
                let json = Word { spelling: "--json".into(), about: "For machines".into(), values: Values::Nothing };
                Completed { words: vec![json], ..base }
            }
            "completions" => {
                let shells = ["bash", "zsh", "fish"].map(str::to_owned).to_vec();
                Completed { operand: Values::OneOf(shells), ..base }
            }
            _ => base,
        }
    };
    COMMANDS.iter().map(one).collect()
}

/// The options of a command that clap reads.
fn words(command: &clap::Command) -> Vec<Word> {
    let mut out = Vec::new();
    for arg in command.get_arguments().filter(|arg| !arg.is_positional()) {
        let takes = arg.get_action().takes_values();
        let path = arg.get_id().as_str() == "output" || arg.get_value_names().is_some_and(|names| names[0] == "FILE");
        let templates = arg.get_id().as_str() == "template";
        let values = match takes {
            false => Values::Nothing,
            true if templates => Values::OneOf(aiperf_config::offered_templates().map(str::to_owned).collect()),
            true if path => Values::Path,
            true => Values::Any,
        };
        let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|short| format!("-{short}"));
        let spelled = long.into_iter().chain(short);
        out.extend(spelled.map(|spelling| Word { spelling, about: about.clone(), values: values.clone() }));
    }
    out
}

fn operand(command: &clap::Command) -> Values {
    if command.get_positionals().next().is_some() { Values::Path } else { Values::Nothing }
}
