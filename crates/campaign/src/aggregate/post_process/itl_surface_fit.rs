//! The time between tokens over concurrency and output length, as a grid.

use super::params::Params;
use super::{Handler, Made};
use aiperf_report::aggregate::SweepCell;
use serde_json::{Value, json};

pub(super) const HANDLER: Handler = Handler { name: "itl_surface_fit", make };

/// One cell that has both parameters and the metric.
struct Point {
    concurrency: f64,
    osl: f64,
    itl: f64,
}

fn make(cells: &[SweepCell], params: &Params<'_>) -> Result<Made, String> {
    let (metric, stat) = (params.text("metric_tag")?, params.stat("stat")?);
    let (by_concurrency, by_osl) = (params.text("concurrency_param")?, params.text("osl_param")?);
    let point = |cell: &SweepCell| {
        let number = |path: &str| cell.parameter(path).and_then(Value::as_f64);
        let (concurrency, osl) = (number(by_concurrency)?, number(by_osl)?);
        Some(Point { concurrency, osl, itl: cell.metrics.value(metric, stat)?.0 })
    };
    let mut points: Vec<Point> = cells.iter().filter_map(point).collect();
    if points.is_empty() {
        return Err(params.fault(&format!(
            "sweep aggregate has no rows with parameters '{by_concurrency}' + '{by_osl}' and metric '{metric}' (flat \
             key '{metric}_{stat}'); check that the recipe swept both axes and streaming was enabled."
        )));
    }
    points.sort_by(|a, b| a.concurrency.total_cmp(&b.concurrency).then(a.osl.total_cmp(&b.osl)));
    let all = points.len();
    points.retain(|point| point.itl > 0.0);
    let dropped = all - points.len();
    let raw: Vec<Value> = points
        .iter()
        .map(|Point { concurrency, osl, itl }| json!({ "concurrency": concurrency, "osl": osl, "itl_ms": itl }))
        .collect();
    let has_failed = points.len() < 2;
    let (concurrency_axis, osl_axis, grid) = if has_failed { Default::default() } else { surface(&points) };
    let mut document = json!({
        "swept_metric": metric,
        "stat": stat,
        "swept_params": [by_concurrency, by_osl],
        "raw_points": raw,
        "surface": { "concurrency_axis": concurrency_axis, "osl_axis": osl_axis, "itl_grid": grid },
        "surface_fit_failed": has_failed,
    });
    let warning = (dropped > 0).then(|| params.fault(&format!("{dropped} rows without a positive {metric} left out")));
    if has_failed {
        let reason = params.fault(&format!(
            "fewer than 2 finite-positive rows after dropping non-finite/negative ITL (kept {}, dropped 0 non-finite + \
             {dropped} negative); check that streaming was enabled and that swept cells produced successful requests.",
            points.len()
        ));
        document["error_reason"] = reason.clone().into();
        return Ok(Made { document, warning: Some(reason), ..Made::default() });
    }
    Ok(Made { document, warning, ..Made::default() })
}

/// Both axes, and a row of values per concurrency: null where nothing was measured.
fn surface(points: &[Point]) -> (Vec<f64>, Vec<f64>, Vec<Vec<Option<f64>>>) {
    let axis = |of: fn(&Point) -> f64| {
        let mut values: Vec<f64> = points.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let (concurrencies, lengths) = (axis(|point| point.concurrency), axis(|point| point.osl));
    let at = |concurrency: f64, osl: f64| {
        let found = points.iter().rfind(|point| point.concurrency == concurrency && point.osl == osl);
        found.map(|point| point.itl)
    };
    let row = |&concurrency: &f64| lengths.iter().map(|&osl| at(concurrency, osl)).collect();
    let grid = concurrencies.iter().map(row).collect();
    (concurrencies, lengths, grid)
}
