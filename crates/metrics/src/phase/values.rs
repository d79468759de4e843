//! The values of single records, computed again from stored facts.

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
        self.each_value(metrics, chosen, |_, value| values.push(value));
        values
    }

    /// Visits the value of a metric for each successful record that has one, in display units.
    pub(crate) fn each_value(&self, metrics: &Metrics, chosen: &Chosen, mut visit: impl FnMut(usize, f64)) {
        let (metric, rules) = (chosen.metric, &metrics.rules);
        if !metric.population.takes(false) {
            return;
        }
        let scale = metric.scale();
        self.kept.columns.each(&chosen.facts, |row, facts| {
            if facts.failed() {
                return;
            }
            let value = match metric.compute {
                Compute::Ints(compute) | Compute::Fold(_, compute) => compute(facts, rules).map(|value| value as f64),
                Compute::Floats(compute) => compute(facts, rules).filter(|value| value.is_finite()),
                _ => None,
            };
            if let Some(value) = value {
                visit(row, value * scale);
            }
        });
    }
}
