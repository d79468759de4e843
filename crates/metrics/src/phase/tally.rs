//! The values of one scope, by metric, before they become a summary.

use crate::numbers::scalar::Scalar;
use crate::numbers::stats::{Distribution, Stats};
use crate::phase::summary::{MetricResult, Summary};
use crate::registry;
use crate::registry::flags::Flags;
use crate::registry::metric::{Compute, MetricType};
use crate::registry::scope::Scope;
use crate::run::Metrics;
use aiperf_types::Nanos;

/// The values of one scope, by the index of each metric in the registry.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    scalars: Vec<Option<Scalar>>,
    sums: Vec<Option<Scalar>>,
    /// Few metrics of a scope have a distribution, and there may be thousands of scopes.
    stats: Vec<(usize, Stats)>,
    records: u64,
    pub(crate) failed: u64,
}

impl Tally {
    pub(crate) fn new(records: u64, failed: u64) -> Self {
        let places = registry::all().len();
        Self { scalars: vec![None; places], sums: vec![None; places], stats: Vec::new(), records, failed }
    }

    pub(crate) fn set_distribution(&mut self, place: usize, distribution: Option<Distribution>) {
        if let Some(distribution) = distribution {
            self.set_stats(place, Some(distribution.stats));
            self.sums[place] = Some(distribution.sum);
        }
    }

    pub(crate) fn set_sum(&mut self, place: usize, sum: Option<Scalar>) {
        self.sums[place] = sum;
    }

    pub(crate) fn set_stats(&mut self, place: usize, stats: Option<Stats>) {
        self.stats.extend(stats.map(|stats| (place, stats)));
    }

    pub(crate) fn set_scalar(&mut self, place: usize, scalar: Option<Scalar>) {
        self.scalars[place] = scalar;
    }

    /// Computes totals and derived metrics, each as soon as its inputs are known. Rates divide by `window`, or else by
    /// the benchmark's duration.
    pub(crate) fn derive(&mut self, metrics: &Metrics, window: Option<Nanos>) {
        for chosen in &metrics.chosen {
            match chosen.metric.compute {
                Compute::Total(base) => {
                    self.scalars[chosen.place] = registry::place(base).and_then(|base| self.sums[base]);
                }
                // None of the records could be judged, so none was good.
                Compute::Fold(..) if chosen.metric.flags.has(Flags::GOODPUT) && self.records > 0 => {
                    self.scalars[chosen.place] = self.scalars[chosen.place].or(Some(Scalar::Int(0)));
                }
                _ => {}
            }
        }
        let mut found_more = self.records > 0;
        while found_more {
            found_more = false;
            for chosen in &metrics.chosen {
                if let (Compute::Derived(compute), None) = (chosen.metric.compute, self.scalars[chosen.place]) {
                    let value = compute(&Scope { values: &self.scalars, window });
                    self.scalars[chosen.place] = value.map(Scalar::Float);
                    found_more |= value.is_some();
                }
            }
        }
    }

    pub(crate) fn into_summary(self, metrics: &Metrics) -> Summary {
        let mut summary = Summary { records: self.records, failed: self.failed, ..Summary::default() };
        for chosen in metrics.chosen.iter().filter(|chosen| chosen.exported) {
            let single = self.scalars[chosen.place].map(|scalar| Stats::of(scalar.as_f64()));
            let distribution = self.stats.iter().find(|(place, _)| *place == chosen.place).map(|(_, stats)| *stats);
            if let Some(mut stats) = distribution.or(single) {
                if matches!(chosen.metric.kind(), MetricType::Aggregate(_) | MetricType::Derived) {
                    stats.count = None;
                }
                let result = MetricResult::new(chosen.metric, stats);
                summary.results.extend((result.stats != Stats::default()).then_some(result));
            }
        }
        summary.sort();
        summary
    }
}
