//! The cells of a sweep: the results of each, which ones meet the limits, and the best.

use super::confidence::{ConfidenceError, confidence};
use super::outcome::{RunOutcome, tally, verdicts};
use super::pareto;
use aiperf_plan::ParetoAxes;
use aiperf_report::aggregate::{Best, CellMetrics, CellStats, SlaConstraints, Sweep, SweepCell, SweptParameter};
use aiperf_types::SlaFilter;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The best cell has the most of this statistic.
const THROUGHPUT: Watched = Watched { tag: "request_throughput", stat: "avg", best: "Highest throughput" };
/// The best cell has the least of this: the first statistic that every cell has.
const LATENCIES: [Watched; 2] = [
    Watched { tag: "time_to_first_token", stat: "p99", best: "Lowest p99 time to first token" },
    Watched { tag: "request_latency", stat: "p99", best: "Lowest p99 request latency" },
];

/// A statistic that ranks cells.
#[derive(Clone, Copy, Debug)]
struct Watched {
    tag: &'static str,
    stat: &'static str,
    /// What the best cell has, in words.
    best: &'static str,
}

/// The values of a statistic, one per cell.
struct Known<'a> {
    best: &'static str,
    values: Vec<(f64, &'a str)>,
}

/// One configuration of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub label: String,
    /// The swept settings, by path.
    pub values: Map<String, Value>,
    /// The name of its folder.
    pub directory: String,
}

/// One run of one configuration.
#[derive(Clone, Debug)]
pub struct SweepRun {
    pub cell: Cell,
    pub outcome: RunOutcome,
}

/// The runs of one configuration.
#[derive(Clone, Debug)]
pub struct CellRuns {
    pub cell: Cell,
    pub runs: Vec<RunOutcome>,
}

/// The rules by which a sweep is summarised.
#[derive(Clone, Debug)]
pub struct SweepRules {
    pub sweep_mode: String,
    pub confidence_level: f64,
    /// Trials of each cell.
    pub trials: usize,
    pub sla_filters: Vec<SlaFilter>,
    pub pareto_axes: Option<ParetoAxes>,
}

/// Groups runs by cell, in the order in which cells were first run.
pub fn cells(runs: &[SweepRun]) -> Vec<CellRuns> {
    let mut cells: Vec<CellRuns> = Vec::new();
    for SweepRun { cell, outcome } in runs {
        let is_it = |known: &&mut CellRuns| known.cell == *cell;
        match cells.iter_mut().find(is_it) {
            Some(known) => known.runs.push(outcome.clone()),
            None => cells.push(CellRuns { cell: cell.clone(), runs: vec![outcome.clone()] }),
        }
    }
    cells
}

/// Summarises a sweep. Cells without a successful run are left out.
pub fn sweep(plan: &SweepRules, runs: &[SweepRun]) -> Result<Sweep, ConfidenceError> {
    let grouped = cells(runs);
    let parameters = parameters(grouped.iter().map(|cell| &cell.cell.values));
    let mut cells = Vec::new();
    for CellRuns { cell, runs } in &grouped {
        if let Some(metrics) = cell_metrics(plan, runs)? {
            let (label, parameters) = (cell.label.clone(), named(&parameters, &cell.values));
            cells.push(SweepCell { label, parameters, metrics, verdicts: verdicts(runs) });
        }
    }
    let feasible: Vec<&SweepCell> = cells.iter().filter(|cell| is_feasible(cell, &plan.sla_filters)).collect();
    let sla = (!plan.sla_filters.is_empty()).then(|| SlaConstraints {
        filters: plan.sla_filters.clone(),
        feasible: feasible.len(),
        infeasible: cells.len() - feasible.len(),
    });
    // If no cell meets the limits, the best of all cells is still useful.
    let eligible = if feasible.is_empty() { cells.iter().collect() } else { feasible.clone() };
    let best_throughput = throughputs(&eligible).and_then(|found| best(&eligible, &found, Ordering::Greater));
    let best_latency = latencies(&eligible).and_then(|found| best(&eligible, &found, Ordering::Less));
    let on_front = match (latencies(&feasible), throughputs(&feasible)) {
        (Some(x), Some(y)) => front(&feasible, &x, &y),
        _ => Vec::new(),
    };
    Ok(Sweep {
        tally: tally(runs.iter().map(|run| &run.outcome)),
        sla,
        sweep_mode: plan.sweep_mode.clone(),
        confidence_level: plan.confidence_level,
        trials: plan.trials,
        pareto_axes: plan.pareto_axes.clone(),
        best_throughput,
        best_latency,
        pareto_optimal: on_front.iter().map(|cell| cell.parameters.clone()).collect(),
        pareto_names: on_front.iter().map(|cell| cell.in_words()).collect(),
        pareto_verdicts: on_front.iter().map(|cell| cell.verdicts.grade()).collect(),
        verdicts: verdicts(runs.iter().map(|run| &run.outcome)),
        parameters,
        cells,
    })
}

/// The swept settings, sorted by path, each with its values.
pub(super) fn parameters<'a>(cells: impl Iterator<Item = &'a Map<String, Value>> + Clone) -> Vec<SweptParameter> {
    let paths: BTreeSet<&str> = cells.clone().flat_map(|values| values.keys().map(String::as_str)).collect();
    let is_unique = |name: &str| paths.iter().filter(|path| leaf(path) == name).count() == 1;
    let parameter = |path: &&str| {
        let mut values: Vec<Value> = Vec::new();
        for value in cells.clone().filter_map(|cell| cell.get(*path)) {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        if values.iter().all(Value::is_number) {
            values.sort_by(compare);
        }
        let name = if is_unique(leaf(path)) { leaf(path) } else { path };
        SweptParameter { path: (*path).to_owned(), name: name.to_owned(), values }
    };
    paths.iter().map(parameter).collect()
}

/// The last part of a path.
pub(super) fn leaf(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

pub(super) fn named(parameters: &[SweptParameter], values: &Map<String, Value>) -> Map<String, Value> {
    let value = |parameter: &SweptParameter| Some((parameter.name.clone(), values.get(&parameter.path)?.clone()));
    parameters.iter().filter_map(value).collect()
}

/// The results of a cell; `None` if no run succeeded.
pub(super) fn cell_metrics(plan: &SweepRules, runs: &[RunOutcome]) -> Result<Option<CellMetrics>, ConfidenceError> {
    if plan.trials > 1 {
        return match confidence(plan.confidence_level, runs) {
            Ok(found) => Ok(Some(CellMetrics::Several(found.metrics))),
            Err(ConfidenceError::AllRunsFailed(_)) => Ok(None),
            Err(error) => Err(error),
        };
    }
    let metrics = runs.iter().find_map(|run| run.result.as_ref().ok());
    Ok(metrics.map(|metrics| {
        let stats = |metric: &super::RunMetric| CellStats { unit: metric.unit.clone(), stats: metric.stats };
        CellMetrics::One(metrics.iter().map(|metric| (metric.tag.clone(), stats(metric))).collect())
    }))
}

/// Whether a cell meets every limit. With several trials, their mean must.
fn is_feasible(cell: &SweepCell, filters: &[SlaFilter]) -> bool {
    filters.iter().all(|filter| {
        let value = cell.metrics.value(&filter.metric_tag, &filter.stat);
        filter.is_met_by(value.map(|(value, _)| value))
    })
}

/// A statistic of every cell; `None` if a cell lacks it, or if there are no cells.
fn values<'a>(cells: &[&'a SweepCell], watched: Watched) -> Option<Known<'a>> {
    let values: Option<Vec<_>> = cells.iter().map(|cell| cell.metrics.value(watched.tag, watched.stat)).collect();
    values.filter(|values| !values.is_empty()).map(|values| Known { best: watched.best, values })
}

fn throughputs<'a>(cells: &[&'a SweepCell]) -> Option<Known<'a>> {
    values(cells, THROUGHPUT)
}

fn latencies<'a>(cells: &[&'a SweepCell]) -> Option<Known<'a>> {
    LATENCIES.into_iter().find_map(|latency| values(cells, latency))
}

/// The first cell with the largest or smallest value.
fn best(cells: &[&SweepCell], known: &Known<'_>, wanted: Ordering) -> Option<Best> {
    let values = &known.values;
    let mut best: Option<usize> = None;
    for (at, (value, _)) in values.iter().enumerate() {
        if best.is_none_or(|best| value.partial_cmp(&values[best].0) == Some(wanted)) {
            best = Some(at);
        }
    }
    best.map(|at| Best {
        what: known.best,
        at: cells[at].in_words(),
        parameters: cells[at].parameters.clone(),
        metric: values[at].0,
        unit: values[at].1.to_owned(),
        verdict: cells[at].verdicts.grade(),
    })
}

/// The cells that no other cell beats on both axes, by their settings.
fn front<'a>(cells: &[&'a SweepCell], x: &Known<'_>, y: &Known<'_>) -> Vec<&'a SweepCell> {
    let points: Vec<(f64, f64)> = x.values.iter().zip(&y.values).map(|((x, _), (y, _))| (*x, *y)).collect();
    let on_front = cells.iter().zip(pareto::front(&points)).filter(|(_, is_on)| *is_on);
    let mut found: Vec<&SweepCell> = on_front.map(|(cell, _)| *cell).collect();
    found.sort_by(|one, other| {
        let values = one.parameters.values().zip(other.parameters.values());
        values.map(|(one, other)| compare(one, other)).fold(Ordering::Equal, Ordering::then)
    });
    found
}

/// Orders numbers by size, and before everything else; the rest by its text.
fn compare(one: &Value, other: &Value) -> Ordering {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.to_string().cmp(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(given: Value) -> Map<String, Value> {
        given.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_parameter_has_the_name_of_its_last_part_unless_another_ends_alike() {
        let cells = [
            values(json!({ "b.mean": 8, "c.rate": 2.5, "a.mean": 1 })),
            values(json!({ "b.mean": 4, "c.rate": 2.5, "d": "x" })),
        ];
        let found = parameters(cells.iter());
        let names: Vec<(&str, Value)> =
            found.iter().map(|parameter| (parameter.name.as_str(), json!(parameter.values))).collect();
        let expected = [("a.mean", json!([1])), ("b.mean", json!([4, 8])), ("rate", json!([2.5])), ("d", json!(["x"]))];
        assert_eq!(names, expected);
        assert_eq!(named(&found, &cells[1]), values(json!({ "b.mean": 4, "rate": 2.5, "d": "x" })));
    }

    #[test]
    fn a_cell_without_a_successful_run_is_counted_and_left_out() {
        let run = |concurrency: u64| SweepRun {
            cell: Cell {
                label: format!("c={concurrency}"),
                values: values(json!({ "concurrency": concurrency })),
                directory: String::new(),
            },
            outcome: RunOutcome::failed("trial_0001", "All 6 requests failed"),
        };
        let plan = SweepRules {
            sweep_mode: "repeated".to_owned(),
            confidence_level: 0.95,
            trials: 1,
            sla_filters: Vec::new(),
            pareto_axes: None,
        };
        let found = sweep(&plan, &[run(1), run(2)]).map(|sweep| {
            (
                sweep.cells.len(),
                sweep.combinations(),
                sweep.tally.failed.len(),
                sweep.best_latency,
                sweep.pareto_optimal,
            )
        });
        assert_eq!(found, Ok((0, 2, 2, None, Vec::new())));
    }
}
