//! The command in many cases, each a test of its own: commands of the reference, and servers that misbehave.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod golden_commands;
mod hostile;

use aiperf_golden::cases;
use std::process::ExitCode;

/// Cases at once: most of their time is spent waiting.
const AT_ONCE: usize = 8;

fn main() -> ExitCode {
    cases::main(AT_ONCE, [golden_commands::trials(), hostile::trials()].into_iter().flatten().collect())
}
