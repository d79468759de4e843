//! Cells as points: a swept parameter and a measured statistic.

use aiperf_metrics::Grade;
use aiperf_report::aggregate::{SweepCell, verdict_mark};
use serde_json::Value;

/// One cell that has both.
pub(super) struct Point {
    /// The parameter as the sweep has it; `x` is the same as a number.
    pub(super) given: Value,
    pub(super) x: f64,
    pub(super) y: f64,
    /// The worst verdict of its runs on their own numbers.
    pub(super) verdict: Option<Grade>,
}

impl Point {
    /// The parameter, marked if the runs are not trustworthy.
    pub(super) fn marked(&self) -> String {
        format!("{}{}", self.given, verdict_mark(self.verdict))
    }
}

/// The points of a sweep, ordered by the parameter.
pub(super) fn points(cells: &[SweepCell], path: &str, (tag, stat): (&str, &str)) -> Vec<Point> {
    let point = |cell: &SweepCell| {
        let given = cell.parameter(path)?.clone();
        let (y, _) = cell.metrics.value(tag, stat)?;
        Some(Point { x: given.as_f64()?, given, y, verdict: cell.verdicts.grade() })
    };
    let mut points: Vec<Point> = cells.iter().filter_map(point).collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    points
}
