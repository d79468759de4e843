//! The statistics of a series by name, for every file and table.

use aiperf_observe::SeriesStats;

/// A statistic: counts are integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

pub(crate) const GAUGE: [&str; 13] =
    ["avg", "min", "max", "std", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"];
pub(crate) const COUNTER: [&str; 6] = ["total", "rate", "rate_avg", "rate_min", "rate_max", "rate_std"];
const HISTOGRAM: [&str; 5] = ["count", "sum", "avg", "count_rate", "sum_rate"];
pub(crate) const ESTIMATES: [&str; 9] = [
    "p1_estimate",
    "p5_estimate",
    "p10_estimate",
    "p25_estimate",
    "p50_estimate",
    "p75_estimate",
    "p90_estimate",
    "p95_estimate",
    "p99_estimate",
];

/// The statistics that a series has, by name, in the order of the JSON file.
pub(crate) fn statistics(stats: &SeriesStats) -> Vec<(&'static str, Number)> {
    let float = |value: f64| Some(Number::Float(value));
    let values: Vec<Option<Number>> = match stats {
        SeriesStats::Gauge(gauge) => {
            let four = [gauge.avg, gauge.min, gauge.max, gauge.std];
            four.into_iter().chain(gauge.percentiles).map(float).collect()
        }
        SeriesStats::Counter(counter) => {
            let rates = counter.rates.map_or([None; 4], |rates| rates.map(float));
            [float(counter.total), float(counter.rate)].into_iter().chain(rates).collect()
        }
        SeriesStats::Histogram(histogram) => {
            let four = [histogram.sum, histogram.avg, histogram.count_rate, histogram.sum_rate];
            let estimates = histogram.percentile_estimates.map_or([None; 9], |values| values.map(float));
            let four = four.map(|value| value.map(Number::Float));
            std::iter::once(Some(Number::Int(histogram.count))).chain(four).chain(estimates).collect()
        }
    };
    let names = match stats {
        SeriesStats::Gauge(_) => GAUGE.to_vec(),
        SeriesStats::Counter(_) => COUNTER.to_vec(),
        SeriesStats::Histogram(_) => [HISTOGRAM.as_slice(), ESTIMATES.as_slice()].concat(),
    };
    names.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect()
}

/// One statistic of a series.
pub(crate) fn statistic(stats: &SeriesStats, name: &str) -> Option<Number> {
    statistics(stats).into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}
