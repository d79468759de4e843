//! The values of single records, computed again from stored facts.

use crate::facts::Facts;
use crate::phase::accumulator::Accumulator;
use crate::registry::metric::Compute;
use crate::run::{Chosen, Metrics};

impl Accumulator {
    /// The values of successful records, by metric and in display units: the numbers in an export of single records.
    /// Lists, and metrics that no record has, are left out.
    pub fn values<'a>(&'a self, metrics: &'a Metrics) -> impl Iterator<Item = (&'static str, Vec<f64>)> + 'a {
        let shown = metrics.chosen.iter().filter(|chosen| chosen.per_record);
        let values = shown.map(|chosen| (chosen.metric.tag, self.values_of_chosen(metrics, chosen)));
        values.filter(|(_, values)| !values.is_empty())
    }

    fn values_of_chosen(&self, metrics: &Metrics, chosen: &Chosen) -> Vec<f64> {
        let mut values = Vec::new();
        self.kept.columns.each(&chosen.facts, |_, facts| values.extend(value_of(metrics, chosen, facts)));
        values
    }
}

/// The value of a metric of a successful record, in display units.
pub(crate) fn value_of(metrics: &Metrics, chosen: &Chosen, facts: &Facts) -> Option<f64> {
    let (metric, rules) = (chosen.metric, &metrics.rules);
    if facts.failed() || !metric.population.takes(false) {
        return None;
    }
    let value = match metric.compute {
        Compute::Ints(compute) | Compute::Fold(_, compute) => compute(facts, rules).map(|value| value as f64),
        Compute::Floats(compute) => compute(facts, rules).filter(|value| value.is_finite()),
        _ => None,
    };
    value.map(|value| value * metric.scale())
}
