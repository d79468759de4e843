//! `aiperf metrics`: the registry of metrics, as a table or as JSON.

use crate::exit::{self, Exit};

/// Runs with the arguments after `metrics`.
pub(crate) fn run(args: &[String]) -> Exit {
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => exit::print(&aiperf_campaign::metrics_markdown()),
        ["--json"] => exit::print(&aiperf_campaign::metrics_json()),
        ["--help" | "-h"] => exit::print("Print every metric\n\nUsage: aiperf metrics [--json]\n"),
        [other, ..] => {
            exit::refuse(format_args!("metrics takes no '{other}'\n  try: aiperf metrics, or aiperf metrics --json"))
        }
    }
}
