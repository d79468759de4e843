//! The finished cells of a sweep as rows, for users who watch it.

use super::outcome::{RunOutcome, verdicts};
use super::sweep::{CellRuns, SweepRules, SweepRun, cell_metrics, cells, named, parameters, sweep};
use aiperf_report::aggregate::{CellMetrics, SweepCell, SweptParameter};
use aiperf_report::{SWEEP_COLUMNS, SweepRow, SweepTable};
use serde_json::Value;

/// The table so far. Without axes in the plan, no cell is marked.
pub fn sweep_table(plan: &SweepRules, runs: &[SweepRun]) -> SweepTable {
    let grouped = cells(runs);
    let is_long = |value: &Value| value.is_object() || value.is_array();
    let has_names = grouped.iter().flat_map(|cell| cell.cell.values.values()).any(is_long);
    let swept = parameters(grouped.iter().map(|cell| &cell.cell.values));
    let done: Vec<SweepCell> = grouped.iter().map(|cell| done(plan, cell)).collect();
    // The same front as that of the line below the table, which names its axes.
    let front = plan.pareto_axes.as_ref().and_then(|_| sweep(plan, runs).ok()).map(|sweep| sweep.pareto_optimal);
    let row = |(at, cell): (usize, &CellRuns)| SweepRow {
        parameters: match has_names {
            true => vec![Some(Value::String(cell.cell.label.clone()))],
            false => swept.iter().map(|parameter| cell.cell.values.get(&parameter.path).cloned()).collect(),
        },
        numbers: SWEEP_COLUMNS.map(|column| done[at].metrics.value(column.tag, column.stat).map(|(value, _)| value)),
        too_few: SWEEP_COLUMNS.map(|column| {
            let is_too_few = |run: &RunOutcome| run.certainty.of(column.tag, column.stat).too_few.is_some();
            cell.runs.iter().any(is_too_few)
        }),
        trials: cell.runs.len(),
        failed_trials: cell.runs.iter().filter(|run| run.result.is_err()).count(),
        is_pareto_optimal: front.as_ref().map(|front| front.contains(&named(&swept, &cell.cell.values))),
        verdicts: done[at].verdicts.clone(),
    };
    let rows = grouped.iter().enumerate().map(row).collect();
    let parameters = match has_names {
        // The settings of scenarios do not fit into a row.
        true => vec![SweptParameter { path: "run".to_owned(), name: "run".to_owned(), values: Vec::new() }],
        false => swept,
    };
    SweepTable { parameters, rows }
}

/// A cell with the results of its trials so far; a single trial is shown as it is.
fn done(plan: &SweepRules, CellRuns { cell, runs }: &CellRuns) -> SweepCell {
    let nothing = || CellMetrics::One(Vec::new());
    let metrics = cell_metrics(plan, runs).ok().flatten().unwrap_or_else(nothing);
    SweepCell { label: cell.label.clone(), parameters: cell.values.clone(), metrics, verdicts: verdicts(runs) }
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, RunMetric};
    use super::*;
    use aiperf_metrics::{StatisticCertainty, Stats};
    use aiperf_plan::{ParetoAxes, ParetoAxis};
    use serde_json::{Map, json};

    fn run(concurrency: u64, latency: Option<f64>) -> SweepRun {
        let values = Map::from_iter([("phases.profiling.concurrency".to_owned(), json!(concurrency))]);
        let cell = Cell { label: format!("c={concurrency}"), values, directory: format!("concurrency_{concurrency}") };
        let metric = |tag: &str, stats| RunMetric { tag: tag.to_owned(), unit: "ms".to_owned(), stats };
        let metrics = |latency| {
            let spread = Stats { p95: Some(latency), p99: Some(latency), ..Stats::of(latency) };
            vec![
                metric("request_latency", spread),
                metric("request_throughput", Stats::of(concurrency as f64)),
                metric("output_token_throughput", Stats::of(100.0)),
            ]
        };
        let result = latency.map(metrics).ok_or_else(|| "All 6 requests failed".to_owned());
        SweepRun { cell, outcome: RunOutcome::new("trial_0001", result) }
    }

    fn plan(trials: usize, axes: Option<ParetoAxes>) -> SweepRules {
        SweepRules {
            sweep_mode: "repeated".to_owned(),
            confidence_level: 0.95,
            trials,
            sla_filters: Vec::new(),
            pareto_axes: axes,
        }
    }

    #[test]
    fn every_finished_cell_is_shown_even_if_it_failed() {
        let table = sweep_table(&plan(1, None), &[run(1, Some(10.0)), run(2, None)]);
        let shown: Vec<_> = table.rows.iter().map(|row| (row.numbers[3], row.trials, row.failed_trials)).collect();
        assert_eq!(shown, [(Some(10.0), 1, 0), (None, 1, 1)]);
        assert!(table.rows.iter().all(|row| row.is_pareto_optimal.is_none()));
    }

    #[test]
    fn several_trials_are_shown_by_their_mean() {
        let table = sweep_table(&plan(2, None), &[run(1, Some(10.0)), run(2, Some(7.0)), run(1, Some(20.0))]);
        let shown: Vec<_> = table.rows.iter().map(|row| (row.numbers[0], row.numbers[3], row.trials)).collect();
        assert_eq!(shown, [(Some(100.0), Some(15.0), 2), (Some(100.0), Some(7.0), 1)]);
    }

    #[test]
    fn a_number_is_marked_if_a_trial_has_too_few_requests_for_it() {
        let mut runs = [run(1, Some(10.0)), run(1, Some(11.0)), run(2, Some(7.0))];
        let few = StatisticCertainty { too_few: Some(60), bound_ms: None };
        runs[1].outcome.certainty.add("request_latency", "p95", few);
        let table = sweep_table(&plan(2, None), &runs);
        let marks: Vec<_> = table.rows.iter().map(|row| row.too_few).collect();
        assert_eq!(marks, [[false, false, false, true], [false; 4]]);
    }

    #[test]
    fn the_cells_that_the_line_below_the_table_names_are_marked() {
        // The axes of the plan are others: they belong to the file of its recipe.
        let x = ParetoAxis::Metric { tag: "output_token_throughput".to_owned(), stat: "avg".to_owned() };
        let y = ParetoAxis::Metric { tag: "request_latency".to_owned(), stat: "p95".to_owned() };
        let axes = Some(ParetoAxes { x, y, series: Vec::new() });
        let runs = [run(1, Some(10.0)), run(2, Some(10.0)), run(4, Some(30.0)), run(8, None)];
        let rules = plan(1, axes);
        let marks: Vec<_> = sweep_table(&rules, &runs).rows.iter().map(|row| row.is_pareto_optimal).collect();
        assert_eq!(marks, [Some(false), Some(true), Some(true), Some(false)]);
        assert_eq!(sweep(&rules, &runs).unwrap().pareto_names, ["concurrency 2", "concurrency 4"]);
    }
}
