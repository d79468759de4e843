//! From columns of facts to a summary: every metric is computed again, one at a time.

use crate::curves::curve::{CurveStats, Window};
use crate::facts::{Fact, Facts};
use crate::numbers::in_parallel::in_parallel;
use crate::numbers::scalar::Scalar;
use crate::numbers::stats::{Distribution, Encoding, Rank, Ranked, Stats, float_key};
use crate::numbers::two_passes::visited_twice;
use crate::phase::accumulator::Accumulator;
use crate::phase::intervals::has_intervals;
use crate::phase::live::fold;
use crate::phase::summary::{Context, Exactness, MetricIntervals, Slice, Summary};
use crate::phase::tally::Tally;
use crate::registry::flags::Flags;
use crate::registry::metric::{Compute, Metric};
use crate::run::{Chosen, Metrics};
use aiperf_types::{Nanos, WallNs};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Records for which it pays to start another thread.
const ROWS_A_THREAD: usize = 1 << 14;
/// The most values that all threads store together. Each takes 8 bytes, and 16 while its list grows.
const MOST_STORED: usize = 8 << 20;
/// Up to so many records, the intervals of several metrics are computed at once. Those of one take 16 bytes a record.
const MOST_AT_ONCE: usize = 5_000_000;

/// Which records belong to which scope.
struct Scopes {
    /// The scope of each record; `None` means one scope for all.
    of_row: Option<Vec<u32>>,
    records: Vec<u64>,
    failed: Vec<u64>,
}

impl Scopes {
    fn of_row(&self, row: usize) -> usize {
        self.of_row.as_ref().map_or(0, |of_row| of_row[row] as usize)
    }

    fn count(&self) -> usize {
        self.records.len()
    }

    fn one(records: &Accumulator) -> Self {
        let mut failed = 0;
        records.kept.columns.each(&[], |_, facts| failed += u64::from(facts.failed()));
        Self { of_row: None, records: vec![records.records()], failed: vec![failed] }
    }
}

impl Accumulator {
    /// The summary of all records.
    pub fn summarise(&self, metrics: &Metrics, context: Context) -> Summary {
        let scopes = Scopes::one(self);
        if self.records() == 0 {
            return Summary::default();
        }
        let timed: Vec<&Chosen> = metrics.chosen.iter().filter(|chosen| has_intervals(chosen)).collect();
        let (mut tallies, intervals) = self.tally(metrics, context, &scopes, &timed, |_| true);
        self.set_summed_gaps(metrics, &mut tallies, &[self.kept.gaps.distribution()]);
        let curves = self.curves(context);
        set_curves(metrics, &mut tallies, &curves.windows);
        let Some(mut tally) = tallies.pop() else { return Summary::default() };
        tally.derive(metrics, None);
        let mut summary = tally.into_summary(metrics);
        summary.spec_decode_histogram = self.kept.spec_decode.clone();
        summary.intervals = intervals;
        summary.bounds = self.bounds(metrics, &summary, self.threads(context, &scopes));
        summary.exactness = Exactness {
            list_values: self.kept.gaps.count(),
            lists_binned: self.kept.gaps.count() > 0 && !self.kept.columns.keeps_gaps(),
            curves_binned: curves.binned,
            late_in_curves: curves.late,
        };
        summary
    }

    /// The summaries of the requests that started in each slice of time. The phase's window does not matter here.
    /// Records that were swept while they arrived have curves of slices only if [`Metrics::with_slices`] got the same
    /// length.
    pub fn slices(&self, metrics: &Metrics, length: Nanos, context: Context) -> Vec<Slice> {
        let Some(grid) = self.grid(length) else { return Vec::new() };
        let wanted = |metric: &Metric| !metric.flags.has(Flags::NO_SLICES);
        let (mut tallies, _) = self.tally(metrics, context, &grid.scopes, &[], wanted);
        let curves = self.curves_of_slices(&grid.windows, length);
        set_curves(metrics, &mut tallies, &curves.windows);
        self.set_summed_gaps(metrics, &mut tallies, &curves.gaps);
        let mut slices = Vec::with_capacity(tallies.len());
        for (at, mut tally) in tallies.into_iter().enumerate() {
            let Window { start, end } = grid.windows[at];
            tally.derive(metrics, Some(Nanos(end.0 - start.0)));
            let mut summary = tally.into_summary(metrics);
            summary.exactness = Exactness {
                list_values: summary.get("inter_chunk_latency").and_then(|result| result.stats.count).unwrap_or(0),
                lists_binned: !self.kept.columns.keeps_gaps(),
                curves_binned: curves.binned,
                late_in_curves: curves.late,
            };
            let complete = end.0 - start.0 == length.0;
            slices.push(Slice { index: grid.indices[at], start, end, complete, summary });
        }
        slices
    }

    /// Computes the metrics that come from single records, and the intervals of those in `timed`.
    fn tally(
        &self,
        metrics: &Metrics,
        context: Context,
        scopes: &Scopes,
        timed: &[&Chosen],
        wanted: impl Fn(&Metric) -> bool,
    ) -> (Vec<Tally>, Vec<MetricIntervals>) {
        let tally = |(&records, &failed)| Tally::new(records, failed);
        let tallies: Mutex<Vec<Tally>> = Mutex::new(scopes.records.iter().zip(&scopes.failed).map(tally).collect());
        let chosen: Vec<&Chosen> = metrics.chosen.iter().filter(|chosen| wanted(chosen.metric)).collect();
        // Interval tasks come first: they take longest. In a long run there is only one, so that one metric is in memory
        // at a time.
        let metrics_a_task = if self.kept.columns.rows() > MOST_AT_ONCE { timed.len().max(1) } else { 1 };
        let interval_tasks: Vec<&[&Chosen]> = timed.chunks(metrics_a_task).collect();
        let intervals = in_parallel(
            self.threads(context, scopes),
            interval_tasks.len() + chosen.len(),
            |stored: &mut Vec<Vec<i64>>, at| {
                if let Some(task) = interval_tasks.get(at) {
                    return task.iter().filter_map(|chosen| self.intervals(metrics, chosen)).collect();
                }
                let found = self.found(metrics, context, chosen[at - interval_tasks.len()], scopes, stored);
                let mut tallies = tallies.lock().unwrap_or_else(PoisonError::into_inner);
                for (tally, found) in tallies.iter_mut().zip(found) {
                    found.into_iter().for_each(|(place, outcome)| outcome.set(tally, place));
                }
                Vec::new()
            },
        );
        let intervals = intervals.into_iter().flatten().collect();
        (tallies.into_inner().unwrap_or_else(PoisonError::into_inner), intervals)
    }

    /// The values of a metric, and of the metrics computed from the same values, by scope.
    fn found(
        &self,
        metrics: &Metrics,
        context: Context,
        chosen: &Chosen,
        scopes: &Scopes,
        stored: &mut Vec<Vec<i64>>,
    ) -> Vec<Found> {
        let rules = &metrics.rules;
        match chosen.metric.compute {
            Compute::Ints(compute) | Compute::Pass(compute) => {
                let values = Values {
                    records: self,
                    chosen,
                    encoding: Encoding::Int,
                    of: |facts: &Facts| compute(facts, rules),
                };
                values.found(metrics, context, scopes, stored)
            }
            Compute::Floats(compute) => {
                let of = |facts: &Facts| compute(facts, rules).filter(|value| value.is_finite()).map(float_key);
                Values { records: self, chosen, encoding: Encoding::Float, of }.found(metrics, context, scopes, stored)
            }
            Compute::Gaps => self.gaps(chosen, scopes),
            Compute::Fold(how, compute) => {
                let mut folded: Vec<Option<i128>> = vec![None; scopes.count()];
                self.each_of(chosen, |row, facts| {
                    if let Some(value) = compute(facts, rules) {
                        let folded = &mut folded[scopes.of_row(row)];
                        *folded = Some(fold(how, *folded, i128::from(value)));
                    }
                });
                let found = |folded: Option<i128>| vec![(chosen.place, Outcome::Scalar(folded.map(Scalar::Int)))];
                folded.into_iter().map(found).collect()
            }
            Compute::NetworkRtt => {
                let rtt = context.network_rtt_ns.filter(|rtt| *rtt > 0.0).map(same_everywhere);
                vec![vec![(chosen.place, Outcome::Stats(rtt))]; scopes.count()]
            }
            _ => Vec::new(),
        }
    }

    /// How many threads pay, and may be used. If there are slices, each of them stores the values of a metric.
    fn threads(&self, context: Context, scopes: &Scopes) -> usize {
        let rows = self.kept.columns.rows();
        let most = if scopes.of_row.is_none() { usize::MAX } else { MOST_STORED / rows.max(1) };
        context.threads.min(rows / ROWS_A_THREAD).min(most).max(1)
    }

    /// Whether each of these threads may keep the values of a metric between two passes.
    pub(crate) fn keeps_values(&self, threads: usize) -> bool {
        self.kept.columns.rows() * threads <= MOST_STORED / 2
    }

    fn each_of(&self, chosen: &Chosen, mut visit: impl FnMut(usize, &Facts)) {
        let population = chosen.metric.population;
        self.kept.columns.each(&chosen.facts, |row, facts| {
            if population.takes(facts.failed()) {
                visit(row, facts);
            }
        });
    }

    /// The list metric, from the gaps if they are stored.
    fn gaps(&self, chosen: &Chosen, scopes: &Scopes) -> Vec<Found> {
        let columns = &self.kept.columns;
        if !columns.keeps_gaps() {
            return Vec::new();
        }
        let found = |ranked: Option<Ranked>| {
            let distribution = ranked.map(|ranked| ranked.distribution);
            vec![(chosen.place, Outcome::Distribution(distribution))]
        };
        if scopes.of_row.is_none() {
            let ranked = visited_twice(Encoding::Int, 0, None, |pass| {
                columns.each_with_gaps(&[], |_, _, gaps| gaps.iter().for_each(|&gap| pass.add(gap as i64)));
            });
            return vec![found(ranked)];
        }
        let mut values: Vec<Vec<i64>> = vec![Vec::new(); scopes.count()];
        columns.each_with_gaps(&[], |row, _, gaps| {
            values[scopes.of_row(row)].extend(gaps.iter().map(|&gap| gap as i64));
        });
        values.into_iter().map(|mut values| found(Encoding::Int.ranked(&mut values, 0))).collect()
    }

    /// Sets the list metric from the sums of gaps, if the gaps are not stored.
    fn set_summed_gaps(&self, metrics: &Metrics, tallies: &mut [Tally], summed: &[Option<Distribution>]) {
        let chosen = metrics.chosen.iter().find(|chosen| matches!(chosen.metric.compute, Compute::Gaps));
        if let Some(chosen) = chosen.filter(|_| !self.kept.columns.keeps_gaps()) {
            for (tally, summed) in tallies.iter_mut().zip(summed) {
                tally.set_distribution(chosen.place, summed.clone());
            }
        }
    }

    fn grid(&self, length: Nanos) -> Option<Grid> {
        let (first, last) = self.attempted_span().filter(|_| length.0 > 0)?;
        // The start of the sweep's slices: the sweep may have begun without the first request, if that arrived too
        // late.
        let swept = self.sweep.as_ref().and_then(|sweep| sweep.slice_start(first, length));
        let first = swept.unwrap_or(first);
        let mut at_index: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let index = |facts: &Facts| (facts.raw(Fact::Start) - first.0) / length.0;
        self.kept.columns.each(&[Fact::Start], |_, facts| {
            let (records, failed) = at_index.entry(index(facts)).or_default();
            *records += 1;
            *failed += u64::from(facts.failed());
        });
        let indices: Vec<u64> = at_index.keys().copied().collect();
        let mut of_row = Vec::with_capacity(self.kept.columns.rows());
        self.kept.columns.each(&[Fact::Start], |_, facts| {
            of_row.push(indices.partition_point(|&known| known < index(facts)) as u32);
        });
        let windows = indices
            .iter()
            .map(|index| {
                let start = first.0 + index * length.0;
                Window { start: WallNs(start), end: WallNs((start + length.0).min(last.0)) }
            })
            .collect();
        let (records, failed) = at_index.into_values().unzip();
        Some(Grid { indices, windows, scopes: Scopes { of_row: Some(of_row), records, failed } })
    }
}

/// The results of one scope, by the index of the metric.
type Found = Vec<(usize, Outcome)>;

#[expect(clippy::large_enum_variant, reason = "most are of the largest kind")]
#[derive(Clone)]
enum Outcome {
    Distribution(Option<Distribution>),
    Stats(Option<Stats>),
    Scalar(Option<Scalar>),
}

impl Outcome {
    fn set(self, tally: &mut Tally, place: usize) {
        match self {
            Self::Distribution(distribution) => tally.set_distribution(place, distribution),
            Self::Stats(stats) => tally.set_stats(place, stats),
            Self::Scalar(scalar) => tally.set_scalar(place, scalar),
        }
    }
}

/// The values of a record metric.
struct Values<'a, F> {
    records: &'a Accumulator,
    chosen: &'a Chosen,
    encoding: Encoding,
    of: F,
}

impl<F: Fn(&Facts) -> Option<i64>> Values<'_, F> {
    /// The metric, and those computed from the same values: error-adjusted, network-adjusted, schedule lag. The values
    /// of a single scope are visited twice. Those of several are stored.
    fn found(&self, metrics: &Metrics, context: Context, scopes: &Scopes, stored: &mut Vec<Vec<i64>>) -> Vec<Found> {
        let &Self { chosen, encoding, .. } = self;
        let twins: Vec<&Chosen> =
            metrics.chosen.iter().filter(|twin| base_of(twin.metric) == Some(chosen.metric.tag)).collect();
        let is_adjusted = twins.iter().any(|twin| matches!(twin.metric.compute, Compute::NetworkAdjusted(_)));
        let rtt = context.network_rtt_ns.filter(|rtt| is_adjusted && *rtt > 0.0);
        let less = |value: i64, rtt: f64| float_key((encoding.decode(value) - rtt).max(0.0));
        if scopes.of_row.is_none() {
            stored.resize_with(1, Vec::new);
            let keeps = self.records.keeps_values(self.records.threads(context, scopes));
            let kept = stored.first_mut().filter(|_| keeps);
            let ranked = visited_twice(encoding, scopes.failed[0], kept, |pass| {
                self.each_run(|value, times| pass.add_repeated(value, times));
            });
            let adjusted = rtt.and_then(|rtt| {
                visited_twice(Encoding::Float, 0, None, |pass| {
                    self.each_run(|value, times| pass.add_repeated(less(value, rtt), times));
                })
            });
            return vec![with_twins(chosen, ranked, adjusted, &twins)];
        }
        // The same buffers for all metrics: new ones cost a page fault every 512 values.
        stored.resize_with(scopes.count(), Vec::new);
        stored.iter_mut().for_each(Vec::clear);
        self.each(|row, value| stored[scopes.of_row(row)].push(value));
        let found = |(values, &failed): (&mut Vec<i64>, &u64)| {
            let ranked = encoding.ranked(values, failed);
            let adjusted = rtt.and_then(|rtt| {
                let mut values: Vec<i64> = values.iter().map(|&value| less(value, rtt)).collect();
                Encoding::Float.ranked(&mut values, 0)
            });
            with_twins(chosen, ranked, adjusted, &twins)
        };
        stored.iter_mut().zip(&scopes.failed).map(found).collect()
    }

    /// The values in order, each with how often it occurs in a row.
    fn each_run(&self, mut visit: impl FnMut(i64, usize)) {
        let population = self.chosen.metric.population;
        self.records.kept.columns.each_run(&self.chosen.facts, |times, facts| {
            if population.takes(facts.failed())
                && let Some(value) = (self.of)(facts)
            {
                visit(value, times);
            }
        });
    }

    fn each(&self, mut visit: impl FnMut(usize, i64)) {
        self.records.each_of(self.chosen, |row, facts| {
            if let Some(value) = (self.of)(facts) {
                visit(row, value);
            }
        });
    }
}

/// A metric and those computed from the same values. `adjusted`: its statistics without the network.
fn with_twins(chosen: &Chosen, ranked: Option<Ranked>, adjusted: Option<Ranked>, twins: &[&Chosen]) -> Found {
    let twin = |twin: &&Chosen| {
        let outcome = match twin.metric.compute {
            Compute::ErrorAdjusted(_) => {
                Outcome::Stats(ranked.as_ref().and_then(|ranked| ranked.distribution.adjusted))
            }
            Compute::NetworkAdjusted(_) => {
                Outcome::Stats(adjusted.as_ref().map(|adjusted| adjusted.distribution.stats))
            }
            Compute::ReplayLag(percent) => {
                let lag = ranked.as_ref().and_then(|ranked| replay_lag(ranked, percent));
                Outcome::Scalar(lag.map(Scalar::Float))
            }
            _ => return None,
        };
        Some((twin.place, outcome))
    };
    let mut found: Found = twins.iter().filter_map(twin).collect();
    found.push((chosen.place, Outcome::Distribution(ranked.map(|ranked| ranked.distribution))));
    found
}

/// Slices in which a request started.
struct Grid {
    indices: Vec<u64>,
    windows: Vec<Window>,
    scopes: Scopes,
}

fn base_of(metric: &Metric) -> Option<&'static str> {
    match metric.compute {
        Compute::ErrorAdjusted(base) | Compute::NetworkAdjusted(base) => Some(base),
        Compute::ReplayLag(_) => Some("replay_send_schedule_offset"),
        _ => None,
    }
}

/// The lag of requests at this percentile, in milliseconds, relative to the earliest one on its schedule.
fn replay_lag(offsets: &Ranked, percent: u8) -> Option<f64> {
    let rank = Rank::linear(percent, offsets.distribution.stats.count?);
    let lag = |at: usize| (offsets.at(at) - offsets.min) as f64;
    Some(rank.between(lag(rank.low), lag(rank.high)) / 1e6)
}

fn same_everywhere(value: f64) -> Stats {
    let mut stats = Stats {
        avg: Some(value),
        min: Some(value),
        max: Some(value),
        sum: Some(value),
        std: Some(0.0),
        ..Stats::default()
    };
    stats.set_percentiles([Some(value); 9]);
    stats
}

fn set_curves(metrics: &Metrics, tallies: &mut [Tally], curves: &[CurveStats]) {
    for chosen in &metrics.chosen {
        for (tally, curves) in tallies.iter_mut().zip(curves) {
            match chosen.metric.compute {
                Compute::Effective(curve) => tally.set_stats(chosen.place, curves.effective(curve)),
                Compute::Active(curve) => tally.set_stats(chosen.place, curves.active(curve)),
                _ => {}
            }
        }
    }
}
