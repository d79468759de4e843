//! The `aiperf` command: parses the command line, runs a command, shows its progress, and returns an exit code.
//!
//! # Layout
//! - [`commands`]: one file per subcommand, and their table
//! - [`screen`]: log lines; [`progress`]: the bar below them
//! - [`dashboard`]: the same on a full screen; [`api`]: the same over HTTP
//! - [`phase_progress`]: the progress of a phase, for all of them; [`blocks`]: solid bars
//! - [`log_file`]: the same lines in a file
//! - [`signals`]: Ctrl-C, SIGTERM and other signals that end a run
//! - [`terminal`]: all writes to stdout and stderr
//! - [`new_file`]: files that users name on the command line
//! - [`exit`]: exit codes; [`junit`]: the same for CI
//! - `allocator`: the memory allocator
//!
//! # Invariants
//! - Only this crate prints. Of the client, only the live API (`api`) listens on a socket.
//! - The two threads of the live API share state with each other only, never with a thread that measures.
//! - No write to a terminal or pipe decides what the program does (`terminal`).
//! - The screen of the dashboard is a function of its model, and the model is a function of events, keys and instants.
//!   Only `driver`, `canvas` and `threads` have side effects. A signal or a panic that ends the run restores the
//!   terminal through `Canvas`.
//! - One file per pane (`dashboard/panes`) and per group of routes (`api/routes`); each folder has one table.
//! - `phase_progress` computes state, share and time left of a phase. Bar and dashboard only show them.
//! - A panic ends the command with exit code 1. The consumers of its run are closed first.
//! - `unsafe` occurs in `allocator` only: the call of mimalloc that returns memory to the system.
//! - `tests/cases/golden_commands` runs recorded commands of the reference against the simulated server. A deliberate
//!   difference is a rule in `decided.rs`.
//! - `tests/it/wire` runs the binary over every kind of connection. A new kind is a row in `kinds.rs`; a new behaviour
//!   is a test over all rows. `tests/cases/hostile/rows` lists misbehaving servers.

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
    // `chrt -r 1 aiperf` gives this thread real-time priority. Workers ask for it themselves, and have a budget.
    let _ = aiperf_campaign::leave_realtime_priority();
    let args: Vec<String> = std::env::args_os().skip(1).map(aiperf_config::argument).collect();
    commands::table::dispatch(&args).into()
}
