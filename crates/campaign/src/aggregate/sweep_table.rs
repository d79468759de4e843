//! The cells of a sweep that are done, as rows for people who watch it.

use super::pareto::front_of_known;
use super::sweep::{CellRuns, SweepPlan, SweepRun, cell_metrics, cells, parameters, point};
use aiperf_report::aggregate::{CellMetrics, SweepCell};
use aiperf_report::{SWEEP_COLUMNS, SweepRow, SweepTable};

/// The table so far. Where a plan names no axes, no cell is marked.
pub fn sweep_table(plan: &SweepPlan, runs: &[SweepRun]) -> SweepTable {
    let grouped = cells(runs);
    let parameters = parameters(grouped.iter().map(|cell| &cell.cell.values));
    let done: Vec<SweepCell> = grouped.iter().map(|cell| done(plan, cell)).collect();
    let marks = plan.pareto_axes.as_ref().map(|axes| {
        let points: Vec<Option<(f64, f64)>> = done.iter().map(|cell| point(axes, cell)).collect();
        front_of_known(&points)
    });
    let row = |(at, cell): (usize, &CellRuns)| SweepRow {
        parameters: parameters.iter().map(|parameter| cell.cell.values.get(&parameter.path).cloned()).collect(),
        numbers: SWEEP_COLUMNS.map(|column| done[at].metrics.value(column.tag, column.stat).map(|(value, _)| value)),
        trials: cell.runs.len(),
        failed_trials: cell.runs.iter().filter(|run| run.result.is_err()).count(),
        is_pareto_optimal: marks.as_ref().map(|marks| marks[at]),
    };
    let rows = grouped.iter().enumerate().map(row).collect();
    SweepTable { parameters, rows }
}

/// A cell with what its trials came to so far; a single one is shown as it is.
fn done(plan: &SweepPlan, CellRuns { cell, runs }: &CellRuns) -> SweepCell {
    let nothing = || CellMetrics::One(Vec::new());
    let metrics = cell_metrics(plan, runs).ok().flatten().unwrap_or_else(nothing);
    SweepCell { parameters: cell.values.clone(), metrics }
}
