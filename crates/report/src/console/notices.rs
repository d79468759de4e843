//! Panels outside the report: why the program exits, and what Ctrl-C did.

use super::page::{Page, Style};
use super::panel::Panel;
use super::text::{literal, one_line, width, wrap};
use crate::error::ReportError;
use crate::run::RunResult;
use std::path::Path;

/// Why the program exits without a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitError {
    /// The part of the program where it happened.
    pub service: Option<String>,
    /// What was being done.
    pub operation: String,
    /// Type of the error.
    pub kind: Option<String>,
    pub message: String,
    pub cause: Option<String>,
}

/// The type of the error of a request that found no server.
const UNREACHABLE: &str = "ClientConnectorError";

impl ExitError {
    /// No request of a run succeeded; with the most frequent reason.
    pub fn all_requests_failed(run: &RunResult) -> Self {
        let count = run.metrics.failed;
        let commonest = run.commonest_errors();
        let (first, others) = (commonest.first(), commonest.len().saturating_sub(1));
        let cause = first.map(|(error, times)| {
            let others =
                if others > 0 { format!("; {others} other reason(s) in the error summary") } else { String::new() };
            format!("{} ({times} of {count}{others})", one_line(&error.message, CAUSE_WIDTH))
        });
        let was_unreachable = commonest.iter().all(|(error, _)| error.name() == UNREACHABLE);
        let question = if first.is_some() && was_unreachable { " Is the server running?" } else { "" };
        Self {
            service: Some("system_controller".into()),
            operation: "export_results".into(),
            kind: first.map(|(error, _)| error.name()).filter(|name| !name.is_empty()),
            message: format!(
                "All {count} inference request(s) failed. No successful responses were collected — check the server \
                 URL, endpoint path, and response format.{question} See prior log output for per-request error details."
            ),
            cause,
        }
    }

    /// A file of the run could not be written.
    pub fn not_written(error: &ReportError) -> Self {
        Self {
            service: Some("system_controller".into()),
            operation: "export_results".into(),
            message: format!("{error}. What was written is listed above."),
            ..Self::default()
        }
    }

    /// Requests were sent, or were to be, and none returned before the run was over.
    pub fn nothing_answered() -> Self {
        Self {
            service: Some("system_controller".into()),
            operation: "export_results".into(),
            message:
                "No request got a response before the run was over. Check that the server is up and responds at all, or \
                      give it more time: a longer --benchmark-duration or --benchmark-grace-period."
                    .into(),
            ..Self::default()
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.message == other.message
    }
}

/// Columns of an error that is shown as the cause.
const CAUSE_WIDTH: usize = 200;

/// Columns that a reason leaves free on its first line, and the indent of its further lines.
const REASON_MARGIN: usize = 15;
const REASON_INDENT: usize = 11;

/// Columns of a wide panel beside its text.
const PANEL_EDGES: usize = 4;

/// A panel with one entry for each distinct error; empty without errors.
pub fn exit_panel(errors: &[ExitError], log_file: Option<&Path>, page: Page) -> String {
    let mut groups: Vec<Vec<&ExitError>> = Vec::new();
    for error in errors {
        match groups.iter_mut().find(|group| group[0].is_like(error)) {
            Some(group) => group.push(error),
            None => groups.push(vec![error]),
        }
    }
    if groups.is_empty() {
        return String::new();
    }
    let mut lines: Vec<String> = Vec::new();
    for group in &groups {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(entry(group, page.width()));
    }
    let log_file = log_file.map(|path| format!("Log File: {}", literal(&path.display().to_string())));
    // A path should be copyable: one that the panel would break is printed below it.
    let (inside, below) = match log_file {
        Some(line) if width(&line) + PANEL_EDGES <= page.width() => (Some(line), String::new()),
        Some(line) => (None, format!("{line}\n")),
        None => (None, String::new()),
    };
    lines.extend(inside.into_iter().flat_map(|line| [String::new(), line]));
    let lines = lines.into_iter().map(|line| (line, Style::PLAIN)).collect();
    let panel = Panel { title: "AIPerf System Exit Errors".into(), border: Style::RED, lines };
    format!("\n{}{below}", panel.draw_wide(page))
}

fn entry(group: &[&ExitError], page_width: usize) -> Vec<String> {
    let first = group[0];
    let mut lines = vec![
        format!("• {}", services(group)),
        format!("   Operation: {}", operation(group)),
        format!("   Error: {}", literal(first.kind.as_deref().unwrap_or("Unknown"))),
    ];
    let text = page_width.saturating_sub(REASON_MARGIN);
    lines.extend(hang(&format!("   Reason: {}", literal(&first.message)), text + 11, text));
    if let Some(cause) = &first.cause {
        lines.extend(hang(&format!("   Cause: {}", literal(cause)), text + 11, text));
    }
    lines
}

fn services(group: &[&ExitError]) -> String {
    let names: Vec<&str> = group.iter().map(|error| error.service.as_deref().unwrap_or("N/A")).collect();
    match names.as_slice() {
        [one] => format!("Service: {one}"),
        [first, second, _, _, ..] => format!("Services: {} services: {first}, {second}, etc.", names.len()),
        few => format!("Services: {} services: {}", few.len(), few.join(", ")),
    }
}

fn operation<'a>(group: &[&'a ExitError]) -> &'a str {
    let first = group[0].operation.as_str();
    if group.iter().all(|error| error.operation == first) { first } else { "Multiple Operations" }
}

/// Wraps text with further lines indented under the first.
fn hang(text: &str, first: usize, further: usize) -> Vec<String> {
    let mut lines = wrap(text, first);
    let rest: String = lines.split_off(1).into_iter().map(|line| format!("{} ", line.trim_end())).collect();
    let indent = " ".repeat(REASON_INDENT);
    if !rest.is_empty() {
        let rest = wrap(rest.trim_end(), further.saturating_sub(REASON_INDENT));
        lines.extend(rest.into_iter().map(|line| format!("{indent}{}", line.trim_end())));
    }
    lines
}

/// Shown at the first Ctrl-C.
pub fn cancelling_panel(page: Page) -> String {
    let lines = [
        ("BENCHMARK CANCELLED", Style::BOLD_YELLOW),
        ("", Style::PLAIN),
        ("Stopping credit issuance and cancelling in-flight requests...", Style::PLAIN),
        ("Results will be written to files.", Style::PLAIN),
        ("", Style::PLAIN),
        ("Press Ctrl+C again to force quit immediately", Style::DIM),
        ("(results may be incomplete or not written)", Style::DIM),
    ];
    interruption("Cancellation in Progress", Style::YELLOW, &lines, page)
}

/// Shown at the second Ctrl-C.
pub fn force_quit_panel(page: Page) -> String {
    let lines = [
        ("FORCE QUIT", Style::BOLD_RED),
        ("", Style::PLAIN),
        ("Terminating all processes immediately.", Style::PLAIN),
        ("Results may be incomplete or not written to files.", Style::PLAIN),
    ];
    interruption("Force Quit", Style::RED, &lines, page)
}

fn interruption(title: &str, border: Style, lines: &[(&str, Style)], page: Page) -> String {
    let lines = lines.iter().map(|(line, style)| ((*line).to_owned(), *style)).collect();
    format!("\n{}", Panel { title: title.into(), border, lines }.draw(page))
}
