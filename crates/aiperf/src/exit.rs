//! Exit codes: the part of the interface that scripts rely on.

use crate::terminal;
use aiperf_plan::redact::Redactor;
use clap::error::{ContextKind, ContextValue};
use std::fmt::Display;

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command did what it was asked for. Failed requests among successful ones are results, not failures.
    Success,
    /// No request succeeded, more failed than was allowed, records were lost, or a file could not be written.
    Failed,
    /// The input was bad and nothing was sent.
    Usage,
    /// A result is beyond a limit that the user set.
    LimitBroken,
    /// There is a limit, but too little data to decide whether it holds.
    Undecided,
    /// Ended by a signal; the results are written.
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

/// Every exit code and its meaning, for help and documentation.
pub(crate) const CODES: &[(&str, &str)] = &[
    ("0", "finished; some requests may have failed"),
    (
        "1",
        "no request succeeded, more failed than --failed-request-threshold allows, fewer than two of several runs \
         succeeded, records were lost, or a file could not be written",
    ),
    ("2", "bad input, nothing sent"),
    ("3", "a limit that you set was crossed (--fail-if, compare --fail-on)"),
    ("4", "the comparison is inconclusive (compare)"),
    ("129, 130, 143", "ended by SIGHUP (129), Ctrl-C (130) or SIGTERM (143); everything measured so far is written"),
    (
        "138-152",
        "ended by SIGUSR1 (138), SIGUSR2 (140), SIGALRM (142) or SIGXCPU (152); everything measured so far is written. \
         Batch schedulers send such signals before they end a job",
    ),
];

/// Width of help in a file or a pipe, and the largest width that is easy to read.
const HELP_COLUMNS: usize = 100;

/// Prints help in the width of the terminal, wrapped at words.
pub(crate) fn print_help(text: &str) -> Exit {
    // Help goes to a pager more often than to a file. Then stderr is the terminal.
    let columns = terminal::stdout_columns().or_else(terminal::stderr_columns);
    print(&aiperf_report::fit(text, columns.map_or(HELP_COLUMNS, |columns| columns.min(HELP_COLUMNS))))
}

/// Prints on stderr why the command ends, without secrets.
pub(crate) fn complain(redactor: &Redactor, error: &dyn Display) {
    write_message("error", redactor, &error.to_string());
}

/// Refuses input. Only for errors that cannot contain a secret.
pub(crate) fn refuse(error: impl Display) -> Exit {
    complain(&Redactor::default(), &error);
    Exit::Usage
}

/// Ends a command that failed.
pub(crate) fn fail(error: impl Display) -> Exit {
    complain(&Redactor::default(), &error);
    Exit::Failed
}

/// Prints what clap returned: help, or an error in the arguments.
pub(crate) fn print_clap(mut by_clap: clap::Error) -> Exit {
    // With its feature `color`, which the harness of some tests turns on, clap leaves out escape sequences that the user
    // typed. Escaped before that, they are shown in every build.
    let typed: Vec<(ContextKind, String)> = by_clap
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) => Some((kind, aiperf_report::literal(text))),
            _ => None,
        })
        .collect();
    for (kind, text) in typed {
        by_clap.insert(kind, ContextValue::String(text));
    }
    let text = by_clap.render().to_string();
    if !by_clap.use_stderr() {
        return print_help(&text);
    }
    write(&text);
    Exit::Usage
}

/// Prints a message on stderr, without secrets, and wrapped at words on a terminal.
pub(crate) fn write_message(kind: &str, redactor: &Redactor, text: &str) {
    write(&format!("{kind}: {}\n", redactor.hide(text)));
}

/// Writes to stderr, wrapped at words on a terminal. Control characters are escaped, because error messages often
/// repeat bad input.
fn write(text: &str) {
    let text = &aiperf_report::literal(text);
    match terminal::stderr_columns() {
        Some(columns) => terminal::complain(&aiperf_report::fit(text, columns)),
        None => terminal::complain(text),
    }
}

/// Prints the output of a command.
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
