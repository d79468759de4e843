//! How sure the statistics of a phase are: the intervals that contain their true values.

use crate::facts::Fact;
use crate::phase::accumulator::Accumulator;
use crate::phase::main_metrics::{MAIN_METRICS, MAIN_STATISTICS};
use crate::phase::summary::MetricIntervals;
use crate::run::{Chosen, Metrics};
use aiperf_statistics::{Interval, Series};

/// The share of runs whose interval contains the true value.
pub const CONFIDENCE_LEVEL: f64 = 0.95;
impl Accumulator {
    /// The intervals of every metric that has them. Beside the records, this takes 20 bytes a record.
    pub(crate) fn intervals(&self, metrics: &Metrics) -> Vec<MetricIntervals> {
        let is_main = |tag: &str| MAIN_METRICS.iter().any(|main| main.tag == tag);
        let chosen = metrics.chosen.iter().filter(|chosen| chosen.exported && is_main(chosen.metric.tag));
        let places = self.places_in_time();
        chosen.filter_map(|chosen| self.intervals_of(metrics, chosen, &places)).collect()
    }

    /// The place of each record in the order of starts.
    fn places_in_time(&self) -> Vec<u32> {
        let mut starts: Vec<(u64, u32)> = Vec::with_capacity(self.kept.columns.rows());
        self.kept.columns.each(&[Fact::Start], |row, facts| starts.push((facts.raw(Fact::Start), row as u32)));
        starts.sort_unstable();
        let mut places = vec![0; starts.len()];
        for (place, (_, row)) in starts.into_iter().enumerate() {
            places[row as usize] = place as u32;
        }
        places
    }

    fn intervals_of(&self, metrics: &Metrics, chosen: &Chosen, places: &[u32]) -> Option<MetricIntervals> {
        // A series leaves out what is not a number.
        let mut values = vec![f64::NAN; places.len()];
        self.each_value(metrics, chosen, |row, value| values[places[row] as usize] = value);
        let series = Series::new(values);
        let intervals: Option<Vec<_>> = MAIN_STATISTICS
            .iter()
            .map(|main| Some((main.name, above_zero(series.interval(main.statistic, CONFIDENCE_LEVEL)?))))
            .collect();
        Some(MetricIntervals { tag: chosen.metric.tag, intervals: intervals? })
    }
}

/// No latency is negative, and neither is its mean: an interval of few and very different values may begin below zero.
fn above_zero(interval: Interval) -> Interval {
    let low = if interval.low.is_finite() { interval.low.max(0.0) } else { interval.low };
    Interval { low, ..interval }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::main_metrics::MainStatistic;
    use crate::phase::summary::Context;
    use crate::run::RunTraits;
    use crate::run::record::RecordMetrics;
    use aiperf_types::{ContentMark, EndpointKind, Measured, MonoNs, WallNs};

    const MILLISECOND: u64 = 1_000_000;

    /// Latencies in the order of starts, in milliseconds: busy and idle spells of a hundred requests each.
    fn latency(number: u64) -> u64 {
        10 + number * 7919 % 97 + number / 100 % 2 * 100
    }

    /// Records in another order than that of their starts.
    fn records(metrics: &Metrics, count: u64) -> Accumulator {
        let (mut records, mut computed) = (Accumulator::new(metrics), RecordMetrics::default());
        for at in 0..count {
            let number = at * 7919 % count;
            let (start, end) = (number * MILLISECOND, (number + latency(number)) * MILLISECOND);
            let measured = Measured {
                number,
                start_wall: WallNs(1_760_000_000_000_000_000 + start),
                start: MonoNs(start),
                end: MonoNs(end),
                content: vec![ContentMark { at: MonoNs(end), output: true, reasoning: false }],
                ..Measured::default()
            };
            metrics.record(&measured, &mut computed);
            records.add(&measured, &computed);
        }
        records
    }

    #[test]
    fn intervals_are_those_of_the_values_in_the_order_of_time() {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, false));
        let summary = records(&metrics, 4000).summarise(&metrics, Context::default());
        assert_eq!(summary.intervals.iter().map(|metric| metric.tag).collect::<Vec<_>>(), ["request_latency"]);
        let series = Series::new((0..4000).map(|number| latency(number) as f64).collect());
        for MainStatistic { name, statistic, .. } in MAIN_STATISTICS {
            let interval = summary.interval("request_latency", name).unwrap();
            assert_eq!(*interval, series.interval(statistic, CONFIDENCE_LEVEL).unwrap(), "{name}");
        }
        let mean = summary.interval("request_latency", "avg").unwrap();
        assert!(mean.count == 4000 && mean.effective < 2000.0, "spells are seen: {mean:?}");
    }

    #[test]
    fn a_percentile_of_few_records_is_not_known_well() {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, false));
        let summary = records(&metrics, 60).summarise(&metrics, Context::default());
        let p99 = summary.interval("request_latency", "p99").unwrap();
        assert!(!p99.is_enough && p99.high == f64::INFINITY && p99.count == 60, "{p99:?}");
        assert!(Accumulator::new(&metrics).summarise(&metrics, Context::default()).intervals.is_empty());
    }
}
