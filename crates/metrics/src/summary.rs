//! What the records of a phase, or of a slice of it, come to.

use crate::accumulator::Accumulator;
use crate::curve::{Curve, CurveStats, Window, curve_stats};
use crate::facts::{Fact, Facts};
use crate::flags::Flags;
use crate::live::fold;
use crate::metric::{Compute, ConsoleGroup, Kind, Metric};
use crate::registry::{self, export_rank};
use crate::run::{Chosen, Metrics};
use crate::scope::{Scalar, Scope};
use crate::stats::{self, Distribution, Rank, Stats, float_key};
use aiperf_types::{Nanos, WallNs};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The statistics of one metric, in its display unit.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricResult {
    /// The metric's tag.
    pub tag: Cow<'static, str>,
    /// The metric's header.
    pub header: Cow<'static, str>,
    /// The unit of all statistics but the count.
    pub unit: &'static str,
    /// Where the console shows it.
    pub group: ConsoleGroup,
    /// Its place there.
    pub order: Option<u32>,
    /// Its flags.
    pub flags: Flags,
    /// The statistics.
    pub stats: Stats,
}

impl MetricResult {
    pub(crate) fn new(metric: &'static Metric, stats: Stats) -> Self {
        Self {
            tag: metric.tag.into(),
            header: metric.header.into(),
            unit: metric.display.name(),
            group: metric.group,
            order: metric.order,
            flags: metric.flags,
            stats: stats.scaled(metric.scale()).finite(),
        }
    }
}

/// How exact a summary is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exactness {
    /// Values of list metrics.
    pub list_values: u64,
    /// Percentiles of list metrics come from a histogram, within 0.05%; everything else is exact.
    pub lists_binned: bool,
    /// Curves taken as means over bins of this many nanoseconds; their means are exact.
    pub curves_binned: Vec<(Curve, Nanos)>,
}

/// What a phase, or a slice of it, came to.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The metrics: those that summaries list first, then by display order, then by name.
    pub results: Vec<MetricResult>,
    /// How exact they are.
    pub exactness: Exactness,
    /// Accepted drafts per step, over all records.
    pub spec_decode_histogram: BTreeMap<u32, u64>,
    /// Records, failed ones included.
    pub records: u64,
    /// Failed records.
    pub failed: u64,
}

impl Summary {
    /// A metric by tag.
    pub fn get(&self, tag: &str) -> Option<&MetricResult> {
        self.results.iter().find(|result| result.tag == tag)
    }

    /// The mean, or the single value, of a metric.
    pub fn avg(&self, tag: &str) -> Option<f64> {
        self.get(tag)?.stats.avg
    }

    fn sort(&mut self) {
        self.results.sort_by(|one, other| export_rank(&one.tag, one.order).cmp(&export_rank(&other.tag, other.order)));
    }
}

/// What a summary depends on besides the records.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Context {
    /// The time that curves are taken over: the phase's. From the first to the last event if absent.
    pub window: Option<Window>,
    /// Mean round-trip time of the network in nanoseconds, where it was measured.
    pub network_rtt_ns: Option<f64>,
}

impl From<Window> for Context {
    fn from(window: Window) -> Self {
        Self { window: Some(window), network_rtt_ns: None }
    }
}

/// One slice of time.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Its number from the start of the phase. Slices in which no request started are left out.
    pub index: u64,
    /// Its first instant.
    pub start: WallNs,
    /// Its end, not included.
    pub end: WallNs,
    /// Whether it is as long as the others.
    pub complete: bool,
    /// What the requests that started in it came to.
    pub summary: Summary,
}

/// The values of one scope, by the place of each metric in the registry.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    scalars: Vec<Option<Scalar>>,
    sums: Vec<Option<Scalar>>,
    stats: Vec<Option<Stats>>,
    records: u64,
    failed: u64,
}

impl Tally {
    pub(crate) fn new(records: u64, failed: u64) -> Self {
        let places = registry::all().len();
        Self { scalars: vec![None; places], sums: vec![None; places], stats: vec![None; places], records, failed }
    }

    pub(crate) fn set_distribution(&mut self, place: usize, distribution: Option<Distribution>) {
        if let Some(distribution) = distribution {
            self.stats[place] = Some(distribution.stats);
            self.sums[place] = Some(distribution.sum);
        }
    }

    pub(crate) fn set_scalar(&mut self, place: usize, scalar: Option<Scalar>) {
        self.scalars[place] = scalar;
    }

    /// Computes totals and derived metrics, each as soon as those it needs are there. Rates divide by `window`, or else
    /// by the benchmark's duration.
    pub(crate) fn derive(&mut self, metrics: &Metrics, window: Option<Nanos>) {
        for chosen in &metrics.chosen {
            match chosen.metric.compute {
                Compute::Total(base) => {
                    self.scalars[chosen.place] = registry::place(base).and_then(|base| self.sums[base]);
                }
                // None of them could be judged, so none was good.
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
            if let Some(mut stats) = self.stats[chosen.place].or(single) {
                if matches!(chosen.metric.kind(), Kind::Aggregate(_) | Kind::Derived) {
                    stats.count = None;
                }
                summary.results.push(MetricResult::new(chosen.metric, stats));
            }
        }
        summary.sort();
        summary
    }
}

/// Which records make up which scope.
struct Scopes {
    /// The scope of each record; `None` puts all of them into one.
    of_row: Option<Vec<u32>>,
    records: Vec<u64>,
    failed: Vec<u64>,
}

impl Scopes {
    fn of(&self, row: usize) -> usize {
        self.of_row.as_ref().map_or(0, |of_row| of_row[row] as usize)
    }

    fn count(&self) -> usize {
        self.records.len()
    }

    fn one(records: &Accumulator) -> Self {
        let mut failed = 0;
        records.columns.each(&[], |_, facts| failed += u64::from(facts.failed()));
        Self { of_row: None, records: vec![records.records()], failed: vec![failed] }
    }
}

impl Accumulator {
    /// What all records came to.
    pub fn summarise(&self, metrics: &Metrics, context: Context) -> Summary {
        let scopes = Scopes::one(self);
        if self.records() == 0 {
            return Summary::default();
        }
        let mut tallies = self.tally(metrics, context, &scopes, |_| true);
        self.set_gaps(metrics, &mut tallies, |_| self.gaps.distribution(), &scopes);
        let window = context.window.map(|window| [window]);
        let (curves, curves_binned) = curve_stats(self, window.as_ref().map(|window| window.as_slice()));
        set_curves(metrics, &mut tallies, &curves);
        let Some(mut tally) = tallies.pop() else { return Summary::default() };
        tally.derive(metrics, None);
        let mut summary = tally.into_summary(metrics);
        summary.spec_decode_histogram = self.spec_decode.clone();
        summary.exactness = Exactness {
            list_values: self.gaps.count(),
            lists_binned: self.gaps.count() > 0 && !self.columns.keeps_gaps(),
            curves_binned,
        };
        summary
    }

    /// What the requests that started in each slice of time came to. The phase's window does not matter here.
    pub fn slices(&self, metrics: &Metrics, length: Nanos, context: Context) -> Vec<Slice> {
        let Some(grid) = self.grid(length) else { return Vec::new() };
        let mut tallies = self.tally(metrics, context, &grid.scopes, |metric| !metric.flags.has(Flags::NO_SLICES));
        let of_slice = |at: usize| self.gaps.slice_distribution(grid.indices[at]);
        self.set_gaps(metrics, &mut tallies, of_slice, &grid.scopes);
        let (curves, curves_binned) = curve_stats(self, Some(&grid.windows));
        set_curves(metrics, &mut tallies, &curves);
        let mut slices = Vec::with_capacity(tallies.len());
        for (at, mut tally) in tallies.into_iter().enumerate() {
            let Window { start, end } = grid.windows[at];
            tally.derive(metrics, Some(Nanos(end.0 - start.0)));
            let mut summary = tally.into_summary(metrics);
            summary.exactness = Exactness {
                list_values: summary.get("inter_chunk_latency").and_then(|result| result.stats.count).unwrap_or(0),
                lists_binned: !self.columns.keeps_gaps(),
                curves_binned: curves_binned.clone(),
            };
            let complete = end.0 - start.0 == length.0;
            slices.push(Slice { index: grid.indices[at], start, end, complete, summary });
        }
        slices
    }

    /// Computes what comes from records one by one.
    fn tally(
        &self,
        metrics: &Metrics,
        context: Context,
        scopes: &Scopes,
        wanted: impl Fn(&Metric) -> bool,
    ) -> Vec<Tally> {
        let mut tallies: Vec<Tally> =
            scopes.records.iter().zip(&scopes.failed).map(|(&records, &failed)| Tally::new(records, failed)).collect();
        for chosen in metrics.chosen.iter().filter(|chosen| wanted(chosen.metric)) {
            let place = chosen.place;
            match chosen.metric.compute {
                Compute::Ints(compute) | Compute::Pass(compute) => {
                    let values = self.gather(chosen, scopes, |facts| compute(facts, &metrics.rules));
                    self.set_record(metrics, context, chosen, &mut tallies, values, stats::ints, |value| value as f64);
                }
                Compute::Floats(compute) => {
                    let keys = self.gather(chosen, scopes, |facts| {
                        compute(facts, &metrics.rules).filter(|value| value.is_finite()).map(float_key)
                    });
                    self.set_record(metrics, context, chosen, &mut tallies, keys, stats::floats, stats::float_of_key);
                }
                Compute::Fold(how, compute) => {
                    let mut folded: Vec<Option<i128>> = vec![None; scopes.count()];
                    self.each_of(chosen, |row, facts| {
                        if let Some(value) = compute(facts, &metrics.rules) {
                            let folded = &mut folded[scopes.of(row)];
                            *folded = Some(fold(how, *folded, i128::from(value)));
                        }
                    });
                    for (tally, folded) in tallies.iter_mut().zip(folded) {
                        tally.set_scalar(place, folded.map(Scalar::Int));
                    }
                }
                Compute::NetworkRtt => {
                    let rtt = context.network_rtt_ns.filter(|rtt| *rtt > 0.0).map(same_everywhere);
                    tallies.iter_mut().for_each(|tally| tally.stats[place] = rtt);
                }
                _ => {}
            }
        }
        tallies
    }

    fn each_of(&self, chosen: &Chosen, mut visit: impl FnMut(usize, &Facts)) {
        let of = chosen.metric.of;
        self.columns.each(&chosen.facts, |row, facts| {
            if of.takes(facts.failed()) {
                visit(row, facts);
            }
        });
    }

    fn gather(&self, chosen: &Chosen, scopes: &Scopes, value: impl Fn(&Facts) -> Option<i64>) -> Vec<Vec<i64>> {
        let mut values = vec![Vec::new(); scopes.count()];
        self.each_of(chosen, |row, facts| values[scopes.of(row)].extend(value(facts)));
        values
    }

    /// Sets a record metric and the metrics made of the same values: its twin with errors, the network's share taken off,
    /// how late a schedule was.
    #[expect(clippy::too_many_arguments, reason = "one caller a kind of number")]
    fn set_record(
        &self,
        metrics: &Metrics,
        context: Context,
        chosen: &Chosen,
        tallies: &mut [Tally],
        values: Vec<Vec<i64>>,
        distribution: impl Fn(&mut [i64], u64) -> Option<Distribution>,
        decode: impl Fn(i64) -> f64,
    ) {
        let twins: Vec<&Chosen> =
            metrics.chosen.iter().filter(|twin| base_of(twin.metric) == Some(chosen.metric.tag)).collect();
        for (tally, mut values) in tallies.iter_mut().zip(values) {
            let adjusts = twins.iter().any(|twin| matches!(twin.metric.compute, Compute::ErrorAdjusted(_)));
            let found = distribution(&mut values, if adjusts { tally.failed } else { 0 });
            for twin in &twins {
                tally.stats[twin.place] = match twin.metric.compute {
                    Compute::ErrorAdjusted(_) => found.as_ref().and_then(|found| found.adjusted),
                    Compute::NetworkAdjusted(_) => context.network_rtt_ns.filter(|rtt| *rtt > 0.0).and_then(|rtt| {
                        let mut less: Vec<i64> =
                            values.iter().map(|&value| float_key((decode(value) - rtt).max(0.0))).collect();
                        stats::floats(&mut less, 0).map(|found| found.stats)
                    }),
                    _ => None,
                };
                if let Compute::ReplayLag(percent) = twin.metric.compute {
                    tally.scalars[twin.place] = replay_lag(&mut values, percent).map(Scalar::Float);
                }
            }
            tally.set_distribution(chosen.place, found);
        }
    }

    /// Sets the list metric: from the gaps themselves while they are kept, else from what was summed up over them.
    fn set_gaps(
        &self,
        metrics: &Metrics,
        tallies: &mut [Tally],
        summed: impl Fn(usize) -> Option<Distribution>,
        scopes: &Scopes,
    ) {
        let Some(chosen) = metrics.chosen.iter().find(|chosen| matches!(chosen.metric.compute, Compute::Gaps)) else {
            return;
        };
        if !self.columns.keeps_gaps() {
            for (at, tally) in tallies.iter_mut().enumerate() {
                tally.set_distribution(chosen.place, summed(at));
            }
            return;
        }
        let mut values: Vec<Vec<i64>> = vec![Vec::new(); scopes.count()];
        if let [only] = values.as_mut_slice() {
            only.reserve_exact(self.gaps.count() as usize);
        }
        self.columns.each_with_gaps(&[], |row, _, gaps| {
            values[scopes.of(row)].extend(gaps.iter().map(|&gap| gap as i64));
        });
        for (tally, mut values) in tallies.iter_mut().zip(values) {
            tally.set_distribution(chosen.place, stats::ints(&mut values, 0));
        }
    }

    fn grid(&self, length: Nanos) -> Option<Grid> {
        let (first, last) = self.attempted_span().filter(|_| length.0 > 0)?;
        let mut at_index: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let index = |facts: &Facts| (facts.raw(Fact::Start) - first.0) / length.0;
        self.columns.each(&[Fact::Start], |_, facts| {
            let (records, failed) = at_index.entry(index(facts)).or_default();
            *records += 1;
            *failed += u64::from(facts.failed());
        });
        let indices: Vec<u64> = at_index.keys().copied().collect();
        let mut of_row = Vec::with_capacity(self.columns.rows());
        self.columns.each(&[Fact::Start], |_, facts| {
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

/// How late requests were at this percentile, in milliseconds, against the one that was earliest on its schedule.
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
                Compute::Effective(curve) => tally.stats[chosen.place] = curves.effective(curve),
                Compute::Active(curve) => tally.stats[chosen.place] = curves.active(curve),
                _ => {}
            }
        }
    }
}
