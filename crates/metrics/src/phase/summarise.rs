//! From columns of facts to a summary: every metric is computed again, one at a time.

use crate::curves::curve::{CurveStats, Window};
use crate::facts::{Fact, Facts};
use crate::numbers::scalar::Scalar;
use crate::numbers::stats::{Distribution, Encoding, Rank, Stats, float_key};
use crate::phase::accumulator::Accumulator;
use crate::phase::live::fold;
use crate::phase::summary::{Context, Exactness, Slice, Summary};
use crate::phase::tally::Tally;
use crate::registry::flags::Flags;
use crate::registry::metric::{Compute, Metric};
use crate::run::{Chosen, Metrics};
use aiperf_types::{Nanos, WallNs};
use std::collections::BTreeMap;

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
        let mut tallies = self.tally(metrics, context, &scopes, |_| true);
        self.set_gaps(metrics, &mut tallies, &[self.kept.gaps.distribution()], &scopes);
        let curves = self.curves(context.window);
        set_curves(metrics, &mut tallies, &curves.windows);
        let Some(mut tally) = tallies.pop() else { return Summary::default() };
        tally.derive(metrics, None);
        let mut summary = tally.into_summary(metrics);
        summary.spec_decode_histogram = self.kept.spec_decode.clone();
        summary.intervals = self.intervals(metrics);
        summary.bounds = self.bounds(metrics, &summary);
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
        let mut tallies = self.tally(metrics, context, &grid.scopes, |metric| !metric.flags.has(Flags::NO_SLICES));
        let curves = self.curves_of_slices(&grid.windows, length);
        set_curves(metrics, &mut tallies, &curves.windows);
        self.set_gaps(metrics, &mut tallies, &curves.gaps, &grid.scopes);
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

    /// Computes the metrics that come from single records.
    fn tally(
        &self,
        metrics: &Metrics,
        context: Context,
        scopes: &Scopes,
        wanted: impl Fn(&Metric) -> bool,
    ) -> Vec<Tally> {
        let mut tallies: Vec<Tally> =
            scopes.records.iter().zip(&scopes.failed).map(|(&records, &failed)| Tally::new(records, failed)).collect();
        // One set of buffers for all metrics: new ones cost a page fault every 512 values.
        let mut values: Vec<Vec<i64>> = vec![Vec::new(); scopes.count()];
        for chosen in metrics.chosen.iter().filter(|chosen| wanted(chosen.metric)) {
            let place = chosen.place;
            match chosen.metric.compute {
                Compute::Ints(compute) | Compute::Pass(compute) => {
                    self.gather(chosen, scopes, &mut values, |facts| compute(facts, &metrics.rules));
                    set_record(metrics, context, chosen, &mut tallies, &mut values, Encoding::Int);
                }
                Compute::Floats(compute) => {
                    self.gather(chosen, scopes, &mut values, |facts| {
                        compute(facts, &metrics.rules).filter(|value| value.is_finite()).map(float_key)
                    });
                    set_record(metrics, context, chosen, &mut tallies, &mut values, Encoding::Float);
                }
                Compute::Fold(how, compute) => {
                    let mut folded: Vec<Option<i128>> = vec![None; scopes.count()];
                    self.each_of(chosen, |row, facts| {
                        if let Some(value) = compute(facts, &metrics.rules) {
                            let folded = &mut folded[scopes.of_row(row)];
                            *folded = Some(fold(how, *folded, i128::from(value)));
                        }
                    });
                    for (tally, folded) in tallies.iter_mut().zip(folded) {
                        tally.set_scalar(place, folded.map(Scalar::Int));
                    }
                }
                Compute::NetworkRtt => {
                    let rtt = context.network_rtt_ns.filter(|rtt| *rtt > 0.0).map(same_everywhere);
                    tallies.iter_mut().for_each(|tally| tally.set_stats(place, rtt));
                }
                _ => {}
            }
        }
        tallies
    }

    fn each_of(&self, chosen: &Chosen, mut visit: impl FnMut(usize, &Facts)) {
        let population = chosen.metric.population;
        self.kept.columns.each(&chosen.facts, |row, facts| {
            if population.takes(facts.failed()) {
                visit(row, facts);
            }
        });
    }

    fn gather(&self, chosen: &Chosen, scopes: &Scopes, values: &mut [Vec<i64>], value: impl Fn(&Facts) -> Option<i64>) {
        values.iter_mut().for_each(Vec::clear);
        self.each_of(chosen, |row, facts| values[scopes.of_row(row)].extend(value(facts)));
    }

    /// Sets the list metric: from the gaps if they are stored, or else from their sums.
    fn set_gaps(&self, metrics: &Metrics, tallies: &mut [Tally], summed: &[Option<Distribution>], scopes: &Scopes) {
        let Some(chosen) = metrics.chosen.iter().find(|chosen| matches!(chosen.metric.compute, Compute::Gaps)) else {
            return;
        };
        if !self.kept.columns.keeps_gaps() {
            for (tally, summed) in tallies.iter_mut().zip(summed) {
                tally.set_distribution(chosen.place, summed.clone());
            }
            return;
        }
        let mut values: Vec<Vec<i64>> = vec![Vec::new(); scopes.count()];
        if let [only] = values.as_mut_slice() {
            only.reserve_exact(self.kept.gaps.count() as usize);
        }
        self.kept.columns.each_with_gaps(&[], |row, _, gaps| {
            values[scopes.of_row(row)].extend(gaps.iter().map(|&gap| gap as i64));
        });
        for (tally, mut values) in tallies.iter_mut().zip(values) {
            tally.set_distribution(chosen.place, Encoding::Int.distribution(&mut values, 0));
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

/// Sets a record metric and the metrics computed from the same values: error-adjusted, network-adjusted, schedule lag.
fn set_record(
    metrics: &Metrics,
    context: Context,
    chosen: &Chosen,
    tallies: &mut [Tally],
    values: &mut [Vec<i64>],
    encoding: Encoding,
) {
    let twins: Vec<&Chosen> =
        metrics.chosen.iter().filter(|twin| base_of(twin.metric) == Some(chosen.metric.tag)).collect();
    let rtt = context.network_rtt_ns.filter(|rtt| *rtt > 0.0);
    for (tally, values) in tallies.iter_mut().zip(values) {
        let found = encoding.distribution(values, tally.failed);
        for twin in &twins {
            match twin.metric.compute {
                Compute::ErrorAdjusted(_) => {
                    tally.set_stats(twin.place, found.as_ref().and_then(|found| found.adjusted));
                }
                Compute::NetworkAdjusted(_) => {
                    let less = rtt.and_then(|rtt| less_network(values, encoding, rtt));
                    tally.set_stats(twin.place, less);
                }
                Compute::ReplayLag(percent) => {
                    tally.set_scalar(twin.place, replay_lag(values, percent).map(Scalar::Float));
                }
                _ => {}
            }
        }
        tally.set_distribution(chosen.place, found);
    }
}

fn less_network(values: &[i64], encoding: Encoding, rtt: f64) -> Option<Stats> {
    let mut less: Vec<i64> = values.iter().map(|&value| float_key((encoding.decode(value) - rtt).max(0.0))).collect();
    Encoding::Float.distribution(&mut less, 0).map(|found| found.stats)
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
fn replay_lag(offsets: &mut [i64], percent: u8) -> Option<f64> {
    offsets.sort_unstable();
    let earliest = *offsets.first()?;
    let rank = Rank::linear(percent, offsets.len() as u64);
    let lag = |at: usize| (offsets[at] - earliest) as f64;
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
