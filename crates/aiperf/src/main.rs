//! The `aiperf` command: reads the command line, runs it, talks to people, and ends with an exit code.
//!
//! # Layout
//! - [`commands`]: one file a subcommand, and the table of them
//! - [`screen`]: log lines and, below them, the [`progress`] bar
//! - [`dashboard`]: the same on a full screen; [`api`]: the same over HTTP
//! - [`phase_progress`]: how far a phase is, for both; [`blocks`]: solid bars
//! - [`log_file`]: the same lines in a file
//! - [`signals`]: Ctrl-C, SIGTERM and SIGHUP
//! - [`terminal`]: whatever is written to stdout and stderr
//! - [`new_file`]: files that users ask for by name
//! - [`exit`]: exit codes; [`junit`]: what CI reads besides

#![deny(clippy::print_stderr, clippy::print_stdout, reason = "a reader that went away must not end the program")]

mod allocator;
mod api;
mod blocks;
mod commands;
mod dashboard;
mod exit;
mod junit;
mod log_file;
mod new_file;
mod phase_progress;
mod progress;
mod screen;
mod signals;
mod terminal;

fn main() -> std::process::ExitCode {
    aiperf_types::guard::silence_guarded();
    let args: Vec<String> = std::env::args_os().skip(1).map(aiperf_config::argument).collect();
    commands::table::dispatch(&args).into()
}
