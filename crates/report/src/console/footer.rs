//! The last lines of a report: what was run and where everything was written.

use super::page::{Page, Style};
use super::text::{literal, width, wrap, wrap_hanging, wrap_whole};
use crate::export::WrittenFile;
use crate::run::RunResult;
use aiperf_metrics::Grade;

/// The footer, ending in an empty line. Paths are never broken, so that they can be copied.
pub fn footer(run: &RunResult, files: &[WrittenFile], page: Page) -> String {
    let mut out = verdict(run, page);
    if let Some(command) = &run.info.cli_command {
        let label = "CLI Command:";
        let text = wrap_whole(&format!("{label} {}", literal(command)), page.width()).join("\n");
        let command = text.strip_prefix(label).unwrap_or(&text);
        out.push_str(&format!("{}{}\n", page.paint(Style::BOLD_GREEN, label), paint_lines(page, command)));
    }
    if let Some(seconds) = run.metrics.avg("benchmark_duration") {
        let early = if run.was_cancelled { " (cancelled early)" } else { "" };
        let label = page.paint(Style::BOLD_GREEN, "Benchmark Duration:");
        out.push_str(&format!("{label} {}\n", page.paint(Style::CYAN, &format!("{seconds:.2} sec{early}"))));
    }
    for file in files {
        let (label, path) = (format!("{}:", file.label), literal(&file.path.display().to_string()));
        // On a separate line, a path may fit whole.
        let is_wide = page.is_screen() && width(&label) + 1 + width(&path) > page.width();
        let gap = if is_wide { "\n  " } else { " " };
        out.push_str(&format!("{}{gap}{}\n", page.paint(Style::BOLD_GREEN, &label), page.paint(Style::CYAN, &path)));
    }
    out.push_str(&degraded(run, page));
    if run.was_cancelled {
        let note = "The profile run was cancelled early. Results shown may be incomplete or inaccurate.";
        let lines = wrap(note, page.width());
        lines.iter().for_each(|line| out.push_str(&format!("{}\n", page.paint(Style::ITALIC_YELLOW, line.trim_end()))));
    }
    out.push('\n');
    out
}

/// Whether the numbers are those of the server, and why not.
fn verdict(run: &RunResult, page: Page) -> String {
    let Some(verdict) = run.verdict() else { return String::new() };
    let style = match verdict.grade {
        Grade::Trustworthy => Style::BOLD_GREEN,
        Grade::Doubtful => Style::YELLOW,
        Grade::ClientBound => Style::BOLD_RED,
    };
    let label = page.paint(Style::BOLD_GREEN, "Verdict:");
    let mut out = format!("{label} {}\n", page.paint(style, verdict.grade.name()));
    for reason in &verdict.reasons {
        let text = wrap_hanging(&format!("  - {}", reason.text), page.width(), 4);
        let fix = wrap_hanging(&format!("    try: {}", reason.fix), page.width(), 9);
        text.iter().chain(&fix).for_each(|line| out.push_str(&format!("{}\n", line.trim_end())));
    }
    out
}

/// Parts of the run that ended before they could report their results.
fn degraded(run: &RunResult, page: Page) -> String {
    if run.degraded.is_empty() {
        return String::new();
    }
    let title = format!(
        "DEGRADED: {} result producer(s) died before reporting; what they saw is missing from the results:",
        run.degraded.len()
    );
    let parts = run.degraded.iter().flat_map(|part| wrap_hanging(&format!("  • {}", literal(part)), page.width(), 4));
    let lines = wrap(&title, page.width()).into_iter().map(|line| page.paint(Style::BOLD_RED, line.trim_end()));
    lines.chain(parts.map(|line| page.paint(Style::RED, &line))).map(|line| line + "\n").collect()
}

fn paint_lines(page: Page, text: &str) -> String {
    text.split('\n').map(|line| page.paint(Style::CYAN, line.trim_end())).collect::<Vec<_>>().join("\n")
}
