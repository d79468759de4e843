//! `aiperf config`, `validate`, `completions` and `man`: the tables of options as text.

use crate::commands::profile::Surroundings;
use crate::commands::validate_trace;
use crate::exit::{self, Exit};
use crate::new_file;
use aiperf_campaign::Campaign;
use aiperf_config::{
    ConfigError, Resolved, config_init, config_templates, expanded, json_schema, path_argument, resolve_file,
    secrets_in_arguments, show_resolved, validate,
};
use aiperf_plan::redact::Redactor;
use clap::{Parser, Subcommand};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Make, show and check configuration files.
#[derive(Debug, Parser)]
#[command(name = "aiperf config", version)]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Print a configuration file to start from, or list all of them.
    Init {
        /// Which one.
        #[arg(long, short)]
        template: Option<String>,
        /// List them.
        #[arg(long, short)]
        list: bool,
        /// Model to insert.
        #[arg(long, short)]
        model: Option<String>,
        /// URL to insert.
        #[arg(long, short)]
        url: Option<String>,
        /// Write to a file instead of stdout.
        #[arg(long, short)]
        output: Option<PathBuf>,
        /// Overwrite an existing file.
        #[arg(long, short, requires = "output")]
        force: bool,
    },
    /// Print the resolved configuration of `profile` arguments, with the origin of each value.
    Show {
        /// Arguments as for `aiperf profile`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Print the JSON schema of configuration files.
    Schema,
    /// Check a configuration file.
    Validate {
        /// The file.
        file: String,
    },
    /// Print the runs that a configuration file expands to.
    Expand {
        /// The file.
        file: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Runs with the arguments after `config`.
pub(crate) fn run(args: &[String]) -> Exit {
    let args = std::iter::once("aiperf config").chain(args.iter().map(String::as_str));
    let command = match ConfigCommand::try_parse_from(args) {
        Ok(command) => command,
        Err(error) => return exit::print_clap(error),
    };
    match command.action {
        Action::Init { template: Some(name), model, url, output, force, .. } => {
            init(&name, model.as_deref(), url.as_deref(), output.as_deref(), force)
        }
        Action::Init { list: true, .. } => exit::print(&config_templates()),
        Action::Init { .. } => {
            exit::refuse(format_args!("config init needs --template NAME or --list\n\n{}", config_templates()))
        }
        Action::Show { arguments } => {
            let secrets = Redactor::new(secrets_in_arguments(&arguments));
            printed(show_resolved(&arguments, &Surroundings::now().context()), &secrets)
        }
        Action::Schema => exit::print(&format!("{:#}\n", json_schema())),
        Action::Validate { file } => check(&file),
        Action::Expand { file, json } => printed(
            resolve_file(&file, &Surroundings::now().context()).map(|tree| expanded(&tree, json)),
            &Redactor::default(),
        ),
    }
}

fn init(name: &str, model: Option<&str>, url: Option<&str>, output: Option<&Path>, force: bool) -> Exit {
    let text = match config_init(name, model, url) {
        Ok(text) => text,
        Err(error) => return exit::refuse(format_args!("{error}\n\n{}", config_templates())),
    };
    let Some(path) = output else { return exit::print(&text) };
    match new_file::create(path, force).and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Exit::Success,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => exit::refuse(format_args!(
            "{} is there already, and is left as it is\n  try: another --output, or --force to write over it",
            path.display()
        )),
        Err(error) => exit::refuse(format_args!("cannot write {}: {error}\n  try: another --output", path.display())),
    }
}

const VALIDATE_HELP: &str = "\
Check a configuration file, or a trace, as profile would, without sending anything

Usage: aiperf validate FILE
       aiperf validate mooncake-trace FILE [--isl-block-size TOKENS]

Ends with 0 where `aiperf profile --config FILE` would begin, or could send every row of a mooncake trace, and with 2 where not.
A hash id stands for 512 tokens, unless --isl-block-size is given.
";

/// The name of a trace on the command line of `validate`.
const MOONCAKE: &str = "mooncake-trace";

const BLOCK_SIZE: &str = "--isl-block-size";

/// `aiperf validate FILE` and `aiperf validate mooncake-trace FILE`.
pub(crate) fn validate_command(args: &[String]) -> Exit {
    match args {
        [only] if only == "--help" || only == "-h" => exit::print_help(VALIDATE_HELP),
        [only] if only == MOONCAKE => exit::refuse(format_args!(
            "validate {MOONCAKE} needs a trace\n  try: aiperf validate {MOONCAKE} FILE, or ./{MOONCAKE} for a configuration \
             of that name"
        )),
        [kind, help] if kind == MOONCAKE && (help == "--help" || help == "-h") => exit::print_help(VALIDATE_HELP),
        [kind, file] if kind == MOONCAKE && !file.starts_with('-') => validate_trace::run(&path_argument(file), None),
        [kind, file, flag, tokens] if kind == MOONCAKE && !file.starts_with('-') && flag == BLOCK_SIZE => {
            match tokens.parse() {
                Ok(tokens) => validate_trace::run(&path_argument(file), Some(tokens)),
                Err(_) => exit::refuse(format_args!(
                    "{BLOCK_SIZE} '{tokens}' is no number of tokens: 1 to {}\n  try: {BLOCK_SIZE} 512",
                    u32::MAX
                )),
            }
        }
        [file] if !file.starts_with('-') => check(file),
        _ => exit::refuse(format_args!(
            "validate needs one file\n  try: aiperf validate FILE for a configuration, or aiperf validate {MOONCAKE} FILE"
        )),
    }
}

/// `aiperf validate FILE`, also `aiperf config validate FILE`: all checks that `profile` does before it writes a file.
fn check(file: &str) -> Exit {
    let Resolved { campaign, notes } = match validate(file, &Surroundings::now().context()) {
        Ok(resolved) => resolved,
        Err(_) if file.ends_with(".jsonl") && path_argument(file).is_file() => {
            return exit::refuse(format_args!(
                "{file} is no configuration\n  rows of a dataset end in .jsonl\n  try: aiperf validate {MOONCAKE} {file}"
            ));
        }
        Err(error) => return refused(&error, &Redactor::default()),
    };
    let secrets = campaign.redactor();
    if let Some(error) = campaign.listed.iter().find_map(|cell| Campaign::check(&cell.plan).err()) {
        exit::complain(&secrets, &error);
        return Exit::Usage;
    }
    for note in &notes {
        exit::write_message("note", &secrets, note);
    }
    exit::print(&format!("Configuration valid: {}\n", aiperf_report::literal(file)))
}

const MAN_HELP: &str = "\
Print the manual page

Usage: aiperf man

  aiperf man | man -l -      shows it
  aiperf man > aiperf.1      keeps it
";

/// `aiperf man`: the manual page, generated from the table of options.
pub(crate) fn print_manual(args: &[String]) -> Exit {
    match args {
        [] => exit::print(&aiperf_config::man_page(env!("CARGO_PKG_VERSION"), exit::CODES)),
        [only] if only == "--help" || only == "-h" => exit::print_help(MAN_HELP),
        [other, ..] => exit::refuse(format_args!("man takes no '{other}'\n  try: aiperf man")),
    }
}

fn printed(text: Result<String, ConfigError>, secrets: &Redactor) -> Exit {
    match text {
        Ok(text) => exit::print(&text),
        Err(error) => refused(&error, secrets),
    }
}

fn refused(error: &ConfigError, secrets: &Redactor) -> Exit {
    match error {
        ConfigError::Help(text) => exit::print_help(text),
        error => {
            exit::complain(secrets, error);
            Exit::Usage
        }
    }
}
