//! Exit codes: the part of the interface that scripts rely on.

use crate::terminal;
use aiperf_plan::redact::Redactor;
use console::Term;
use std::fmt::Display;

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well; failed requests among good ones are results, not failures.
    Success,
    /// Nothing was answered, more failed than was allowed, or a file could not be written.
    Failed,
    /// The input was bad and nothing was sent.
    Usage,
    /// What was measured is beyond a limit that the user set.
    LimitBroken,
    /// There is a limit, and too little data to say whether it is broken.
    Undecided,
    /// Ended by a signal, results written.
    Signal(u8),
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::LimitBroken => 3,
            Self::Undecided => 4,
            Self::Signal(number) => 128 + number,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Every exit code and what it means, as help and documents say it.
pub(crate) const CODES: &[(&str, &str)] = &[
    ("0", "done; failed requests among good ones are results"),
    (
        "1",
        "nothing was answered, more failed than --failed-request-threshold allows, or a file could not be written; of several \
         runs fewer than two succeeded",
    ),
    ("2", "bad input, nothing sent"),
    ("3", "a limit of yours was crossed (--fail-if, compare --fail-on)"),
    ("4", "the comparison is inconclusive (compare)"),
    ("129, 130, 143", "ended by SIGHUP, Ctrl-C, SIGTERM, with everything measured so far written"),
];

/// Columns of help that goes into a file or a pipe, and the most that can be read with ease.
const HELP_COLUMNS: usize = 100;

/// Prints help in the columns there are, broken at words.
pub(crate) fn print_help(text: &str) -> Exit {
    // Help goes into a pager more often than into a file: then stderr is the terminal.
    let size = Term::stdout().size_checked().or_else(|| Term::stderr().size_checked());
    let columns = size.map_or(HELP_COLUMNS, |(_, columns)| usize::from(columns));
    print(&aiperf_report::fit(text, columns.min(HELP_COLUMNS)))
}

/// Says on stderr why the command ends, without secrets.
pub(crate) fn complain(redactor: &Redactor, error: &dyn Display) {
    say("error", redactor, &error.to_string());
}

/// Refuses input, where no secret has been given that the error could hold.
pub(crate) fn refuse(error: impl Display) -> Exit {
    complain(&Redactor::default(), &error);
    Exit::Usage
}

/// Ends a command that could not do what it was asked for.
pub(crate) fn fail(error: impl Display) -> Exit {
    complain(&Redactor::default(), &error);
    Exit::Failed
}

/// Says what clap has to say: help, or what is wrong with the arguments.
pub(crate) fn told(by_clap: &clap::Error) -> Exit {
    let text = by_clap.render().to_string();
    if !by_clap.use_stderr() {
        return print_help(&text);
    }
    write(&text);
    Exit::Usage
}

/// Says something on stderr, without secrets and broken at words where it is a terminal.
pub(crate) fn say(kind: &str, redactor: &Redactor, text: &str) {
    write(&format!("{kind}: {}\n", redactor.hide(text)));
}

/// Writes to stderr, broken at words where it is a terminal, with nothing in it that would act on the terminal: what is
/// refused is often repeated.
fn write(text: &str) {
    let text = &aiperf_report::literal(text);
    match Term::stderr().size_checked() {
        Some((_, columns)) => terminal::complain(&aiperf_report::fit(text, usize::from(columns))),
        None => terminal::complain(text),
    }
}

/// Prints what was asked for.
pub(crate) fn print(text: &str) -> Exit {
    match terminal::try_print(text) {
        Ok(()) => Exit::Success,
        Err(error) => {
            terminal::complain(&format!("error: cannot write to stdout: {error}\n"));
            Exit::Failed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_the_same_exit_codes() {
        let row = |(code, meaning): &(&str, &str)| format!("| {code} | {meaning} |");
        let rows: Vec<String> = CODES.iter().map(row).collect();
        for document in ["README.md", "docs/cli.md"] {
            let path = format!("{}/../../{document}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(path).unwrap().replace('`', "");
            assert!(text.contains(&rows.join("\n")), "{document} must have:\n{}", rows.join("\n"));
        }
    }
}
