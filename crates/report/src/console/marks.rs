//! The mark on statistics of too few requests, and the line that explains it.

use super::page::{Page, Style};
use super::text::wrap_hanging;

/// Before a number, so that decimal points stay aligned.
const TOO_FEW: char = '~';
const TOO_FEW_LINE: &str = "~ too few independent requests: avg and p50 need 30, p90 100, p95 200, p99 1,000";

/// A number, marked if the requests are too few for it.
pub(crate) fn marked(number: String, is_too_few: bool) -> String {
    if is_too_few { format!("{TOO_FEW}{number}") } else { number }
}

/// Whether a cell has the mark.
pub(crate) fn is_marked(cell: &str) -> bool {
    cell.starts_with(TOO_FEW)
}

/// The line below a table with marks.
pub(crate) fn too_few_line(page: Page) -> String {
    let lines = wrap_hanging(TOO_FEW_LINE, page.width(), 2);
    lines.iter().map(|line| format!("{}\n", page.paint(Style::DIM, line))).collect()
}
