//! Random lengths: fixed, normal, lognormal, or from weighted peaks or points.

use crate::choice::{Choice, choices};
use crate::error::Problem;
use crate::range::{at_least, more_than};
use crate::setting::{Field, List, Reader, Setting, join, section};
use crate::tree::{Datum, Node};
use aiperf_plan::Distribution as Drawn;
use aiperf_plan::dataset::distribution as drawn;
use serde_json::{Value, json};

choices! {
    /// Shape of a distribution.
    DistributionKind {
        Fixed = "fixed",
        Normal = "normal",
        Lognormal = "lognormal",
        Multimodal = "multimodal",
        Empirical = "empirical",
    }
}

section! {
    /// A length that is drawn.
    Shape {
        /// Shape; by default from the keys
        r#type: DistributionKind;
        /// Fixed value
        value: f64;
        mean: f64 [at_least(0.0)];
        /// Deviation
        stddev: f64 [at_least(0.0)] = 0.0;
        /// Median of a lognormal shape
        median: f64 [more_than(0.0)];
        /// Shapes, one of which is drawn by weight; at least two
        peaks: List<Peak>;
        /// Values, one of which is drawn by weight
        points: List<Point>;
        /// Lower limit
        min: f64;
        /// Upper limit
        max: f64;
    }
    /// One peak of a multimodal shape.
    Peak {
        /// Shape; by default from the keys
        r#type: DistributionKind;
        /// Fixed value
        value: f64;
        mean: f64 [at_least(0.0)];
        /// Deviation
        stddev: f64 [at_least(0.0)] = 0.0;
        /// Median of a lognormal shape
        median: f64 [more_than(0.0)];
        /// Lower limit
        min: f64;
        /// Upper limit
        max: f64;
        /// Share
        weight: f64 [more_than(0.0)];
    }
    /// One value of an empirical shape.
    Point {
        value: f64;
        /// Share
        weight: f64 [more_than(0.0)];
    }
}

/// A random length; a bare number is a fixed one.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution(pub Shape);

/// Keys that imply a shape; the first match counts.
const IMPLIED_BY: &[(&str, DistributionKind)] = &[
    ("peaks", DistributionKind::Multimodal),
    ("points", DistributionKind::Empirical),
    ("median", DistributionKind::Lognormal),
    ("stddev", DistributionKind::Normal),
    ("value", DistributionKind::Fixed),
    ("mean", DistributionKind::Normal),
];

/// The keys that each shape needs, and those it may have besides limits.
const NEEDS: &[(DistributionKind, &[&str], &[&str])] = &[
    (DistributionKind::Fixed, &["value"], &[]),
    (DistributionKind::Normal, &["mean"], &["stddev"]),
    (DistributionKind::Lognormal, &["mean", "median"], &[]),
    (DistributionKind::Multimodal, &["peaks"], &[]),
    (DistributionKind::Empirical, &["points"], &[]),
];

impl Distribution {
    /// The mean of draws.
    pub fn expected(&self) -> f64 {
        let shape = &self.0;
        let weighted = |pairs: Vec<(f64, f64)>| {
            let total: f64 = pairs.iter().map(|(_, weight)| weight).sum();
            pairs.iter().map(|(value, weight)| value * weight).sum::<f64>() / total
        };
        if let Some(peaks) = &shape.peaks {
            let pair = |peak: &Peak| (peak.mean.or(peak.value).unwrap_or(0.0), peak.weight.unwrap_or(1.0));
            return weighted(peaks.iter().map(pair).collect());
        }
        if let Some(points) = &shape.points {
            return weighted(points.iter().map(|p| (p.value.unwrap_or(0.0), p.weight.unwrap_or(1.0))).collect());
        }
        shape.value.or(shape.mean).unwrap_or(0.0)
    }
}

impl Distribution {
    /// The distribution of the plan.
    pub fn drawn(&self) -> Drawn {
        let Shape { value, mean, stddev, median, peaks, points, min, max, .. } = &self.0;
        let shape = if let Some(peaks) = peaks {
            drawn::Shape::Multimodal(peaks.iter().map(Peak::drawn).collect())
        } else if let Some(points) = points {
            let drawn = |point: &Point| drawn::Weighted {
                item: point.value.unwrap_or_default(),
                weight: point.weight.unwrap_or(1.0),
            };
            drawn::Shape::Empirical(points.iter().map(drawn).collect())
        } else {
            plain(*value, *mean, *stddev, *median)
        };
        Drawn { shape, min: *min, max: *max }
    }
}

impl Peak {
    fn drawn(&self) -> drawn::Weighted<Drawn> {
        let shape = plain(self.value, self.mean, self.stddev, self.median);
        drawn::Weighted { item: Drawn { shape, min: self.min, max: self.max }, weight: self.weight.unwrap_or(1.0) }
    }
}

fn plain(value: Option<f64>, mean: Option<f64>, stddev: Option<f64>, median: Option<f64>) -> drawn::Shape {
    match (value, median) {
        (Some(value), _) => drawn::Shape::Fixed(value),
        (None, Some(median)) => drawn::Shape::Lognormal { mean: mean.unwrap_or(median), median },
        (None, None) => drawn::Shape::Normal { mean: mean.unwrap_or_default(), stddev: stddev.unwrap_or_default() },
    }
}

impl From<f64> for Distribution {
    fn from(value: f64) -> Self {
        Self(Shape { value: Some(value), ..Shape::default() })
    }
}

impl Setting for Distribution {
    const FIELDS: &'static [Field] = Shape::FIELDS;
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        if let Datum::Int(_) | Datum::Float(_) | Datum::Text(_) = node.datum {
            let value = f64::read(node, path, reader)?;
            return Some(Self::from(value));
        }
        let before = reader.problems.len();
        let shape = Shape::read(node, path, reader)?;
        if reader.problems.len() == before {
            check(node, path, &shape, reader);
        }
        (reader.problems.len() == before).then_some(Self(shape))
    }
    fn write(&self) -> Value {
        self.0.write()
    }
    fn full(&self) -> Value {
        let mut all = self.write();
        if self.0.mean.is_some() && self.0.median.is_none() {
            all["stddev"] = self.0.stddev().write();
        }
        all
    }
    fn brief(&self) -> Value {
        self.0.value.map_or_else(|| self.write(), crate::scalars::number)
    }
    fn schema() -> Value {
        json!({"anyOf": [{"type": "number"}, Shape::schema()]})
    }
    fn number(&self) -> Option<f64> {
        Some(self.expected())
    }
}

fn check(node: &Node, path: &str, shape: &Shape, reader: &mut Reader) {
    let implied = IMPLIED_BY.iter().find(|(key, _)| node.set(key).is_some()).map(|(_, kind)| *kind);
    let Some(kind) = shape.r#type.or(implied) else {
        let problem = reader.places.refuse(node, path, "gives no length");
        reader.problems.push(problem.hint("a number, or {mean, stddev}"));
        return;
    };
    let Some((_, needed, allowed)) = NEEDS.iter().find(|(name, ..)| *name == kind) else { return };
    for key in *needed {
        if node.set(key).is_none() {
            reader.problems.push(missing(node, path, key, kind, reader));
        }
    }
    for (key, value) in node.entries() {
        let known = needed.contains(&key.as_str()) || allowed.contains(&key.as_str());
        if !known && !["type", "min", "max"].contains(&key.as_str()) {
            reader.refuse(value, &join(path, key), format!("does not belong to a {} length", kind.name()));
        }
    }
    if let (Some(mean), Some(median)) = (shape.mean, shape.median)
        && median > mean
    {
        reader.refuse(node, path, format!("has a median {median} above its mean {mean}"));
    }
    if let (Some(min), Some(max)) = (shape.min, shape.max)
        && min > max
    {
        reader.refuse(node, path, format!("has a min {min} above its max {max}"));
    }
    if shape.peaks.as_ref().is_some_and(|peaks| peaks.len() < 2) {
        reader.refuse(node, path, "needs at least two peaks");
    }
    if shape.points.as_ref().is_some_and(|points| points.is_empty()) {
        reader.refuse(node, path, "needs at least one point");
    }
}

fn missing(node: &Node, path: &str, key: &str, kind: DistributionKind, reader: &Reader) -> Problem {
    let from_flag = node.entries().iter().find_map(|(_, value)| match &value.origin {
        crate::tree::Origin::Flag(spelled) => Some(spelled.clone()),
        _ => None,
    });
    let at = join(path, key);
    match from_flag {
        Some(spelled) => {
            let mean = spelled.replace("stddev", "mean").replace("osl-mean", "osl").replace("isl-mean", "isl");
            Problem::new(format!("{spelled} needs {mean}"))
                .because("a deviation needs a mean to deviate from")
                .hint(format!("add {mean} N, or leave {spelled} out"))
                .at(at)
        }
        None => {
            Problem::new(format!("{} needs {key}: it is a {} length", reader.places.subject(node, path), kind.name()))
                .at(at)
        }
    }
}
