//! Request shapes at several concurrencies, and which of them are on the Pareto front.

use super::super::pareto::front;
use super::params::Params;
use super::{Handler, Made};
use aiperf_report::aggregate::SweepCell;
use serde_json::{Value, json};

pub(super) const HANDLER: Handler = Handler { name: "pareto_sweep_export", make };

fn make(cells: &[SweepCell], params: &Params<'_>) -> Result<Made, String> {
    let (x_metric, x_stat) = (params.text("x_metric")?, params.stat("x_stat")?);
    let (y_metric, y_stat) = (params.text("y_metric")?, params.stat("y_stat")?);
    let keys = [
        params.text_or("isl_key", "isl")?,
        params.text_or("osl_key", "osl")?,
        params.text_or("concurrency_key", "concurrency")?,
    ];
    let row = |cell: &SweepCell| {
        let [isl, osl, concurrency] = keys.map(|key| cell.parameter(key).cloned());
        let (x, y) = (cell.metrics.value(x_metric, x_stat)?.0, cell.metrics.value(y_metric, y_stat)?.0);
        Some(([isl?, osl?, concurrency?], (x, y)))
    };
    let mut rows: Vec<([Value; 3], (f64, f64))> = cells.iter().filter_map(row).collect();
    if rows.is_empty() {
        return Err(params.fault(&format!(
            "no rows with the expected (isl, osl, concurrency) parameters and metrics ({x_metric}_{x_stat}, \
             {y_metric}_{y_stat}); check that the recipe ran end-to-end with --streaming."
        )));
    }
    let place = |parameters: &[Value; 3]| parameters.each_ref().map(|value| value.as_f64().unwrap_or(f64::INFINITY));
    rows.sort_by(|(one, _), (other, _)| {
        let pairs = place(one).into_iter().zip(place(other));
        pairs.map(|(one, other)| one.total_cmp(&other)).fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    });
    let points: Vec<(f64, f64)> = rows.iter().map(|(_, point)| *point).collect();
    let cells = rows.iter().zip(front(&points)).map(|(([isl, osl, concurrency], (x, y)), is_on)| {
        json!({ "isl": isl, "osl": osl, "concurrency": concurrency, "x": x, "y": y, "pareto_optimal": is_on })
    });
    let cells: Vec<Value> = cells.collect();
    let document = json!({
        "x_metric": x_metric, "x_stat": x_stat, "y_metric": y_metric, "y_stat": y_stat, "cells": cells,
    });
    Ok(document.into())
}
