//! The report for people, laid out for a page.
//!
//! # Layout
//! - [`page`]: width and colours
//! - `text`: wrapping and filling
//! - `quantities`: durations and byte counts as text
//! - `table`, `panel`: the two shapes of all blocks; `marks`: the mark on numbers of too few requests
//! - `metrics`: metric tables and the prompt-cache hint
//! - `server_metrics`: the metrics that servers report
//! - `gpu`: the metrics of GPUs
//! - `errors`: the error table, and advice on known errors
//! - `limits`: limits that fail a run, with their verdicts
//! - `warnings`: numbers that should not be trusted
//! - `notices`: panels outside the report: exit errors, cancellation
//! - `footer`: where everything was written
//! - `statistics`: distributions of numbers, outside of runs
//! - `trials`: several runs, before and after; `sweep`: the table of a sweep, and its result
//! - `live`: the block printed while a run is on; `live_table`: the metrics of that moment as rows
//! - [`log_lines`]: the lines that are logged while a run is on

pub(crate) mod errors;
pub(crate) mod footer;
pub(crate) mod gpu;
pub(crate) mod limits;
pub(crate) mod live;
pub(crate) mod live_table;
pub mod log_lines;
pub(crate) mod marks;
pub(crate) mod metrics;
pub(crate) mod notices;
pub mod page;
pub(crate) mod panel;
pub(crate) mod quantities;
pub(crate) mod server_metrics;
pub(crate) mod statistics;
pub(crate) mod sweep;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod trials;
pub(crate) mod warnings;

use crate::export::Exporter;
use crate::run::{Note, RunResult};
use page::{Page, Style};
use std::io::Write;

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "console",
    label: "Console Output",
    file: |names| &names.console_txt,
    applies: None,
    needs_observers: true,
    write: |run, folder| {
        folder.write(&run.artifacts.names.console_txt, |out| {
            out.write_all(report(run, Page::of_file(&run.artifacts)).as_bytes())
        });
    },
};

/// The report of a run: every block that is not empty, in a fixed order.
pub fn report(run: &RunResult, page: Page) -> String {
    let errors = [incomplete(run, page), errors::advice(run, page), errors::table(&run.errors, page)];
    let results = || {
        [
            metrics::developer_tables(&run.metrics, page),
            metrics::tables(run, page),
            metrics::cache_hint(&run.metrics, page),
            metrics::trace_table(run, page),
            metrics::spec_decode(&run.metrics, run.endpoint, page),
            gpu::platform(run, page),
            server_metrics::spec_decode(run, page),
            gpu::tables(run, page),
            server_metrics::tables(run, page),
            warnings::token_counts(run, page),
            warnings::output_lengths(run, page),
            warnings::failures(run, page),
            warnings::doubts(run, page),
        ]
    };
    // If nothing succeeded, only the reason is shown.
    let results = (!run.nothing_succeeded()).then(results);
    let limits = limits::table(&run.judged, run.verdict(), page);
    errors.into_iter().chain(results.into_iter().flatten()).chain([limits, notes(run, page)]).flatten().collect()
}

fn notes(run: &RunResult, page: Page) -> Option<String> {
    let line = |(is_warning, line): (bool, String)| {
        let style = if is_warning { Style::YELLOW } else { Style::PLAIN };
        page.paint(style, &line) + "\n"
    };
    let wrapped = |note: &Note| {
        text::wrap(&note.text, page.width()).into_iter().map(|line| (note.is_warning, line)).collect::<Vec<_>>()
    };
    let lines: String = run.notes.iter().flat_map(wrapped).map(line).collect();
    (!lines.is_empty()).then(|| format!("\n\n{lines}"))
}

fn incomplete(run: &RunResult, page: Page) -> Option<String> {
    let reason = run.incomplete_reason.as_deref()?;
    let title = page.paint(Style::BOLD_RED, "NVIDIA AIPerf | INCOMPLETE RESULTS");
    let warning =
        "These metrics were computed over a subset of the run and must not be compared against complete runs.";
    let mut out = format!("\n\n{title}\n");
    for line in [reason, warning].iter().flat_map(|text| text::wrap(text, page.width())) {
        out.push_str(&page.paint(Style::YELLOW, &line));
        out.push('\n');
    }
    Some(out)
}
