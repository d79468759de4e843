//! Commands of the reference run again, against the simulated server: the same files, of the same form.
//!
//! A golden run is a command, its exit code, the files it left and what was in them. The command runs here as it was
//! typed, but for the server's address; its tokenizer lies where the command looks for it. Numbers differ from run to
//! run, so files are held against each other by their form: members and their order, kinds of numbers, rows and
//! columns, line ends. What differs by decision is a rule with its reason.
//!
//! # Layout
//! - [`command`]: a golden run, and its command run again
//! - [`server`]: a server that fails as the recorded one did
//! - [`outline`]: what a JSON document looks like
//! - [`tables`]: what a CSV file or a console's text looks like
//! - [`files`]: one file held against the other
//! - [`decided`]: what differs, and why

mod command;
mod decided;
mod files;
mod outline;
mod server;
mod tables;

use aiperf_golden::Area;
use aiperf_golden::cases::{Cases, Trial, test};
use aiperf_golden::kinds::runs::COMMANDS;
use command::{GoldenRun, Rerun, TRIES};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn trials() -> Vec<Trial> {
    let mut cases = Cases::of(COMMANDS);
    for run in golden_runs() {
        let skip = decided::incomparable(&run).map(str::to_owned);
        cases.add(&run.name(), skip, move || leaves_files_of_the_same_form(&run));
    }
    let tests = [
        test(command::every_address_of_a_command_becomes_that_of_the_server),
        test(server::a_server_fails_as_the_record_of_the_error_has_it),
        test(server::half_of_a_response_keeps_its_framing_or_gets_the_recorded_one),
        test(tables::cells_are_numbers_with_as_many_decimals_as_they_have),
    ];
    cases.trials().into_iter().chain(tests).collect()
}

/// Runs a command again; the reason, if a feature of it is missing.
fn leaves_files_of_the_same_form(run: &GoldenRun) -> Option<String> {
    let mut rerun = run.again();
    let mut found = differences(run, &rerun);
    for _ in 1..TRIES {
        if found.is_empty() || !rerun.has_merged_chunks() || !found.iter().all(|line| needs_two_instants(line)) {
            break;
        }
        rerun = run.again();
        found = differences(run, &rerun);
    }
    let missing = rerun.not_there_yet();
    if missing.is_none() {
        assert!(found.is_empty(), "{} differences\n  {}", found.len(), found.join("\n  "));
    }
    missing
}

/// Whether a difference is about a metric that a response only has if its chunks arrive apart. On a busy machine, the
/// client may read them together.
fn needs_two_instants(difference: &str) -> bool {
    let names = ["output_token_throughput_per_user", "Output Token Throughput Per User"];
    names.iter().any(|name| difference.contains(name))
}

/// The golden runs.
fn golden_runs() -> Vec<GoldenRun> {
    Area::of("exports/runs").paths().into_iter().filter_map(GoldenRun::read).collect()
}

fn differences(run: &GoldenRun, rerun: &Rerun) -> Vec<String> {
    let mut found = Vec::new();
    let wanted = decided::exit_codes(run);
    if !wanted.contains(&rerun.code) {
        found.push(format!("exit code {:?}, not {wanted:?}: {}", rerun.code, rerun.stderr));
    }
    let ours: BTreeSet<&String> = rerun.files.iter().collect();
    let theirs: BTreeMap<String, &String> =
        run.files.iter().map(|name| (decided::name_here(run, name), name)).collect();
    for (here, there) in &theirs {
        if !ours.contains(here) {
            found.extend(decided::why_no_file(run, there).is_none().then(|| format!("{here} was not written")));
        } else if let Some(golden) = run.text(there) {
            let differences = files::differences(run, here, &rerun.text(here), &golden);
            found.extend(differences.iter().map(|difference| format!("{here}: {difference}")));
        }
    }
    let added = ours.iter().filter(|name| !theirs.contains_key(**name) && decided::why_a_file(run, name).is_none());
    found.extend(added.map(|name| format!("{name} was written")));
    found
}
