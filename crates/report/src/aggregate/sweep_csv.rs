//! A sweep as CSV: one row per cell, then the best cells, and the settings of the sweep.

use super::confidence_csv::title_case;
use super::python;
use super::sweep::{CellMetrics, Sweep};
use super::sweep_json::bests;
use crate::format::csv::{push_line, quoted};
use crate::format::number::csv_cell;
use aiperf_metrics::Grade;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

const COLUMNS: [&str; 5] = ["mean", "std", "min", "max", "cv"];

/// The tables.
pub fn sweep_csv(sweep: &Sweep) -> String {
    let names: Vec<&str> = sweep.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let mut out = String::new();
    push_cells(&mut out, sweep, &names);
    push_line(&mut out, "");
    push_bests(&mut out, sweep, &names);
    push_line(&mut out, "");
    push_front(&mut out, sweep, &names);
    push_line(&mut out, "");
    push_line(&mut out, "Metadata");
    push_line(&mut out, "Field,Value");
    for (field, value) in [
        ("Aggregation Type", "sweep".to_owned()),
        ("Sweep Parameters", names.join(", ")),
        ("Number of Combinations", sweep.combinations().to_string()),
        ("Number of Profile Runs", sweep.tally.runs.to_string()),
        ("Number of Successful Runs", sweep.tally.successful.len().to_string()),
    ] {
        push_row(&mut out, [field.to_owned(), value]);
    }
    out
}

fn push_cells(out: &mut String, sweep: &Sweep, names: &[&str]) {
    let keys: BTreeSet<&str> = sweep.cells.iter().flat_map(|cell| keys(&cell.metrics)).collect();
    let columns = keys.iter().flat_map(|key| COLUMNS.map(|column| format!("{key}_{column}")));
    push_row(out, names.iter().map(|name| (*name).to_owned()).chain(columns));
    for cell in &sweep.cells {
        let numbers = keys.iter().flat_map(|key| numbers(&cell.metrics, key));
        push_row(out, values(&cell.parameters, names).chain(numbers));
    }
}

fn keys(metrics: &CellMetrics) -> Vec<&str> {
    match metrics {
        CellMetrics::One(metrics) => metrics.iter().map(|(tag, _)| tag.as_str()).collect(),
        CellMetrics::Several(metrics) => metrics.iter().map(|(key, _)| key.as_str()).collect(),
    }
}

/// The columns of one metric; empty if the cell does not have it.
fn numbers(metrics: &CellMetrics, key: &str) -> [String; 5] {
    let [mean, std, min, max, cv] = match metrics {
        CellMetrics::One(metrics) => match metrics.iter().find(|(known, _)| known == key) {
            Some((_, metric)) => {
                let stats = &metric.stats;
                [stats.avg, Some(0.0), stats.min.or(stats.avg), stats.max.or(stats.avg), Some(0.0)]
            }
            None => [None; 5],
        },
        CellMetrics::Several(metrics) => match metrics.iter().find(|(known, _)| known == key) {
            Some((_, across)) => [across.mean, across.std, Some(across.min), Some(across.max), across.cv],
            None => [None; 5],
        },
    };
    let cv = cv.filter(|cv| cv.is_finite()).map(|cv| format!("{cv:.4}")).unwrap_or_default();
    [csv_cell(mean), csv_cell(std), csv_cell(min), csv_cell(max), cv]
}

fn push_bests(out: &mut String, sweep: &Sweep, names: &[&str]) {
    push_line(out, "Best Configurations");
    let mut bests = bests(sweep).peekable();
    if bests.peek().is_none() {
        return;
    }
    let has_verdicts = sweep.verdicts.grade().is_some();
    let last: &[&str] = if has_verdicts { &["Metric", "Unit", "Verdict"] } else { &["Metric", "Unit"] };
    let head = ["Configuration"].iter().chain(names).chain(last);
    push_row(out, head.map(|title| (*title).to_owned()));
    for (name, best) in bests {
        let numbers = [csv_cell(Some(best.metric)), best.unit.clone()];
        let verdict = has_verdicts.then(|| best.verdict.map(Grade::name).unwrap_or_default().to_owned());
        let cells = [title_case(name)].into_iter().chain(values(&best.parameters, names)).chain(numbers);
        push_row(out, cells.chain(verdict));
    }
}

fn push_front(out: &mut String, sweep: &Sweep, names: &[&str]) {
    push_line(out, "Pareto Optimal Points");
    if sweep.pareto_optimal.is_empty() {
        return push_line(out, "None");
    }
    push_row(out, names.iter().map(|name| (*name).to_owned()));
    for parameters in &sweep.pareto_optimal {
        push_row(out, values(parameters, names));
    }
}

fn values<'a>(parameters: &'a Map<String, Value>, names: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    names.iter().map(|name| parameters.get(*name).map(python::text).unwrap_or_default())
}

fn push_row(out: &mut String, fields: impl IntoIterator<Item = String>) {
    let fields: Vec<String> = fields.into_iter().map(|field| quoted(&field)).collect();
    push_line(out, &fields.join(","));
}
