//! How sure the statistics of a phase are: the intervals that contain their true values.

use crate::facts::Fact;
use crate::facts::columns::BatchReader;
use crate::phase::accumulator::Accumulator;
use crate::phase::main_metrics::{MAIN_METRICS, MAIN_STATISTICS};
use crate::phase::summary::MetricIntervals;
use crate::phase::values::value_of;
use crate::run::{Chosen, Metrics};
use aiperf_statistics::{Interval, Series};

/// The share of runs whose interval contains the true value.
pub const CONFIDENCE_LEVEL: f64 = 0.95;

/// Values that wait for earlier ones before they are sorted for the first time.
const FEW: usize = 1 << 16;

impl Accumulator {
    /// The intervals of a metric, if it has any. Beside the records, this takes 16 bytes a record.
    pub(crate) fn intervals(&self, metrics: &Metrics, chosen: &Chosen) -> Option<MetricIntervals> {
        let series = Series::new(self.in_time(metrics, chosen));
        let intervals: Option<Vec<_>> = MAIN_STATISTICS
            .iter()
            .map(|main| Some((main.name, above_zero(series.interval(main.statistic, CONFIDENCE_LEVEL)?))))
            .collect();
        Some(MetricIntervals { tag: chosen.metric.tag, intervals: intervals? })
    }

    /// The values of a metric in the order of starts. Batches are visited in the order of their first starts, so
    /// everything before the next batch's is known.
    fn in_time(&self, metrics: &Metrics, chosen: &Chosen) -> Vec<f64> {
        let mut batches = Vec::new();
        let mut rows = 0;
        for batch in self.kept.columns.batches() {
            batches.push((batch.first_start().unwrap_or(0), rows, batch));
            rows += batch.rows();
        }
        batches.sort_by_key(|(start, ..)| *start);
        let facts: Vec<Fact> = chosen.facts.iter().chain(&[Fact::Start]).copied().collect();
        let (mut reader, mut values) = (BatchReader::new(&facts), Vec::with_capacity(rows));
        let (mut waiting, mut most): (Vec<(u64, usize, f64)>, usize) = (Vec::new(), FEW);
        let next_starts = batches.iter().skip(1).map(|(start, ..)| *start).chain([u64::MAX]);
        for (&(_, first, batch), next_start) in batches.iter().zip(next_starts) {
            let mut row = first;
            reader.each(batch, |facts| {
                let value = value_of(metrics, chosen, facts);
                waiting.extend(value.map(|value| (facts.raw(Fact::Start), row, value)));
                row += 1;
            });
            // Not after each batch: those that wait for a slow request would be sorted again and again.
            if waiting.len() >= most || next_start == u64::MAX {
                waiting.sort_by_key(|(start, row, _)| (*start, *row));
                let known = waiting.partition_point(|(start, ..)| *start < next_start);
                values.extend(waiting.drain(..known).map(|(.., value)| value));
                most = FEW.max(2 * waiting.len());
            }
        }
        values
    }
}

/// Whether a metric has intervals.
pub(crate) fn has_intervals(chosen: &Chosen) -> bool {
    chosen.exported && MAIN_METRICS.iter().any(|main| main.tag == chosen.metric.tag)
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
    use aiperf_types::{ContentMark, EndpointKind, Measured, MonoNs, Nanos, WallNs};

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
    fn the_number_of_threads_changes_nothing() {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
        let records = records(&metrics, 85_000);
        let on = |threads| format!("{:?}", records.summarise(&metrics, Context { threads, ..Context::default() }));
        let slices = |threads| {
            let context = Context { threads, ..Context::default() };
            format!("{:?}", records.slices(&metrics, Nanos(8_000 * MILLISECOND), context))
        };
        assert_eq!(on(1), on(5));
        assert_eq!(slices(1), slices(5));
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
