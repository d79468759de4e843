//! The metrics of one record, in a buffer that is reused for the next.

use crate::facts::Facts;
use crate::registry::metric::{Compute, Metric};
use crate::run::Metrics;
use aiperf_types::Measured;

/// A value of one record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A count, or an integer in a unit without conversion.
    Int(i64),
    Float(f64),
    List(&'a [f64]),
}

/// The type of a metric's values in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    Int,
    Float,
    List,
}

impl ValueKind {
    /// The type of a metric's [`Value`]s; `None` if records have no values of it.
    pub fn of(metric: &Metric) -> Option<Self> {
        match metric.compute {
            Compute::Ints(_) | Compute::Fold(..) if metric.unit == metric.display => Some(Self::Int),
            Compute::Ints(_) | Compute::Fold(..) | Compute::Floats(_) => Some(Self::Float),
            Compute::Gaps => Some(Self::List),
            _ => None,
        }
    }
}

/// A value of one record in the base unit of its metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BaseValue<'a> {
    Int(i64),
    Float(f64),
    /// The gaps between content responses.
    Gaps(&'a [u64]),
}

/// A value in the base unit; a list is stored separately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
    Gaps,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) metric: &'static Metric,
    /// Index among the metrics of the run.
    pub(crate) chosen: usize,
    pub(crate) number: Number,
    shown: bool,
}

/// The metrics of one record.
#[derive(Clone, Debug, Default)]
pub struct RecordMetrics {
    pub(crate) facts: Facts,
    pub(crate) gaps: Vec<u64>,
    pub(crate) entries: Vec<Entry>,
    gaps_shown: Vec<f64>,
}

impl Metrics {
    /// The metrics that a record export may show, in registry order.
    pub fn shown_in_records(&self) -> impl Iterator<Item = (&'static Metric, ValueKind)> + '_ {
        let shown = self.chosen.iter().filter(|chosen| chosen.per_record);
        shown.filter_map(|chosen| Some((chosen.metric, ValueKind::of(chosen.metric)?)))
    }

    /// Computes the metrics of one record into a buffer, which is emptied first. Allocates nothing once the buffer is
    /// warm.
    pub fn record(&self, m: &Measured, out: &mut RecordMetrics) {
        out.compute(self, m);
    }
}

impl RecordMetrics {
    pub(crate) fn compute(&mut self, metrics: &Metrics, m: &Measured) {
        self.facts.read(m, metrics.applies, &mut self.gaps);
        self.entries.clear();
        let failed = self.facts.failed();
        for (chosen, choice) in metrics.chosen.iter().enumerate() {
            let metric = choice.metric;
            if !metric.population.takes(failed) {
                continue;
            }
            let number = match metric.compute {
                Compute::Ints(compute) | Compute::Fold(_, compute) => {
                    compute(&self.facts, &metrics.rules).map(Number::Int)
                }
                Compute::Floats(compute) => {
                    compute(&self.facts, &metrics.rules).filter(|value| value.is_finite()).map(Number::Float)
                }
                Compute::Gaps => (!self.gaps.is_empty()).then_some(Number::Gaps),
                _ => None,
            };
            if let Some(number) = number {
                self.entries.push(Entry { metric, chosen, number, shown: choice.per_record });
                if number == Number::Gaps {
                    self.fill_gaps(metric.scale());
                }
            }
        }
    }

    fn fill_gaps(&mut self, scale: f64) {
        self.gaps_shown.clear();
        self.gaps_shown.extend(self.gaps.iter().map(|&gap| gap as f64 * scale));
    }

    /// The values of a record export, in display units and registry order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Metric, Value<'_>)> {
        self.entries.iter().filter(|entry| entry.shown).map(|entry| {
            let scale = entry.metric.scale();
            let value = match entry.number {
                Number::Int(value) if entry.metric.unit == entry.metric.display => Value::Int(value),
                Number::Int(value) => Value::Float(value as f64 * scale),
                Number::Float(value) => Value::Float(value * scale),
                Number::Gaps => Value::List(&self.gaps_shown),
            };
            (entry.metric, value)
        })
    }

    /// Every value of the record, in base units, including inputs of aggregates and hidden metrics.
    pub fn base(&self) -> impl Iterator<Item = (&'static Metric, BaseValue<'_>)> {
        self.entries.iter().map(|entry| {
            let value = match entry.number {
                Number::Int(value) => BaseValue::Int(value),
                Number::Float(value) => BaseValue::Float(value),
                Number::Gaps => BaseValue::Gaps(&self.gaps),
            };
            (entry.metric, value)
        })
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }
}
