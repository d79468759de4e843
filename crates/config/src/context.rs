//! What resolving is a function of, besides its arguments.

use std::collections::BTreeMap;
use std::path::Path;

/// What the outside world is, so that resolving is a function of its arguments.
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
