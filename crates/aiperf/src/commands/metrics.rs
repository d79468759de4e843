//! `aiperf metrics`: the registry of metrics, as a table or as JSON.

use crate::exit::{self, Exit};
use crate::terminal;

/// Runs with the arguments after `metrics`.
pub(crate) fn run(args: &[String]) -> Exit {
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => exit::print(&aiperf_campaign::metrics_markdown()),
        ["--json"] => exit::print(&aiperf_campaign::metrics_json()),
        ["--help" | "-h"] => exit::print("Print every metric\n\nUsage: aiperf metrics [--json]\n"),
        [other, ..] => {
            terminal::complain(&format!(
                "error: metrics takes no '{other}'\n  try: aiperf metrics, or aiperf metrics --json\n"
            ));
            Exit::Usage
        }
    }
}
