//! The names of record metrics that are exported as histograms: those of the OpenTelemetry conventions for generative
//! AI if there is one, otherwise `aiperf.<tag>`.

use crate::registry::metric::{Compute, Metric};
use crate::registry::unit::Unit;
use std::sync::Arc;

/// How a metric is exported as a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Instrument {
    pub name: Arc<str>,
    pub unit: &'static str,
    pub description: Arc<str>,
    /// The name is one of the conventions.
    pub is_convention: bool,
    /// `input` or `output`, if one name is used for both.
    pub token_type: Option<&'static str>,
    /// Upper bounds in the exported unit.
    pub bounds: Arc<[f64]>,
    /// The exported unit in base units of the metric: bounds are whole numbers there, and sums are divided by it once.
    pub per_unit: f64,
}

/// The metric that failed requests have too, from their own times.
pub(crate) const DURATION: &str = "request_latency";

/// A name of the conventions.
struct Convention {
    tag: &'static str,
    name: &'static str,
    unit: &'static str,
    per_unit: f64,
    token_type: Option<&'static str>,
    bounds: &'static [f64],
}

const DURATIONS: &[f64] = &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const CHUNKS: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5,
    0.75, 1.0, 2.0, 5.0,
];
const TOKENS: &[f64] =
    &[1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0];

const fn seconds(tag: &'static str, name: &'static str, bounds: &'static [f64]) -> Convention {
    Convention { tag, name, unit: "s", per_unit: 1e9, token_type: None, bounds }
}

const fn tokens(tag: &'static str, token_type: &'static str) -> Convention {
    let name = "gen_ai.client.token.usage";
    Convention { tag, name, unit: "{token}", per_unit: 1.0, token_type: Some(token_type), bounds: TOKENS }
}

const CONVENTIONS: &[Convention] = &[
    seconds(DURATION, "gen_ai.client.operation.duration", DURATIONS),
    seconds("time_to_first_token", "gen_ai.client.operation.time_to_first_chunk", CHUNKS),
    seconds("inter_token_latency", "gen_ai.client.operation.time_per_output_chunk", CHUNKS),
    tokens("input_sequence_length", "input"),
    tokens("output_token_count", "output"),
];

/// From a microsecond to a hundred seconds; a duration of zero has its own bucket.
const NANOS: &[f64] = &[
    0.0, 1e3, 1e4, 1e5, 2.5e5, 5e5, 1e6, 2.5e6, 5e6, 1e7, 2.5e7, 5e7, 1e8, 2.5e8, 5e8, 1e9, 2.5e9, 5e9, 1e10, 2.5e10,
    5e10, 1e11,
];
const MILLIS: &[f64] = &[1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1e3, 2.5e3, 5e3, 1e4, 2.5e4, 5e4, 1e5];
const SECONDS: &[f64] = &[0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1e3];
const BYTES: &[f64] = &[
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262144.0,
    1048576.0,
    4194304.0,
    16777216.0,
    67108864.0,
    268435456.0,
];
const LARGER_SIZES: &[f64] = &[1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0];
const COUNTS: &[f64] = &[0.0, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1e3, 2.5e3, 5e3, 1e4];
const RATIOS: &[f64] =
    &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0];
const PERCENTS: &[f64] = &[
    -50.0, -20.0, -10.0, -5.0, -1.0, 0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0,
    200.0,
];
const RATES: &[f64] =
    &[0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1e3, 2.5e3, 5e3, 1e4, 2.5e4, 5e4, 1e5];

/// Bounds that separate the usual values of a unit.
pub const fn bounds(unit: Unit) -> &'static [f64] {
    match unit {
        Unit::Ns => NANOS,
        Unit::Ms | Unit::MsPerImage => MILLIS,
        Unit::Sec => SECONDS,
        Unit::Bytes => BYTES,
        Unit::KiloBytes | Unit::MegaBytes => LARGER_SIZES,
        Unit::Tokens => TOKENS,
        Unit::Requests | Unit::Images | Unit::Count => COUNTS,
        Unit::Ratio => RATIOS,
        Unit::Percent => PERCENTS,
        Unit::RequestsPerSec
        | Unit::TokensPerSec
        | Unit::TokensPerSecPerUser
        | Unit::ImagesPerSec
        | Unit::Watts
        | Unit::Joules
        | Unit::TokensPerJoule
        | Unit::JoulesPerUser
        | Unit::JoulesPerRequest
        | Unit::MillijoulesPerToken
        | Unit::JouleSeconds
        | Unit::RequestsPerSecPerWatt
        | Unit::TokensPerSecPerWatt
        | Unit::GoodRequestsPerSecPerWatt => RATES,
    }
}

impl Instrument {
    /// How a metric is exported as a histogram; `None` for metrics that single records do not have, and for instants,
    /// for which a histogram has no meaning.
    pub fn of(metric: &Metric) -> Option<Self> {
        let is_of_records =
            matches!(metric.compute, Compute::Ints(_) | Compute::Floats(_) | Compute::Gaps | Compute::Fold(..));
        if !is_of_records || metric.tag.ends_with("_timestamp") {
            return None;
        }
        Some(match CONVENTIONS.iter().find(|convention| convention.tag == metric.tag) {
            Some(Convention { name, unit, per_unit, token_type, bounds, .. }) => Self {
                name: (*name).into(),
                unit,
                description: format!("GenAI semconv metric: {name}").into(),
                is_convention: true,
                token_type: *token_type,
                bounds: (*bounds).into(),
                per_unit: *per_unit,
            },
            None => Self {
                name: format!("aiperf.{}", metric.tag).into(),
                unit: metric.unit.name(),
                description: format!("AIPerf streaming metric: {}", metric.tag).into(),
                is_convention: false,
                token_type: None,
                bounds: bounds(metric.unit).into(),
                per_unit: 1.0,
            },
        })
    }

    /// Bounds in the base unit of the metric.
    pub(crate) fn base_bounds(&self) -> Vec<f64> {
        self.bounds
            .iter()
            .map(|bound| if self.per_unit == 1.0 { *bound } else { (bound * self.per_unit).round() })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_bound_is_larger_than_the_one_before() {
        for instrument in registry::all().iter().copied().filter_map(Instrument::of) {
            assert!(instrument.bounds.is_sorted_by(|one, two| one < two), "{instrument:?}");
            assert!(instrument.base_bounds().is_sorted_by(|one, two| one < two), "{instrument:?}");
        }
    }

    #[test]
    fn instants_and_metrics_of_whole_runs_have_no_histogram() {
        for tag in ["min_request_timestamp", "max_response_timestamp", "benchmark_duration", "request_throughput"] {
            assert_eq!(Instrument::of(registry::find(tag).unwrap()), None, "{tag}");
        }
    }

    #[test]
    fn every_name_of_the_conventions_has_a_metric() {
        for Convention { tag, name, .. } in CONVENTIONS {
            assert_eq!(&*Instrument::of(registry::find(tag).unwrap()).unwrap().name, *name);
        }
    }
}
