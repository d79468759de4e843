//! Statistics that end a phase when they are known exactly enough: whether a run has them, and their values in records.

use crate::registry::metric::{Compute, Metric};
use crate::run::limits::{WhyNot, check_limit};
use crate::run::record::Number;
use crate::run::{Metrics, RecordMetrics, RunTraits};
use aiperf_types::{Limit, Precision, SlaOp};

/// Why a statistic has no interval while a run is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoInterval {
    /// The run does not measure it.
    NotMeasured(WhyNot),
    /// One number a run.
    OneValue,
    /// Several numbers a request, which are not independent.
    SeveralValues,
    /// It is computed at the end of a run.
    KnownLater,
}

impl std::fmt::Display for NoInterval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotMeasured(why) => why.fmt(f),
            Self::OneValue => write!(f, "has one value a run, and no interval"),
            Self::SeveralValues => write!(f, "has several values a request, and no interval"),
            Self::KnownLater => write!(f, "is known only when the run is over"),
        }
    }
}

/// The metric of a statistic, if it has an interval in such a run: if successful requests have one value each.
pub fn check_precision(precision: &Precision, traits: &RunTraits) -> Result<&'static Metric, NoInterval> {
    let Precision { metric, stat, .. } = precision;
    let limit = |stat| Limit { metric: metric.clone(), stat, op: SlaOp::Gt, threshold: 0.0, unit: None };
    let found = match check_limit(&limit(Some(stat.clone())), traits) {
        // With one value, no other statistic helps.
        Err(WhyNot::NoSuchStatistic(_)) if check_limit(&limit(None), traits).is_ok() => Err(NoInterval::OneValue),
        found => found.map_err(NoInterval::NotMeasured),
    }?;
    match found.compute {
        Compute::Ints(_) | Compute::Floats(_) if found.population.takes(false) => Ok(found),
        Compute::Gaps => Err(NoInterval::SeveralValues),
        Compute::NetworkAdjusted(_) | Compute::ErrorAdjusted(_) | Compute::Pass(_) => Err(NoInterval::KnownLater),
        _ => Err(NoInterval::OneValue),
    }
}

/// Finds the values of some metrics in records.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// Index among the metrics of the run, by metric; `None` for one that the run does not have.
    chosen: Vec<Option<usize>>,
}

impl Watched {
    pub fn new(precisions: &[Precision], metrics: &Metrics) -> Self {
        let place =
            |precision: &Precision| metrics.chosen.iter().position(|chosen| chosen.metric.tag == precision.metric);
        Self { chosen: precisions.iter().map(place).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    /// The values of a successful record, by metric, in display units. They are those of a summary.
    pub fn values(&self, record: &RecordMetrics) -> impl Iterator<Item = Option<f64>> {
        let failed = record.facts.failed();
        self.chosen.iter().map(move |chosen| {
            let entry = record.entries.iter().find(|entry| !failed && Some(entry.chosen) == *chosen)?;
            let value = match entry.number {
                Number::Int(value) => value as f64,
                Number::Float(value) => value,
                Number::Gaps => return None,
            };
            Some(value * entry.metric.scale())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::flags::Flags;
    use aiperf_types::{ContentMark, EndpointKind, Measured, MonoNs, RequestError};

    fn precision(metric: &str, stat: &str) -> Precision {
        Precision { metric: metric.into(), stat: stat.into(), half_width: 0.05 }
    }

    #[test]
    fn a_statistic_has_an_interval_if_requests_have_one_value_each() {
        let plain = RunTraits::new(EndpointKind::Chat, false);
        let why = |metric, stat| check_precision(&precision(metric, stat), &plain).err();
        assert_eq!(why("request_latency", "p99"), None);
        assert_eq!(why("output_sequence_length", "avg"), None);
        assert_eq!(why("request_throughput", "avg"), Some(NoInterval::OneValue));
        assert_eq!(why("request_throughput", "p99"), Some(NoInterval::OneValue));
        assert_eq!(why("request_count", "avg"), Some(NoInterval::OneValue));
        assert_eq!(why("nonsense", "p99"), Some(NoInterval::NotMeasured(WhyNot::Unknown)));
        let lacking = NoInterval::NotMeasured(WhyNot::NotInThisRun(Flags::STREAMING_ONLY));
        assert_eq!(why("time_to_first_token", "p99"), Some(lacking));
        assert_eq!(why("adj_request_latency", "p99"), Some(NoInterval::KnownLater));
        let streaming = RunTraits { streaming: true, ..plain };
        let why = |metric, stat| check_precision(&precision(metric, stat), &streaming).err();
        assert_eq!(why("time_to_first_token", "p99"), None);
        assert_eq!(why("inter_token_latency", "p50"), None);
        assert_eq!(why("inter_chunk_latency", "p50"), Some(NoInterval::SeveralValues));
        assert_eq!(why("effective_concurrency", "avg"), Some(NoInterval::OneValue));
    }

    #[test]
    fn only_successful_records_have_values() {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
        let watched = Watched::new(&[precision("time_to_first_token", "p99"), precision("nonsense", "avg")], &metrics);
        let values = |error: Option<RequestError>| {
            let measured = Measured {
                start: MonoNs(1_000_000),
                end: MonoNs(9_000_000),
                content: vec![ContentMark { at: MonoNs(4_500_000), output: true, reasoning: false }],
                error,
                ..Measured::default()
            };
            let mut record = RecordMetrics::default();
            metrics.record(&measured, &mut record);
            watched.values(&record).collect::<Vec<_>>()
        };
        assert_eq!(values(None), [Some(3.5), None]);
        assert_eq!(values(Some(RequestError::coded(500, "Error", "no"))), [None, None]);
        assert!(Watched::default().is_empty() && !watched.is_empty());
    }
}
