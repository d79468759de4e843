//! Drawn points: where in a space of settings a sweep looks.

use super::bounds::{few_enough, reachable};
use crate::choice::Choice;
use crate::error::Problem;
use crate::parse::sweep_path;
use crate::sections::sweep::{Dimension, DimensionKind, Scale, Sweep, SweepType};
use crate::tree::{Node, Places};
use aiperf_statistics::{Evenness, Sobol, latin_hypercube};
use serde_json::{Map, Value, json};

/// The default seed of points.
const SEED: i64 = 42;
/// How evenly a hypercube is filled, by name.
const OPTIMIZATIONS: [(&str, Evenness); 3] =
    [("random-cd", Evenness::CentredDiscrepancy), ("lloyd", Evenness::Lloyd), (NOT_AT_ALL, Evenness::Chance)];
const NOT_AT_ALL: &str = "none";

/// A space, and how its points are drawn.
#[derive(Debug)]
pub(crate) struct Design {
    pub(super) kind: SweepType,
    samples: usize,
    seed: i64,
    is_scrambled: bool,
    evenness: Evenness,
    dimensions: Vec<Axis>,
}

#[derive(Debug)]
struct Axis {
    path: String,
    range: Range,
}

#[derive(Debug)]
enum Range {
    Choices(Vec<Value>),
    Numbers { lo: f64, hi: f64, scale: Scale, kind: DimensionKind },
}

impl Design {
    pub(super) fn of(sweep: &Sweep, envelope: &Node, node: &Node, places: &Places) -> Result<Self, Vec<Problem>> {
        let place = places.prefix(&node.origin);
        let mut problems = Vec::new();
        let samples = sweep.samples.and_then(|samples| usize::try_from(samples).ok()).unwrap_or_default();
        if samples == 0 {
            let what = format!("{place}a sweep of drawn points does not say how many");
            problems.push(Problem::new(what).hint("sweep: {samples: 16}").at("sweep.samples"));
        }
        few_enough(samples, node, places)?;
        let mut dimensions: Vec<Axis> = Vec::new();
        for dimension in sweep.dimensions.iter().flat_map(|dimensions| dimensions.iter()) {
            match axis(dimension, envelope, &place) {
                Ok(axis) if dimensions.iter().any(|other| other.path == axis.path) => {
                    let what = format!("{place}a sweep names {} twice", axis.path);
                    problems.push(Problem::new(what).at("sweep.dimensions"));
                }
                Ok(axis) => dimensions.push(axis),
                Err(problem) => problems.push(problem),
            }
        }
        if dimensions.is_empty() && problems.is_empty() {
            let what = format!("{place}a sweep of drawn points has no dimensions");
            let hint = "sweep: {dimensions: [{path: concurrency, lo: 1, hi: 64, kind: int}]}";
            problems.push(Problem::new(what).hint(hint).at("sweep.dimensions"));
        }
        let kind = sweep.r#type.unwrap_or(SweepType::DEFAULT);
        let optimization = optimization(sweep);
        let evenness = OPTIMIZATIONS.iter().find(|(known, _)| *known == optimization).map(|(_, evenness)| *evenness);
        if evenness.is_none() {
            let what = format!("{place}a hypercube is not filled by '{optimization}'");
            problems.push(Problem::new(what).hint("random-cd, lloyd or none").at("sweep.optimization"));
        }
        if kind == SweepType::Sobol && Sobol::new(dimensions.len()).is_err() {
            let what = format!("{place}{} dimensions are too many for Sobol points", dimensions.len());
            problems.push(Problem::new(what).hint("type: latin_hypercube").at("sweep.dimensions"));
        }
        let design = Self {
            kind,
            samples,
            seed: sweep.seed.unwrap_or(SEED),
            is_scrambled: sweep.scramble(),
            evenness: evenness.unwrap_or(Evenness::Chance),
            dimensions,
        };
        if problems.is_empty() { Ok(design) } else { Err(problems) }
    }

    /// The values of each point, by path and in the order of paths.
    pub(super) fn points(&self) -> Vec<Vec<(String, Value)>> {
        let point = |drawn: Vec<f64>| {
            let mut values: Vec<(String, Value)> =
                self.dimensions.iter().zip(drawn).map(|(axis, at)| (axis.path.clone(), axis.range.at(at))).collect();
            values.sort_by(|one, other| one.0.cmp(&other.0));
            values
        };
        self.drawn().into_iter().map(point).collect()
    }

    /// Points of the unit cube.
    fn drawn(&self) -> Vec<Vec<f64>> {
        let (dimensions, seed) = (self.dimensions.len(), self.seed.unsigned_abs());
        let sobol = match self.kind {
            SweepType::Sobol if self.is_scrambled => Sobol::scrambled(dimensions, seed).ok(),
            SweepType::Sobol => Sobol::new(dimensions).ok(),
            _ => None,
        };
        match sobol {
            Some(sobol) => sobol.take(self.samples).collect(),
            None => latin_hypercube(self.samples, dimensions, self.evenness, seed),
        }
    }
}

/// How points were drawn, for the file; `None` if they were not drawn.
pub(crate) fn design<'a>(sweep: &Sweep, points: impl Iterator<Item = &'a Map<String, Value>>) -> Option<Value> {
    let kind = sweep.r#type.filter(|kind| matches!(kind, SweepType::Sobol | SweepType::LatinHypercube))?;
    let dimension = |dimension: &Dimension| {
        let given = dimension.path.clone().unwrap_or_default();
        let path = sweep_path(&given).unwrap_or(given);
        match &dimension.choices {
            Some(choices) => json!({"path": path, "choices": choices}),
            None => json!({
                "path": path,
                "lo": dimension.lo,
                "hi": dimension.hi,
                "scale": dimension.scale().name(),
                "kind": dimension.kind().name(),
            }),
        }
    };
    let is_sobol = kind == SweepType::Sobol;
    Some(json!({
        "type": kind.name(),
        "samples": sweep.samples,
        "seed": sweep.seed.unwrap_or(SEED),
        "scramble": is_sobol.then(|| sweep.scramble()),
        "optimization": Some(optimization(sweep)).filter(|name| !is_sobol && name != NOT_AT_ALL),
        "dimensions": sweep.dimensions.iter().flat_map(|all| all.iter()).map(dimension).collect::<Vec<_>>(),
        "samples_mapped": points.collect::<Vec<_>>(),
    }))
}

/// How evenly a hypercube is filled.
fn optimization(sweep: &Sweep) -> String {
    sweep.optimization.clone().unwrap_or_else(|| sweep.optimization().clone())
}

fn axis(dimension: &Dimension, envelope: &Node, place: &str) -> Result<Axis, Problem> {
    let given = dimension.path.clone().unwrap_or_default();
    let at = "sweep.dimensions";
    let path =
        sweep_path(&given).map_err(|why| Problem::new(format!("{place}a sweep cannot vary {given}: {why}")).at(at))?;
    reachable(envelope, &path, place)?;
    let choices = dimension.choices.as_ref().and_then(Value::as_array).filter(|choices| !choices.is_empty());
    let range = match (choices, dimension.lo, dimension.hi) {
        (Some(choices), None, None) => Range::Choices(choices.clone()),
        (None, Some(lo), Some(hi)) if dimension.kind() == DimensionKind::Int && lo < hi && lo.ceil() > hi.floor() => {
            let what = format!("{place}{path} cannot be drawn from {lo} to {hi}");
            return Err(Problem::new(what).because("there is no whole number between them").at(at));
        }
        (None, Some(lo), Some(hi)) if lo < hi && (dimension.scale() == Scale::Linear || lo > 0.0) => {
            Range::Numbers { lo, hi, scale: dimension.scale(), kind: dimension.kind() }
        }
        (None, Some(lo), Some(hi)) => {
            let why = if lo < hi { "a logarithmic scale begins above 0" } else { "lo must be less than hi" };
            return Err(Problem::new(format!("{place}{path} cannot be drawn from {lo} to {hi}")).because(why).at(at));
        }
        _ => {
            return Err(Problem::new(format!("{place}{path} needs lo and hi, or choices"))
                .hint("{path: concurrency, lo: 1, hi: 64, kind: int}")
                .at(at));
        }
    };
    Ok(Axis { path, range })
}

impl Range {
    /// The value at a position from 0 up to 1.
    fn at(&self, at: f64) -> Value {
        let (lo, hi, scale, kind) = match self {
            Self::Choices(choices) => {
                let index = (at * choices.len() as f64).floor() as usize;
                return choices[index.min(choices.len() - 1)].clone();
            }
            Self::Numbers { lo, hi, scale, kind } => (*lo, *hi, scale, kind),
        };
        let value = match scale {
            Scale::Linear => lo + at * (hi - lo),
            Scale::Log => (lo.ln() + at * (hi.ln() - lo.ln())).exp(),
        };
        match kind {
            DimensionKind::Real => value.into(),
            DimensionKind::Int => (value.round_ties_even().clamp(lo.ceil(), hi.floor()) as i64).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_become_values_of_their_range() {
        let range = |scale, kind| Range::Numbers { lo: 1.0, hi: 100.0, scale, kind };
        assert_eq!(range(Scale::Linear, DimensionKind::Int).at(0.0), 1);
        assert_eq!(range(Scale::Linear, DimensionKind::Real).at(0.5), 50.5);
        assert_eq!(range(Scale::Log, DimensionKind::Int).at(0.5), 10);
        let choices = Range::Choices(vec![json!("a"), json!("b")]);
        assert_eq!([choices.at(0.49), choices.at(0.999)], [json!("a"), json!("b")]);
    }
}
