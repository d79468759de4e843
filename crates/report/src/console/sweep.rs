//! A sweep as a table: one row per cell, during the sweep and after it.

use super::marks::{marked, too_few_line};
use super::page::{Page, Style};
use super::table::{Cell, Column, Table};
use super::text::{Align, literal, wrap_hanging};
use crate::aggregate::sweep::{Best, Sweep, SweptParameter};
use crate::aggregate::trials::RunTally;
use crate::aggregate::verdicts::{RunVerdicts, verdict_mark};
use crate::format::number::grouped;
use aiperf_metrics::Grade;
use serde_json::Value;

/// A column of numbers: a statistic of a metric.
#[derive(Clone, Copy, Debug)]
pub struct SweepColumn {
    pub tag: &'static str,
    pub stat: &'static str,
    /// Two lines, for a wide table.
    title: &'static str,
    /// For a narrow table.
    short: &'static str,
}

/// The metrics of each cell.
pub const SWEEP_COLUMNS: [SweepColumn; 4] = [
    SweepColumn {
        tag: "output_token_throughput",
        stat: "avg",
        title: "output_token_throughput\n(avg)",
        short: "tokens/s",
    },
    SweepColumn { tag: "time_to_first_token", stat: "p99", title: "time_to_first_token\n(p99)", short: "TTFT\np99 ms" },
    SweepColumn { tag: "inter_token_latency", stat: "p99", title: "inter_token_latency\n(p99)", short: "ITL\np99 ms" },
    SweepColumn { tag: "request_latency", stat: "p95", title: "request_latency\n(p95)", short: "latency\np95 ms" },
];

/// Marks a row whose runs are not trustworthy.
const MARK: &str = "!";

/// The cells of a sweep, ready to be drawn.
#[derive(Clone, Debug)]
pub struct SweepTable {
    pub parameters: Vec<SweptParameter>,
    pub rows: Vec<SweepRow>,
}

/// One cell.
#[derive(Clone, Debug)]
pub struct SweepRow {
    /// In the order of the parameters; `None` if the cell does not change one.
    pub parameters: Vec<Option<Value>>,
    /// In the order of [`SWEEP_COLUMNS`].
    pub numbers: [Option<f64>; SWEEP_COLUMNS.len()],
    /// Whether a run has too few requests for a number.
    pub too_few: [bool; SWEEP_COLUMNS.len()],
    pub trials: usize,
    pub failed_trials: usize,
    /// Whether no other cell beats it; `None` if there is no trade-off.
    pub is_pareto_optimal: Option<bool>,
    /// Of its runs.
    pub verdicts: RunVerdicts,
}

impl SweepTable {
    /// The table, as wide as the page allows.
    pub fn draw(&self, page: Page) -> String {
        let whole = self.table(false);
        // Long names are shortened first: half a name is useless.
        let table = if whole.least_width(0) > page.width() { self.table(true) } else { whole };
        let mut out = table.draw(page);
        if table.has_marks() {
            out.push_str(&too_few_line(page));
        }
        for line in self.doubts().iter().flat_map(|line| wrap_hanging(line, page.width(), 2)) {
            out.push_str(&format!("{}\n", page.paint(Style::YELLOW, &line)));
        }
        out
    }

    /// The meaning of the mark on rows whose runs are not trustworthy, with the main reason of the worst.
    fn doubts(&self) -> Option<String> {
        let doubted = || self.rows.iter().filter(|row| row.verdicts.has_doubts());
        let worst = doubted().map(|row| row.verdicts.grade()).max()?;
        let row = doubted().find(|row| row.verdicts.grade() == worst)?;
        let (_, verdict) = row.verdicts.worst()?;
        let way_out = verdict.main_reason().map(|reason| format!("; try: {}", reason.fix)).unwrap_or_default();
        let (count, all, at) = (doubted().count(), self.rows.len(), self.place(row));
        Some(format!("{MARK} {count} of {all} not trustworthy; {at} is {}{way_out}", verdict.in_words()))
    }

    /// The settings of a row.
    fn place(&self, row: &SweepRow) -> String {
        let settings = self.parameters.iter().zip(&row.parameters);
        let settings = settings.filter_map(|(of, value)| Some(format!("{} {}", of.name, shown(value.as_ref()?))));
        settings.collect::<Vec<_>>().join(", ")
    }

    fn table(&self, is_narrow: bool) -> Table<'_> {
        let column = |title, wraps| Column { title, align: Align::Right, wraps };
        let parameters = self
            .parameters
            .iter()
            .map(|parameter| column(if is_narrow { parameter.name.as_str() } else { parameter.path.as_str() }, true));
        let numbers = SWEEP_COLUMNS.iter().map(|of| column(if is_narrow { of.short } else { of.title }, false));
        let has_front = self.rows.iter().any(|row| row.is_pareto_optimal.is_some());
        let front = has_front.then(|| column("pareto", false));
        Table {
            title: "NVIDIA AIPerf | Sweep".to_owned(),
            title_style: Style::ITALIC,
            columns: parameters.chain(numbers).chain([column("trials", false)]).chain(front).collect(),
            rows: self.rows.iter().map(|row| row.cells(has_front)).collect(),
        }
    }
}

impl SweepRow {
    fn cells(&self, has_front: bool) -> Vec<Cell> {
        let cell = |text: String, style| Cell { text, style };
        let parameters =
            self.parameters.iter().map(|value| cell(value.as_ref().map(shown).unwrap_or_default(), Style::CYAN));
        let number = |(number, is_too_few): (&Option<f64>, bool)| match grouped(*number) {
            Some(text) => cell(marked(text, is_too_few), Style::PLAIN),
            None => cell("N/A".into(), Style::PLAIN),
        };
        let numbers = self.numbers.iter().zip(self.too_few).map(number);
        let (trials, style) = match self.failed_trials {
            0 => (self.trials.to_string(), Style::PLAIN),
            failed => (format!("{} of {}", self.trials - failed, self.trials), Style::YELLOW),
        };
        let trials = match self.verdicts.grade() {
            Some(Grade::Doubtful) => cell(format!("{trials}{MARK}"), Style::YELLOW),
            Some(Grade::ClientBound) => cell(format!("{trials}{MARK}"), Style::BOLD_RED),
            Some(Grade::Trustworthy) | None => cell(trials, style),
        };
        let mark = if self.is_pareto_optimal == Some(true) { "*" } else { "" };
        let front = has_front.then(|| cell(mark.to_owned(), Style::BOLD_GREEN));
        parameters.chain(numbers).chain([trials]).chain(front).collect()
    }
}

/// A setting as users write it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => literal(text),
        other => literal(&other.to_string()),
    }
}

/// The result of a sweep, below its table: how many cells keep the limits, which are the best, which runs failed.
pub fn sweep_conclusion(sweep: &Sweep) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(sla) = &sweep.sla {
        let all = sla.feasible + sla.infeasible;
        lines.push(match sla.feasible {
            0 => format!("None of {all} configurations is within every limit; the best are those of all"),
            feasible => format!("Within every limit: {feasible} of {all} configurations; the best are among these"),
        });
    }
    let best = |best: &Best| {
        let number = grouped(Some(best.metric)).unwrap_or_default();
        format!("{}: {number} {} at {}{}", best.what, best.unit, best.at, verdict_mark(best.verdict))
    };
    let (most, least) = (sweep.best_throughput.as_ref(), sweep.best_latency.as_ref());
    lines.extend(most.into_iter().chain(least).map(best));
    if let (Some(most), Some(least)) = (most, least)
        && !sweep.pareto_names.is_empty()
    {
        let [more, less] = [most, least].map(|best| best.what.to_lowercase());
        let verdicts = sweep.pareto_verdicts.iter().copied().chain(std::iter::repeat(None));
        let names = sweep.pareto_names.iter().zip(verdicts);
        let names: Vec<String> = names.map(|(name, verdict)| format!("{name}{}", verdict_mark(verdict))).collect();
        lines.push(format!("Pareto optimal ({more} against {less}): {}", names.join("; ")));
    }
    lines.extend(failed_lines(&sweep.tally));
    lines
}

/// Which runs failed, and why.
pub(super) fn failed_lines(tally: &RunTally) -> Vec<String> {
    let failed = tally.failed.len();
    let head = (failed > 0).then(|| format!("Failed Runs: {failed}"));
    let each = tally.failed.iter().map(|run| {
        let error = literal(&run.error);
        format!("  - {}: {}", run.label, error.lines().next().unwrap_or_default())
    });
    head.into_iter().chain(each).collect()
}
