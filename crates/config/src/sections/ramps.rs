//! Values that change during a phase: ramps, and rates over time.

use crate::range::{at_least, more_than};
use crate::setting::{Field, List, Reader, Seconds, Setting, join, section};
use crate::tree::{Datum, Node};
use aiperf_plan::RampStrategy;
use aiperf_types::Nanos;
use serde_json::{Value, json};

section! {
    /// Ramp to a value.
    RampShape {
        /// Time it takes
        duration: Seconds [more_than(0.0)];
        /// How it is raised
        strategy: RampStrategy = RampStrategy::Linear;
    }
    /// A rate at a point in time.
    RatePoint {
        /// Seconds since the start
        time_s: f64 [at_least(0.0)];
        /// Requests per second
        qps: f64 [more_than(0.0)];
    }
}

/// Ramp to a value; a bare time is its duration.
#[derive(Clone, Debug, PartialEq)]
pub struct Ramp(pub RampShape);

impl Setting for Ramp {
    const FIELDS: &'static [Field] = RampShape::FIELDS;
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        if node.is_map() {
            return RampShape::read(node, path, reader).map(Self);
        }
        let duration = Seconds::read(node, path, reader)?;
        if duration.0 <= 0.0 {
            reader.refuse(node, path, "must be more than 0");
            return None;
        }
        Some(Self(RampShape { duration: Some(duration), strategy: None }))
    }
    fn write(&self) -> Value {
        self.0.write()
    }
    fn full(&self) -> Value {
        self.0.full()
    }
    fn schema() -> Value {
        json!({"anyOf": [Seconds::schema(), RampShape::schema()]})
    }
}

/// Rates over time: at least two points, in order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSeries(pub List<RatePoint>);

impl Setting for RateSeries {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        let points = match &node.datum {
            Datum::List(_) => node,
            Datum::Map(entries) if entries.len() == 1 && node.get("points").is_some() => node.get("points")?,
            _ => {
                let problem = reader.places.refuse(node, path, "is not a series of rates");
                reader.problems.push(problem.hint("a list of {time_s, qps}, or {points: [...]}"));
                return None;
            }
        };
        let before = reader.problems.len();
        let list = List::<RatePoint>::read(points, path, reader)?;
        let is_read = reader.problems.len() == before;
        for (index, item) in points.items().iter().enumerate().filter(|(_, item)| item.is_map()) {
            // Points and items correspond only if all items were read.
            let point = list.get(index).filter(|_| is_read);
            let is_endless = |point: &RatePoint| [point.time_s, point.qps].into_iter().flatten().any(f64::is_infinite);
            let is_short = ["time_s", "qps"].iter().any(|key| item.set(key).is_none());
            if is_short || point.is_some_and(is_endless) {
                reader.refuse(item, &join(path, &index.to_string()), "needs a finite time_s and qps");
            }
        }
        if reader.problems.len() > before {
            return None;
        }
        let name = reader.places.subject_key(node, path);
        let times: Vec<f64> = list.iter().filter_map(|point| point.time_s).collect();
        if times.len() < 2 {
            let problem = crate::error::Problem::new(format!("{name} needs at least two points")).at(path);
            reader.problems.push(problem.because("a series describes how the rate changes; one point is a fixed rate"));
            return None;
        }
        if let Some(at) = (1..times.len()).find(|at| times[*at] <= times[at - 1]) {
            let what = format!("{name} has time_s {} in point {at} after {}", times[at], times[at - 1]);
            let problem = crate::error::Problem::new(what).at(path);
            reader.problems.push(problem.because("each point must be later than the one before; the first is point 0"));
            return None;
        }
        Some(Self(list))
    }
    fn write(&self) -> Value {
        json!({"points": self.0.write()})
    }
    fn schema() -> Value {
        json!({"anyOf": [
            {"type": "string"},
            List::<RatePoint>::schema(),
            {"type": "object", "properties": {"points": List::<RatePoint>::schema(), "path": {"type": "string"}}},
        ]})
    }
}

impl Ramp {
    /// `None` if it has no duration.
    pub fn plan(&self) -> Option<aiperf_plan::Ramp> {
        let strategy = self.0.strategy();
        self.0.duration.map(|duration| aiperf_plan::Ramp { duration: Nanos::from_secs_f64(duration.0), strategy })
    }
}

impl RateSeries {
    pub fn points(&self) -> Vec<aiperf_plan::RatePoint> {
        let point = |point: &RatePoint| Some(aiperf_plan::RatePoint { seconds: point.time_s?, rate: point.qps? });
        self.0.iter().filter_map(point).collect()
    }
}
