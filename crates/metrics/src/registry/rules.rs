//! The inputs of record metrics besides the record: limits and objectives.

use crate::facts::Facts;
use aiperf_types::Thresholds;

/// An integer per record.
pub type IntFn = fn(&Facts, &Rules) -> Option<i64>;
/// A float per record.
pub type FloatFn = fn(&Facts, &Rules) -> Option<f64>;

/// The inputs of record metrics besides the record.
#[derive(Debug)]
pub struct Rules {
    pub(crate) thresholds: Thresholds,
    pub(crate) objectives: Vec<Objective>,
}

/// One service level objective, ready to check.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Objective {
    /// If absent, no request meets the objective.
    pub(crate) compute: Option<Number>,
    /// In the metric's base unit.
    pub(crate) threshold: f64,
    pub(crate) larger_is_better: bool,
}

/// How the metric of an objective is computed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Int(IntFn),
    Float(FloatFn),
}

impl Objective {
    pub(crate) fn value(&self, facts: &Facts, rules: &Rules) -> Option<f64> {
        match self.compute? {
            Number::Int(compute) => compute(facts, rules).map(|value| value as f64),
            Number::Float(compute) => compute(facts, rules),
        }
    }

    pub(crate) fn is_met(&self, value: f64) -> bool {
        if self.larger_is_better { value >= self.threshold } else { value <= self.threshold }
    }
}
