//! What is known about a run before it starts, and which metrics that leaves.

use crate::facts::{Fact, Facts};
use crate::registry;
use crate::registry::flags::Flags;
use crate::registry::metric::{Compute, FloatFn, IntFn, Metric};
use crate::run::record::RecordMetrics;
use aiperf_types::{EndpointKind, Measured, Nanos, Slo, Thresholds};

/// What decides which metrics a run has.
#[derive(Clone, Debug)]
pub struct RunTraits {
    /// The endpoint type.
    pub endpoint: EndpointKind,
    /// Whether answers are streamed.
    pub streaming: bool,
    /// Token counts are the server's, so comparing them with it says nothing.
    pub server_token_count: bool,
    /// Service level objectives, thresholds in display units.
    pub slos: Vec<Slo>,
    /// A profiling phase replays a schedule.
    pub fixed_schedule: bool,
    /// Answers are graded.
    pub accuracy: bool,
    /// Keep internal metrics in exports.
    pub show_internal: bool,
    /// Compute and keep experimental metrics.
    pub show_experimental: bool,
    /// Limits of the deviation counts.
    pub thresholds: Thresholds,
}

impl RunTraits {
    /// A run with nothing special about it.
    pub fn new(endpoint: EndpointKind, streaming: bool) -> Self {
        Self {
            endpoint,
            streaming,
            server_token_count: false,
            slos: Vec::new(),
            fixed_schedule: false,
            accuracy: false,
            show_internal: false,
            show_experimental: false,
            thresholds: Thresholds::default(),
        }
    }

    /// Whether a metric is part of such a run.
    pub fn has(&self, metric: &Metric) -> bool {
        self.lacks(metric).is_none()
    }

    /// The first condition of a metric that such a run does not fulfil.
    pub(crate) fn lacks(&self, metric: &Metric) -> Option<Flags> {
        let endpoint = self.endpoint.traits();
        [
            (Flags::STREAMING_ONLY, self.streaming),
            (Flags::PRODUCES_TOKENS_ONLY, endpoint.produces_tokens),
            (Flags::TOKENIZES_INPUT_ONLY, endpoint.tokenizes_input),
            (Flags::SUPPORTS_AUDIO_ONLY, endpoint.accepts_audio),
            (Flags::SUPPORTS_IMAGE_ONLY, endpoint.accepts_images || endpoint.produces_images),
            (Flags::PRODUCES_VIDEO_ONLY, endpoint.produces_videos),
            (Flags::USAGE_DIFF_ONLY, !self.server_token_count),
            (Flags::EXPERIMENTAL, self.show_experimental),
            (Flags::FIXED_SCHEDULE_ONLY, self.fixed_schedule),
            (Flags::GOODPUT, !self.slos.is_empty()),
            (Flags::DISABLE_ON_ACCURACY, !self.accuracy),
        ]
        .into_iter()
        .find(|(flag, fulfilled)| metric.flags.has(*flag) && !fulfilled)
        .map(|(flag, _)| flag)
    }

    /// Whether a metric of the run may be exported.
    pub fn exports(&self, metric: &Metric) -> bool {
        self.show_internal || !metric.flags.has(Flags::INTERNAL)
    }
}

/// Which facts mean anything in a run. A fact that no metric of the run may use is not read: what depends on it has no
/// value then, whatever asks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Applies {
    pub(crate) streaming: bool,
    pub(crate) chunks: bool,
    pub(crate) output: bool,
    pub(crate) input: bool,
    pub(crate) schedule: bool,
}

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
    fn new(slo: &Slo, traits: &RunTraits) -> Self {
        let metric = registry::find(&slo.tag).filter(|metric| traits.has(metric));
        let compute = metric.and_then(|metric| match metric.compute {
            Compute::Ints(compute) | Compute::Fold(_, compute) => Some(Number::Int(compute)),
            Compute::Floats(compute) => Some(Number::Float(compute)),
            _ => None,
        });
        let to_base = metric.map_or(1.0, |metric| metric.display.factor_to(metric.unit));
        Self {
            compute,
            threshold: slo.threshold * to_base,
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

/// A metric of the run.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) metric: &'static Metric,
    /// Place among all metrics.
    pub(crate) place: usize,
    /// May stand in summaries.
    pub(crate) exported: bool,
    /// May stand in the export of single records.
    pub(crate) per_record: bool,
    /// All base facts it reads, its dependencies' included.
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
    /// Chooses the metrics that a run has.
    pub fn for_run(traits: RunTraits) -> Self {
        let endpoint = traits.endpoint.traits();
        let applies = Applies {
            streaming: traits.streaming,
            chunks: traits.streaming && endpoint.produces_tokens,
            output: endpoint.produces_tokens,
            input: endpoint.tokenizes_input,
            schedule: traits.fixed_schedule,
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
        let objectives = traits.slos.iter().map(|slo| Objective::new(slo, &traits)).collect();
        let rules = Rules { thresholds: traits.thresholds, objectives };
        Self { traits, rules, applies, chosen, slice: None }
    }

    /// Prepares for time slices of this length, so that they can be told apart however long the run gets.
    pub fn with_slices(mut self, length: Nanos) -> Self {
        self.slice = (length.0 > 0).then_some(length);
        self
    }

    /// What the run was said to be.
    pub fn traits(&self) -> &RunTraits {
        &self.traits
    }

    /// The metrics of the run, in registry order.
    pub fn chosen(&self) -> impl Iterator<Item = &'static Metric> + '_ {
        self.chosen.iter().map(|chosen| chosen.metric)
    }

    /// Computes the metrics of one record into a buffer, which is emptied first. Allocates nothing once the buffer is warm.
    pub fn record(&self, m: &Measured, out: &mut RecordMetrics) {
        out.compute(self, m);
    }
}

/// The facts a metric reads, with those of the metrics it is computed from.
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
