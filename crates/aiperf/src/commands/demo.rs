//! `aiperf demo`: a benchmark of the built-in simulated server, with nothing to set up.

use crate::commands::profile;
use crate::exit::{self, Exit};
use crate::signals::Signals;
use aiperf_config::flags;
use aiperf_plan::redact::Redactor;
use aiperf_sim::{Sim, SimConfig};

const HELP: &str = "\
Benchmark the built-in simulated server: nothing to set up

Usage: aiperf demo [OPTIONS OF PROFILE]

Starts a server on a free loopback port (first token after 50 ms, then one every 10 ms) and benchmarks it: streaming \
chat, concurrency 32, 320 requests. Options of `aiperf profile` may be added, as in: aiperf demo --concurrency 100
";

/// Options of the demo, unless the user gives them.
const DEFAULTS: &[(&str, &str)] = &[
    ("--model", "demo"),
    ("--concurrency", "32"),
    ("--request-count", "320"),
    ("--isl", "128"),
    ("--osl", "32"),
    ("--tokenizer", "builtin"),
    ("--extra-inputs", "ignore_eos:true"),
    ("--ui", "simple"),
];

/// Flags without a value that the demo adds.
const SWITCHES: &[&str] = &["--streaming"];

/// Runs with the arguments after `demo`.
pub(crate) fn run(given: &[String]) -> Exit {
    if given.iter().any(|arg| arg == "--help" || arg == "-h") {
        return exit::print_help(HELP);
    }
    // Before the server starts its threads, which would receive the signals.
    let signals = Signals::watch();
    let sim = match Sim::spawn(SimConfig::default()) {
        Ok(sim) => sim,
        Err(error) => {
            exit::complain(&Redactor::default(), &error);
            return Exit::Failed;
        }
    };
    let exit = profile::run_watched(&arguments(given, &sim.url()), &signals);
    let _ = sim.stop();
    exit
}

fn arguments(given: &[String], url: &str) -> Vec<String> {
    // A flag can be given by any of its spellings: `-m`, `--num-requests`, `--concurrency=5`.
    let named = |arg: &str| Some(flags::find(arg.split('=').next()?)?.0.name);
    let is_given = |flag: &str| given.iter().any(|arg| named(arg).is_some_and(|name| named(flag) == Some(name)));
    // The user's own arguments come first, so that an error in them is not reported for a flag that the demo added.
    let mut args = given.to_vec();
    args.extend(["--url".to_owned(), url.to_owned()]);
    for (flag, value) in DEFAULTS.iter().filter(|(flag, _)| !is_given(flag)) {
        args.extend([(*flag).to_owned(), (*value).to_owned()]);
    }
    args.extend(SWITCHES.iter().filter(|flag| !is_given(flag)).map(|flag| (*flag).to_owned()));
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_of_the_user_replaces_the_default() {
        let args = arguments(&["--concurrency".into(), "5".into()], "http://h:1");
        assert_eq!(args.iter().filter(|arg| *arg == "--concurrency").count(), 1);
        assert!(args.starts_with(&["--concurrency".into(), "5".into()]));
        let args = arguments(&["-m".into(), "x".into(), "--num-requests=3".into()], "http://h:1");
        assert!(!args.iter().any(|arg| arg == "--model" || arg == "--request-count"), "{args:?}");
    }
}
