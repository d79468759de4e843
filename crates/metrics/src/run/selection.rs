//! Which metrics a run has.

use crate::facts::{Applies, Fact};
use crate::registry;
use crate::registry::flags::Flags;
use crate::registry::metric::{Compute, Metric};
use crate::registry::rules::{Number, Objective, Rules};
use crate::run::traits::RunTraits;
use aiperf_types::{Nanos, Slo};

/// A metric of the run.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) metric: &'static Metric,
    /// Index among all metrics.
    pub(crate) place: usize,
    /// May be in summaries.
    pub(crate) exported: bool,
    /// May be in the export of single records.
    pub(crate) per_record: bool,
    /// All base facts it reads, including those of its dependencies.
    pub(crate) facts: Vec<Fact>,
}

/// The metrics of a run.
#[derive(Debug)]
pub struct Metrics {
    pub(crate) traits: RunTraits,
    pub(crate) rules: Rules,
    pub(crate) applies: Applies,
    pub(crate) chosen: Vec<Chosen>,
    pub(crate) slice: Option<Nanos>,
}

impl Metrics {
    /// Chooses the metrics of a run.
    pub fn for_run(traits: RunTraits) -> Self {
        let endpoint = traits.endpoint.traits();
        let applies = Applies {
            streaming: traits.streaming,
            chunks: traits.streaming && endpoint.produces_tokens,
            output: endpoint.produces_tokens,
            empty_output: traits.has_empty_output(),
            input: endpoint.tokenizes_input,
            schedule: traits.fixed_schedule,
            open_loop: traits.open_loop,
        };
        let chosen = registry::all()
            .iter()
            .enumerate()
            .filter(|(_, metric)| traits.has(metric))
            .map(|(place, metric)| Chosen {
                metric,
                place,
                exported: traits.exports(metric),
                per_record: traits.exports(metric) && !metric.flags.has(Flags::NO_INDIVIDUAL_RECORDS),
                facts: facts_of(metric, &traits.slos),
            })
            .collect();
        let objectives = traits.slos.iter().map(|slo| objective(slo, &traits)).collect();
        let rules = Rules { thresholds: traits.thresholds, objectives };
        Self { traits, rules, applies, chosen, slice: None }
    }

    /// Prepares for time slices of this length, so that they are kept separate however long the run is.
    pub fn with_slices(mut self, length: Nanos) -> Self {
        self.slice = (length.0 > 0).then_some(length);
        self
    }

    /// The length of the time slices, if there are any.
    pub fn slice(&self) -> Option<Nanos> {
        self.slice
    }

    pub fn traits(&self) -> &RunTraits {
        &self.traits
    }

    /// The metrics of the run, in registry order.
    pub fn chosen(&self) -> impl Iterator<Item = &'static Metric> + '_ {
        self.chosen.iter().map(|chosen| chosen.metric)
    }
}

fn objective(slo: &Slo, traits: &RunTraits) -> Objective {
    let metric = registry::find(&slo.tag).filter(|metric| traits.has(metric));
    let compute = metric.and_then(|metric| match metric.compute {
        Compute::Ints(compute) | Compute::Fold(_, compute) => Some(Number::Int(compute)),
        Compute::Floats(compute) => Some(Number::Float(compute)),
        _ => None,
    });
    let to_base = metric.map_or(1.0, |metric| metric.display.factor_to(metric.unit));
    Objective {
        compute,
        threshold: slo.threshold * to_base,
        larger_is_better: metric.is_some_and(|metric| metric.larger_is_better() == Some(true)),
    }
}

/// The facts that a metric reads, with those of the metrics it is computed from.
fn facts_of(metric: &Metric, slos: &[Slo]) -> Vec<Fact> {
    let mut facts = Vec::new();
    collect_facts(metric, slos, &mut facts);
    facts
}

fn collect_facts(metric: &Metric, slos: &[Slo], facts: &mut Vec<Fact>) {
    for &fact in metric.facts {
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    }
    let objectives = slos.iter().map(|slo| slo.tag.as_str()).filter(|_| metric.tag == "good_request_count");
    for tag in metric.needs.iter().chain(metric.uses).copied().chain(objectives) {
        if let Some(other) = registry::find(tag).filter(|other| other.tag != metric.tag) {
            collect_facts(other, slos, facts);
        }
    }
}
