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

use aiperf_golden::kinds::runs::COMMANDS;
use aiperf_golden::{Area, Tally};
use command::{GoldenRun, Rerun};
use std::collections::{BTreeMap, BTreeSet};

/// Runs at once: most of a run's time is spent waiting.
const AT_ONCE: usize = 4;

#[test]
fn golden_commands_leave_files_of_the_same_form() {
    let runs = golden_runs();
    let mut tally = Tally::of(COMMANDS);
    for batch in runs.chunks(AT_ONCE) {
        let reruns: Vec<Rerun> = std::thread::scope(|scope| {
            let threads: Vec<_> = batch.iter().map(|run| scope.spawn(|| run.again())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (run, rerun) in batch.iter().zip(&reruns) {
            match rerun.not_there_yet().or(decided::incomparable(run).map(str::to_owned)) {
                Some(reason) => tally.skip(reason),
                None => tally.run(run.name(), || {
                    let found = differences(run, rerun);
                    assert!(found.is_empty(), "{} differences\n  {}", found.len(), found.join("\n  "));
                }),
            }
        }
    }
    tally.finish();
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
