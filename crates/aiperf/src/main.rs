//! The `aiperf` command: reads the command line, runs it, talks to people, and ends with an exit code.
//!
//! # Layout
//! - [`commands`]: one file a subcommand
//! - [`screen`]: log lines and, below them, the [`progress`] bar
//! - [`log_file`]: the same lines in a file
//! - [`signals`]: Ctrl-C, SIGTERM and SIGHUP
//! - [`terminal`]: whatever is written to stdout and stderr
//! - [`exit`]: exit codes

mod commands;
mod exit;
mod log_file;
mod progress;
mod screen;
mod signals;
mod terminal;

use exit::Exit;

/// Exchanges are freed on other threads than they were made on; mimalloc is built for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HELP: &str = "\
Measures how fast LLM inference servers really are

Usage: aiperf <COMMAND> [OPTIONS]

Commands:
  profile   Benchmark a server (aiperf profile --help)
  demo      Benchmark the built-in simulated server: nothing to set up
  sim       Serve simulated answers to practise on (aiperf sim --help)
  config    Make, show and check configuration files (aiperf config --help)
  validate  Check a configuration file
  metrics   Print every metric, --json for machines
  completions bash|zsh|fish
            Print completions for a shell
  man       Print the manual page

Options:
  -h, --help       Print help
      --version    Print the version

A first run against your own server:
  aiperf profile --model Qwen/Qwen3-0.6B --url localhost:8000 --streaming --concurrency 10 --request-count 100
";

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let rest = args.get(2..).unwrap_or_default();
    let exit = match args.get(1).map(String::as_str) {
        None | Some("--help" | "-h" | "help") => exit::print_help(HELP),
        Some("--version") => exit::print(&format!("{}\n", env!("CARGO_PKG_VERSION"))),
        Some("profile") => commands::profile::run(rest),
        Some("demo") => commands::demo::run(rest),
        Some("sim") => commands::sim::main(rest),
        Some("config") => commands::config::run(rest),
        Some("validate") => match rest {
            [file] if !file.starts_with('-') => commands::config::check(file),
            _ => {
                eprintln!("error: validate needs one configuration file\n  try: aiperf validate FILE");
                Exit::Usage
            }
        },
        Some("metrics") => commands::metrics::run(rest),
        Some("completions") => commands::config::print_completions(rest.first().map(String::as_str)),
        Some("man") => commands::config::print_manual(),
        Some(other) => {
            eprintln!("error: there is no command '{other}'\n  try: aiperf --help");
            Exit::Usage
        }
    };
    exit.into()
}
