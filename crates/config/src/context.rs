//! The inputs of resolving, besides its arguments.

use std::collections::BTreeMap;
use std::path::Path;

/// The environment of the process, so that resolving is a function of its arguments.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    pub env: &'a BTreeMap<String, String>,
    /// Whether stdout is a terminal.
    pub stdout_is_terminal: bool,
    /// Directory that relative paths start from.
    pub cwd: &'a Path,
    /// Identity of the run.
    pub benchmark_id: String,
}

impl Context<'_> {
    /// Whether stdout is a terminal that can show a dashboard, judging by `TERM`.
    pub(crate) fn stdout_can_be_drawn_on(&self) -> bool {
        self.stdout_is_terminal && !matches!(self.terminal_kind(), "" | "dumb")
    }

    /// The value of `TERM`, if it is set.
    pub(crate) fn terminal_kind(&self) -> &str {
        self.env.get("TERM").map_or("", String::as_str)
    }
}
