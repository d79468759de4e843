//! Requests and responses of every endpoint type by golden data, each case a test of its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod golden_cases;

use aiperf_golden::cases;
use std::process::ExitCode;
use std::thread::available_parallelism;

fn main() -> ExitCode {
    let at_once = available_parallelism().map_or(1, usize::from);
    cases::main(at_once, golden_cases::trials())
}
