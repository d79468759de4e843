//! The highest value of a parameter that meets the limits.

use super::params::Params;
use super::{Handler, Made};
use aiperf_metrics::Grade;
use aiperf_report::aggregate::{SweepCell, verdict_mark};
use aiperf_types::SlaFilter;
use serde_json::{Map, Value, json};

pub(super) const HANDLER: Handler = Handler { name: "sla_breach_knee", make };

/// The parameter that bounds the requests in flight.
const CONCURRENCY: &str = "concurrency";

/// All cells with one value of the parameter.
struct Point {
    given: Value,
    x: f64,
    breaches: Vec<Value>,
    /// The number of requests, if the parameter is a concurrency that so few requests cannot reach.
    too_few: Option<f64>,
    /// The worst verdict of its runs on their own numbers.
    verdict: Option<Grade>,
}

impl Point {
    fn is_feasible(&self) -> bool {
        self.breaches.is_empty()
    }

    /// The parameter, marked if the runs are not trustworthy.
    fn marked(&self) -> String {
        format!("{}{}", self.given, verdict_mark(self.verdict))
    }

    /// The first limit that it breaks, in words.
    fn breach(&self) -> String {
        let Some(breach) = self.breaches.first() else { return String::new() };
        let text = |key: &str| breach[key].as_str().unwrap_or_default();
        let observed = breach["observed"].as_f64().map_or("not measured".to_owned(), |value| format!("{value:.2}"));
        let sign = match text("op") {
            "lt" => "<",
            "le" => "<=",
            "gt" => ">",
            _ => ">=",
        };
        format!("{} {} is {observed}, not {sign} {}", text("metric_tag"), text("stat"), breach["threshold"])
    }
}

fn make(cells: &[SweepCell], params: &Params<'_>) -> Result<Made, String> {
    let (path, filters) = (params.text("swept_param")?, params.filters("sla_filters")?);
    let leaf = Params::leaf(path);
    let points = points(cells, path, &filters);
    if points.is_empty() {
        return Err(params.fault(&format!("sweep aggregate has no rows with parameter '{path}'.")));
    }
    let reached: Vec<&Point> = points.iter().filter(|point| point.too_few.is_none()).collect();
    let highest = reached.iter().rfind(|point| point.is_feasible());
    let lowest = reached.iter().find(|point| !point.is_feasible());
    let is_monotonic = reached.is_sorted_by(|one, other| one.is_feasible() >= other.is_feasible());
    let mut document = Map::new();
    let mut add = |key: String, value: Value| drop(document.insert(key, value));
    add("swept_param".to_owned(), path.into());
    add(format!("max_passing_{leaf}"), highest.map(|point| point.given.clone()).into());
    add(format!("first_failing_{leaf}"), lowest.map(|point| point.given.clone()).into());
    add("first_failing_breach".to_owned(), lowest.and_then(|point| point.breaches.first().cloned()).into());
    let all = points.iter().map(|point| {
        let members = [
            (leaf.to_owned(), point.given.clone()),
            ("feasible".to_owned(), point.is_feasible().into()),
            ("breaches".to_owned(), point.breaches.clone().into()),
        ];
        let mark = point.too_few.map(|_| (format!("{leaf}_reached"), false.into()));
        Value::Object(members.into_iter().chain(mark).collect())
    });
    add("all_points".to_owned(), all.collect());
    add("monotonicity_check".to_owned(), is_monotonic.into());
    add("filters".to_owned(), filters.iter().map(|filter| json!(filter)).collect());
    let answer = Some(format!("{}{}", answer(leaf, &reached), left_out(leaf, &points)));
    // A server that fails at a light load and passes at a heavier one has no limit between the two.
    let warning = contradiction(leaf, lowest.copied(), highest.copied());
    Ok(Made { document: Value::Object(document), answer, warning })
}

/// The highest passing value, in words.
fn answer(leaf: &str, points: &[&Point]) -> String {
    let highest = points.iter().rfind(|point| point.is_feasible());
    let beyond = highest.and_then(|highest| points.iter().find(|point| point.x > highest.x));
    match (highest, beyond) {
        (Some(highest), Some(beyond)) => {
            let next = format!("the next, {}, fails: {}", beyond.marked(), beyond.breach());
            format!("max_passing_{leaf}: {}; {next}", highest.marked())
        }
        (Some(highest), None) => {
            format!("max_passing_{leaf}: {}, the highest that was run: the limit is beyond it", highest.marked())
        }
        (None, _) if points.is_empty() => format!("max_passing_{leaf}: none was reached"),
        (None, _) => {
            let lowest = points.first().map(|point| format!(": {} fails, {}", point.marked(), point.breach()));
            format!("max_passing_{leaf}: none passes{}", lowest.unwrap_or_default())
        }
    }
}

/// The points that the answer leaves out, in words.
fn left_out(leaf: &str, points: &[Point]) -> String {
    let named: Vec<String> =
        points.iter().filter_map(|point| Some(format!("{} ({} requests)", point.given, point.too_few?))).collect();
    let highest = points.last().map_or(0.0, |point| point.x);
    match &named[..] {
        [] => String::new(),
        named => format!(
            "; left out, because so few requests cannot reach this {leaf}: {}; try: --request-count {highest} or more",
            named.join(", ")
        ),
    }
}

fn contradiction(leaf: &str, failing: Option<&Point>, passing: Option<&Point>) -> Option<String> {
    let (failing, passing) = failing.zip(passing).filter(|(failing, passing)| failing.x < passing.x)?;
    Some(format!(
        "{leaf} {} passes and {} fails ({}): the limits are not crossed at one value, so max_passing_{leaf} is no bound; \
         run more requests a point, or more trials (--num-profile-runs)",
        passing.given,
        failing.given,
        failing.breach()
    ))
}

/// Cells grouped and ordered by their value of the parameter. A limit that one of them breaks is broken for the group.
fn points(cells: &[SweepCell], path: &str, filters: &[SlaFilter]) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for cell in cells {
        let Some((given, x)) = cell.parameter(path).and_then(|given| Some((given, given.as_f64()?))) else { continue };
        let breaches = breaches(cell, filters);
        let sent = requests(cell).filter(|sent| Params::leaf(path) == CONCURRENCY && *sent < x);
        match points.iter_mut().find(|point| point.x == x) {
            Some(point) => {
                point.breaches.extend(breaches);
                point.too_few = point.too_few.zip(sent).map(|(one, other)| one.max(other));
                point.verdict = point.verdict.max(cell.verdicts.grade());
            }
            None => {
                points.push(Point { given: given.clone(), x, breaches, too_few: sent, verdict: cell.verdicts.grade() })
            }
        }
    }
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    points
}

/// Successful and failed requests of a cell; `None` if it counts none.
fn requests(cell: &SweepCell) -> Option<f64> {
    let count = |tag: &str| cell.metrics.value(tag, "avg").map(|(count, _)| count);
    let (good, failed) = (count("request_count"), count("error_request_count"));
    good.or(failed).map(|_| good.unwrap_or(0.0) + failed.unwrap_or(0.0))
}

fn breaches(cell: &SweepCell, filters: &[SlaFilter]) -> Vec<Value> {
    let breach = |filter: &SlaFilter| {
        let observed = cell.metrics.value(&filter.metric_tag, &filter.stat).map(|(value, _)| value);
        let mut breach = json!(filter);
        breach["observed"] = observed.into();
        (!filter.is_met_by(observed)).then_some(breach)
    };
    filters.iter().filter_map(breach).collect()
}
