//! Cells as points: a swept parameter and a measured statistic.

use aiperf_report::aggregate::SweepCell;
use serde_json::Value;

/// One cell that has both.
pub(super) struct Point {
    /// The parameter as the sweep has it; `x` is the same as a number.
    pub(super) given: Value,
    pub(super) x: f64,
    pub(super) y: f64,
}

/// The points of a sweep, ordered by the parameter.
pub(super) fn points(cells: &[SweepCell], path: &str, (tag, stat): (&str, &str)) -> Vec<Point> {
    let point = |cell: &SweepCell| {
        let given = cell.parameter(path)?.clone();
        Some(Point { x: given.as_f64()?, given, y: cell.metrics.value(tag, stat)?.0 })
    };
    let mut points: Vec<Point> = cells.iter().filter_map(point).collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    points
}
