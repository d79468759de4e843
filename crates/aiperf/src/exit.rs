//! Exit codes: the part of the interface that scripts rely on.

use crate::terminal;

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well; failed requests among good ones are results, not failures.
    Success,
    /// Nothing was answered, or a file could not be written.
    Failed,
    /// The input was bad and nothing was sent.
    Usage,
    /// Ended by a signal, results written.
    Signal(u8),
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Failed => Self::from(1),
            Exit::Usage => Self::from(2),
            Exit::Signal(number) => Self::from(128 + number),
        }
    }
}

/// Prints what was asked for.
pub(crate) fn print(text: &str) -> Exit {
    terminal::print(text);
    Exit::Success
}
