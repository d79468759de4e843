//! A sweep as a table: one row per cell, during the sweep and after it.

use super::page::{Page, Style};
use super::table::{Cell, Column, Table};
use super::text::{Align, literal};
use crate::aggregate::sweep::{Best, Sweep, SweptParameter};
use crate::aggregate::trials::RunTally;
use crate::format::number::grouped;
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
    pub trials: usize,
    pub failed_trials: usize,
    /// Whether no other cell beats it; `None` if there is no trade-off.
    pub is_pareto_optimal: Option<bool>,
}

impl SweepTable {
    /// The table, as wide as the page allows.
    pub fn draw(&self, page: Page) -> String {
        let whole = self.table(false);
        // Long names are shortened first: half a name is useless.
        let table = if whole.least_width(0) > page.width() { self.table(true) } else { whole };
        table.draw(page)
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
        let numbers =
            self.numbers.iter().map(|number| cell(grouped(*number).unwrap_or_else(|| "N/A".into()), Style::PLAIN));
        let trials = match self.failed_trials {
            0 => cell(self.trials.to_string(), Style::PLAIN),
            failed => cell(format!("{} of {}", self.trials - failed, self.trials), Style::YELLOW),
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
        format!("{}: {number} {} at {}", best.what, best.unit, best.at)
    };
    let (most, least) = (sweep.best_throughput.as_ref(), sweep.best_latency.as_ref());
    lines.extend(most.into_iter().chain(least).map(best));
    if let (Some(most), Some(least)) = (most, least)
        && !sweep.pareto_names.is_empty()
    {
        let [more, less] = [most, least].map(|best| best.what.to_lowercase());
        lines.push(format!("Pareto optimal ({more} against {less}): {}", sweep.pareto_names.join("; ")));
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
