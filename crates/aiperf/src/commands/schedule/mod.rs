//! `aiperf schedule`: when `profile` would send each request, in virtual time. Nothing is sent.
//!
//! # Layout
//! - [`options`]: its own options, in addition to those of `profile`
//! - [`account`]: totals of each phase, counted event by event
//! - [`summary`]: the totals as text; [`words`]: numbers as text
//! - [`lines`]: a JSON line for each dispatch
//! - [`picture`]: all dispatches as SVG, with the rates of [`stretches`] of time

mod account;
mod lines;
mod options;
mod picture;
mod stretches;
mod summary;
#[cfg(test)]
mod tests;
mod words;

use crate::commands::profile::Surroundings;
use crate::exit::{self, Exit};
use crate::new_file::WholeFile;
use crate::{signals, terminal};
use account::Account;
use aiperf_campaign::rehearsal::{self, Rehearsal, RehearsalKind, Setup};
use aiperf_campaign::runs::strategy;
use aiperf_config::{ConfigError, Resolved, resolve_profile, secrets_in_arguments};
use aiperf_plan::Plan;
use aiperf_plan::redact::Redactor;
use aiperf_report::discard_temporaries;
use lines::Lines;
use options::{LinesTo, Options, USUAL_LATENCY, USUAL_TTFT};
use picture::Picture;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) use options::completed;

fn help() -> String {
    format!(
        "\
Show when profile would send what, and send nothing

Usage: aiperf schedule [OPTIONS] [OPTIONS OF PROFILE]

Goes through the schedule of a benchmark in virtual time, against a server that is only assumed, and prints what would be \
sent, phase by phase. With --random-seed it is the same every time, and what profile would do with that seed.

Options:
  --assume-ttft TIME      Time to the first token, at most that of the whole response [{USUAL_TTFT}]
  --assume-latency TIME   Time to the end of a response [{USUAL_LATENCY}]
  --jsonl [FILE]          A line of JSON for each dispatch; without a file on stdout, and the summary on stderr
  --svg FILE              A picture of the arrivals
  --force                 Overwrite existing files

A TIME is 250 or 250ms (also us, s), normal:MEAN,DEVIATION or lognormal:MEAN,DEVIATION, as for aiperf sim, up to a day. All \
else is as for aiperf profile:

  aiperf schedule -m MODEL --request-rate 20 --benchmark-duration 60 --assume-latency lognormal:800,300 --svg load.svg
"
    )
}

/// Runs with the arguments after `schedule`.
pub(crate) fn run(args: &[String]) -> Exit {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        return exit::print_help(&help());
    }
    // There are no results to save: the first signal exits, and unfinished files are removed.
    signals::leave_at_once(discard_temporaries);
    let given = Redactor::new(secrets_in_arguments(args));
    let options = match Options::take(args) {
        Ok(options) => options,
        Err(error) => {
            exit::complain(&given, &error);
            return Exit::Usage;
        }
    };
    let (plan, notes) = match resolve_profile(&options.profile, &Surroundings::now().context()) {
        Ok(Resolved { campaign, .. }) if !campaign.is_single() => {
            let runs = strategy(&campaign).most().map_or_else(|| "many".to_owned(), |most| most.to_string());
            let try_this = "try: one value for each setting, and one trial";
            exit::complain(&given, &format!("a schedule is that of one run, and this would be {runs}\n  {try_this}"));
            return Exit::Usage;
        }
        Ok(resolved) => (resolved.plan().clone(), resolved.notes),
        Err(ConfigError::Help(_)) => return exit::print_help(&help()),
        Err(error) => {
            exit::complain(&given, &error);
            return Exit::Usage;
        }
    };
    let secrets = plan.redactor();
    let (setup, of_data) = match rehearsal::setup(&plan) {
        Ok(ready) => ready,
        Err(error) => {
            exit::complain(&secrets, &error);
            return if error.is_input() { Exit::Usage } else { Exit::Failed };
        }
    };
    notes.iter().chain(&of_data).for_each(|note| exit::write_message("note", &secrets, note));
    match rehearse(&plan, &setup, &options, &secrets) {
        Ok(()) => Exit::Success,
        // A reader that closes the pipe early is not an error.
        Err(Unwritten { of: None, error }) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
        Err(unwritten) => {
            exit::complain(&secrets, &unwritten.message());
            if unwritten.is_there() { Exit::Usage } else { Exit::Failed }
        }
    }
}

/// A file that could not be written, or stdout.
struct Unwritten {
    of: Option<String>,
    error: io::Error,
}

impl Unwritten {
    fn to(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self { of: Some(path.display().to_string()), error }
    }

    fn to_stdout(error: io::Error) -> Self {
        Self { of: None, error }
    }

    fn is_there(&self) -> bool {
        self.of.is_some() && self.error.kind() == io::ErrorKind::AlreadyExists
    }

    fn message(&self) -> String {
        match &self.of {
            Some(path) if self.is_there() => format!(
                "{path} is there already, and is left as it is\n  try: another file, or --force to write over it"
            ),
            Some(path) => format!("cannot write {path}: {}\n  try: another file", self.error),
            None => format!("cannot write to stdout: {}", self.error),
        }
    }
}

fn rehearse(plan: &Plan, setup: &Setup, options: &Options, secrets: &Redactor) -> Result<(), Unwritten> {
    // Both are opened before the rehearsal, so that an error is reported immediately.
    let mut lines = options.lines.as_ref().map(|to| Lines::open(to, options.force)).transpose()?;
    let open = |path| WholeFile::create(path, options.force).map(|file| (path, file)).map_err(Unwritten::to(path));
    let mut picture_file = options.picture.as_deref().map(open).transpose()?;
    let mut account = Account::new(plan.phases.len());
    let mut patience = Patience::new(secrets);
    for moment in Rehearsal::new(setup.clone(), options.server) {
        patience.goes_on();
        account.add(&moment);
        if let (Some(lines), RehearsalKind::Sent(dispatch, intended)) = (&mut lines, moment.what) {
            let phase = &plan.phases[usize::from(dispatch.phase.0)].name;
            lines.add(phase, moment.at, intended, &dispatch)?;
        }
    }
    if let Some(lines) = &mut lines {
        lines.flush()?;
    }
    if let Some((path, file)) = &mut picture_file {
        // The rehearsal runs again, now that its length is known. So the picture is exact, and no event has to be kept.
        let mut picture = Picture::new(plan, setup, &account);
        for moment in Rehearsal::new(setup.clone(), options.server) {
            patience.goes_on();
            picture.add(&moment);
        }
        file.write_all(picture.svg().as_bytes()).map_err(Unwritten::to(path))?;
    }
    // All files are complete. Only now do they replace existing ones.
    lines.map_or(Ok(()), Lines::finish)?;
    picture_file.map_or(Ok(()), |(path, file)| file.finish().map_err(Unwritten::to(path)))?;
    let summary = summary::summary(plan, &options.server, &account);
    if options.lines == Some(LinesTo::Stdout) {
        terminal::complain(&summary);
        return Ok(());
    }
    terminal::try_print(&summary).map_err(Unwritten::to_stdout)
}

/// Prints a note if the rehearsal takes long, once.
struct Patience<'a> {
    secrets: &'a Redactor,
    since: Instant,
    moments: u64,
    has_noted: bool,
}

impl<'a> Patience<'a> {
    const ENDS_AFTER: Duration = Duration::from_secs(10);
    /// The clock is read once per so many events.
    const LOOKS_AFTER: u64 = 1 << 14;

    fn new(secrets: &'a Redactor) -> Self {
        Self { secrets, since: Instant::now(), moments: 0, has_noted: false }
    }

    fn goes_on(&mut self) {
        self.moments += 1;
        let looks = !self.has_noted && self.moments.is_multiple_of(Self::LOOKS_AFTER);
        if looks && self.since.elapsed() >= Self::ENDS_AFTER {
            self.has_noted = true;
            exit::write_message(
                "note",
                self.secrets,
                "a plan of so many requests takes a while to go through; Ctrl-C ends it",
            );
        }
    }
}
