//! `aiperf schedule`: when `profile` would send what, in virtual time. Nothing is sent.
//!
//! # Layout
//! - [`options`]: its own options, apart from those of `profile`
//! - [`account`]: what becomes of each phase, counted as it goes by
//! - [`summary`]: that in words; [`words`]: plans and numbers as people say them
//! - [`lines`]: a line of JSON for each dispatch; [`picture`]: all of them as SVG

mod account;
mod lines;
mod options;
mod picture;
mod summary;
#[cfg(test)]
mod tests;
mod words;

use crate::commands::profile::Surroundings;
use crate::exit::{self, Exit};
use crate::{new_file, terminal};
use account::Account;
use aiperf_campaign::rehearsal::{self, Happening, Rehearsal, Setup};
use aiperf_config::{ConfigError, Resolved, resolve_profile, secrets_in_arguments};
use aiperf_plan::Plan;
use aiperf_plan::redact::Redactor;
use options::{LinesTo, Options, USUAL_LATENCY, USUAL_TTFT};
use picture::Picture;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub(crate) use options::completed;

fn help() -> String {
    format!(
        "\
Show when profile would send what, and send nothing

Usage: aiperf schedule [OPTIONS] [OPTIONS OF PROFILE]

Goes through the schedule of a benchmark in virtual time, against a server that is only assumed, and prints what would be \
sent, phase by phase. With --random-seed it is the same every time, and what profile would do with that seed.

Options:
  --assume-ttft TIME      Time to the first token, at most that of the whole answer [{USUAL_TTFT}]
  --assume-latency TIME   Time to the end of an answer [{USUAL_LATENCY}]
  --jsonl [FILE]          A line of JSON for each dispatch; without a file on stdout, and the summary on stderr
  --svg FILE              A picture of the arrivals
  --force                 Write over files that are there

A TIME is a number of milliseconds, normal:MEAN,STDDEV in milliseconds, or lognormal:MEDIAN,SIGMA with the median in \
milliseconds. All else is as for aiperf profile:

  aiperf schedule -m MODEL --request-rate 20 --benchmark-duration 60 --assume-latency lognormal:800,0.4 --svg load.svg
"
    )
}

/// Runs with the arguments after `schedule`.
pub(crate) fn run(args: &[String]) -> Exit {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        return exit::print_help(&help());
    }
    let given = Redactor::new(secrets_in_arguments(args));
    let options = match Options::take(args) {
        Ok(options) => options,
        Err(error) => {
            exit::complain(&given, &error);
            return Exit::Usage;
        }
    };
    let Resolved { plan, notes } = match resolve_profile(&options.profile, &Surroundings::now().context()) {
        Ok(resolved) => resolved,
        Err(ConfigError::Help(_)) => return exit::print_help(&help()),
        Err(error) => {
            exit::complain(&given, &error);
            return Exit::Usage;
        }
    };
    let secrets = Redactor::of(&plan);
    let (setup, of_data) = match rehearsal::setup(&plan) {
        Ok(ready) => ready,
        Err(error) => {
            exit::complain(&secrets, &error);
            return if error.is_input() { Exit::Usage } else { Exit::Failed };
        }
    };
    notes.iter().chain(&of_data).for_each(|note| exit::say("note", &secrets, note));
    match rehearse(&plan, &setup, &options) {
        Ok(()) => Exit::Success,
        // A reader that has seen enough is no failure.
        Err(Unwritten { of: None, error }) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
        Err(unwritten) => {
            exit::complain(&secrets, &unwritten.told());
            if unwritten.is_there() { Exit::Usage } else { Exit::Failed }
        }
    }
}

/// What could not be written: a file, or stdout.
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

    fn told(&self) -> String {
        match &self.of {
            Some(path) if self.is_there() => format!(
                "{path} is there already, and is left as it is\n  try: another file, or --force to write over it"
            ),
            Some(path) => format!("cannot write {path}: {}\n  try: another file", self.error),
            None => format!("cannot write to stdout: {}", self.error),
        }
    }
}

fn rehearse(plan: &Plan, setup: &Setup, options: &Options) -> Result<(), Unwritten> {
    // Both before anything is rehearsed: what cannot be written is told at once.
    let mut lines = options.lines.as_ref().map(|to| Lines::open(to, options.force)).transpose()?;
    let picture = match &options.picture {
        Some(path) => Some((path, new_file::create(path, options.force).map_err(Unwritten::to(path))?)),
        None => None,
    };
    let mut account = Account::new(plan.phases.len());
    for moment in Rehearsal::new(setup.clone(), options.server) {
        account.add(&moment);
        if let (Some(lines), Happening::Sent(dispatch, intended)) = (&mut lines, moment.what) {
            let phase = &plan.phases[usize::from(dispatch.phase.0)].name;
            lines.write(|out| lines::write(out, phase, moment.at, intended, &dispatch))?;
        }
    }
    let to_stdout = matches!(lines, Some(Lines { path: None, .. }));
    lines.map_or(Ok(()), |mut lines| lines.write(|out| out.flush()))?;
    if let Some((path, mut file)) = picture {
        // Once more, now that it is known how long it takes: so the picture is exact, and nothing has to be kept.
        let mut picture = Picture::new(plan, setup, &account);
        Rehearsal::new(setup.clone(), options.server).for_each(|moment| picture.add(&moment));
        file.write_all(picture.svg().as_bytes()).map_err(Unwritten::to(path))?;
    }
    let summary = summary::summary(plan, &options.server, &account);
    if to_stdout {
        terminal::complain(&summary);
        return Ok(());
    }
    terminal::try_print(&summary).map_err(Unwritten::to_stdout)
}

/// Where lines of dispatches go.
struct Lines<'a> {
    path: Option<&'a Path>,
    out: BufWriter<Sink>,
}

enum Sink {
    Stdout(io::StdoutLock<'static>),
    File(File),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(out) => out.flush(),
        }
    }
}

impl<'a> Lines<'a> {
    fn open(to: &'a LinesTo, force: bool) -> Result<Self, Unwritten> {
        let (path, sink) = match to {
            LinesTo::Stdout => (None, Sink::Stdout(io::stdout().lock())),
            LinesTo::File(path) => {
                (Some(path.as_path()), Sink::File(new_file::create(path, force).map_err(Unwritten::to(path))?))
            }
        };
        Ok(Self { path, out: BufWriter::with_capacity(1 << 16, sink) })
    }

    fn write(&mut self, write: impl FnOnce(&mut BufWriter<Sink>) -> io::Result<()>) -> Result<(), Unwritten> {
        write(&mut self.out).map_err(|error| match self.path {
            Some(path) => Unwritten::to(path)(error),
            None => Unwritten::to_stdout(error),
        })
    }
}
