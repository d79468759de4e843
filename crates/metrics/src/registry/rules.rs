//! What metrics of single records depend on besides the record: limits and objectives.

use crate::facts::Facts;
use crate::registry::metric::{Compute, FloatFn, IntFn, Metric};
use aiperf_types::Thresholds;

/// What metrics of single records depend on besides the record.
#[derive(Debug)]
pub struct Rules {
    pub(crate) thresholds: Thresholds,
    pub(crate) objectives: Vec<Objective>,
}

/// One service level objective, ready to be checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Objective {
    compute: Option<Number>,
    /// In the metric's base unit.
    threshold: f64,
    larger_is_better: bool,
}

#[derive(Clone, Copy, Debug)]
enum Number {
    Int(IntFn),
    Float(FloatFn),
}

impl Objective {
    /// An objective about a metric; without one no request meets it.
    pub(crate) fn new(threshold: f64, metric: Option<&Metric>) -> Self {
        let compute = metric.and_then(|metric| match metric.compute {
            Compute::Ints(compute) | Compute::Fold(_, compute) => Some(Number::Int(compute)),
            Compute::Floats(compute) => Some(Number::Float(compute)),
            _ => None,
        });
        let to_base = metric.map_or(1.0, |metric| metric.display.factor_to(metric.unit));
        Self {
            compute,
            threshold: threshold * to_base,
            larger_is_better: metric.is_some_and(|metric| metric.larger_is_better() == Some(true)),
        }
    }

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
