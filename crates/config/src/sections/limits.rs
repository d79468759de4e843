//! Limits that fail a run.

use super::scale::Comparison;
use crate::choice::choices;
use crate::error::Problem;
use crate::parse::limit;
use crate::setting::{Field, List, Reader, Setting, join, section};
use crate::tree::{Datum, Node};
use serde_json::{Value, json};

choices! {
    /// A statistic of a metric.
    LimitStat {
        Avg = "avg",
        Min = "min",
        Max = "max",
        Sum = "sum",
        P1 = "p1",
        P5 = "p5",
        P10 = "p10",
        P25 = "p25",
        P50 = "p50",
        P75 = "p75",
        P90 = "p90",
        P95 = "p95",
        P99 = "p99",
        Std = "std",
        Count = "count",
    }
}

section! {
    /// One limit.
    Limit {
        /// Metric
        metric: String;
        /// Its statistic; none for a metric that has one value
        stat: LimitStat;
        /// On which side of the threshold the run fails
        op: Comparison;
        /// Threshold, in the unit the metric is shown in
        threshold: f64;
        /// That unit, to be certain of it
        unit: String;
    }
}

/// A list of limits, each a map or a text as `time_to_first_token.p99>200`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits(pub List<Limit>);

impl Limits {
    /// A way to write one, for messages.
    pub(crate) const EXAMPLE: &str = "'time_to_first_token.p99>200', in quotes: a shell keeps < and > for itself";

    fn item(node: &Node, path: &str, reader: &mut Reader) -> Option<Limit> {
        let spelled_out = match node.text().map(limit) {
            None => node.clone(),
            Some(Ok(limit)) => Node::from_json(&limit, &node.origin),
            Some(Err(rule)) => {
                let problem = reader.places.refuse(node, path, rule);
                reader.problems.push(problem.hint(Self::EXAMPLE));
                return None;
            }
        };
        let read = Limit::read(&spelled_out, path, reader)?;
        let is_whole = read.metric.as_deref().is_some_and(|metric| !metric.trim().is_empty())
            && read.op.is_some()
            && read.threshold.is_some_and(f64::is_finite);
        if !is_whole {
            let what = format!("{} is not a whole limit", reader.places.subject_key(node, path));
            let problem = Problem::new(what).because("a limit needs metric, op and a finite threshold");
            reader
                .problems
                .push(problem.hint("{metric: time_to_first_token, stat: p99, op: gt, threshold: 200}").at(path));
        }
        Some(read)
    }
}

impl Setting for Limits {
    const FIELDS: &'static [Field] = Limit::FIELDS;
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        let Datum::List(items) = &node.datum else {
            reader.refuse(node, path, format!("must be a list of limits, not {}", node.kind()));
            return None;
        };
        let numbered = items.iter().enumerate();
        let read = numbered.filter_map(|(index, item)| Self::item(item, &join(path, &index.to_string()), reader));
        Some(Self(List(read.collect())))
    }
    fn write(&self) -> Value {
        self.0.write()
    }
    fn full(&self) -> Value {
        self.0.full()
    }
    fn schema() -> Value {
        json!({"type": "array", "items": {"anyOf": [{"type": "string"}, Limit::schema()]}})
    }
}
