//! Paths among the arguments of commands.

use aiperf_config::path_argument;
use std::convert::Infallible;
use std::path::PathBuf;

/// A path as it was given, even if it is not valid UTF-8.
pub(crate) fn path(text: &str) -> Result<PathBuf, Infallible> {
    Ok(path_argument(text))
}
