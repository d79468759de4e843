//! A phase while it is on: running statistics, without sorting.

use crate::facts::{Fact, Facts};
use crate::numbers::histogram::Histogram;
use crate::numbers::scalar::Scalar;
use crate::numbers::stats::{Distribution, Stats};
use crate::phase::summary::{Bound, MetricBounds, Summary, is_live};
use crate::phase::tally::Tally;
use crate::registry::metric::{Compute, Fold};
use crate::run::Metrics;
use crate::run::record::{Number, RecordMetrics};

/// Parts of an octave, as a power of two: percentiles are exact to 0.4%, more than a changing number needs.
const BITS: u32 = 8;

#[derive(Clone, Debug)]
struct Running {
    count: u64,
    ints: i128,
    floats: f64,
    /// The first value. Distances are measured from it: sums of squares of large values would have no precision left
    /// for the deviation.
    origin: f64,
    distances: f64,
    squares: f64,
    min: f64,
    max: f64,
    histogram: Histogram<BITS>,
}

impl Running {
    fn new() -> Self {
        Self {
            count: 0,
            ints: 0,
            floats: 0.0,
            origin: 0.0,
            distances: 0.0,
            squares: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            histogram: Histogram::default(),
        }
    }

    #[inline]
    fn add(&mut self, number: Number) {
        let value = match number {
            Number::Int(value) => {
                self.ints += i128::from(value);
                value as f64
            }
            Number::Float(value) => {
                self.floats += value;
                value
            }
            Number::Gaps => return,
        };
        if self.count == 0 {
            self.origin = value;
        }
        self.count += 1;
        let distance = value - self.origin;
        self.distances += distance;
        self.squares += distance * distance;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.histogram.add(1, value);
    }

    fn merge(&mut self, other: &Self) {
        if self.count == 0 {
            self.origin = other.origin;
        }
        let (shift, count) = (other.origin - self.origin, other.count as f64);
        self.distances += other.distances + count * shift;
        self.squares += other.squares + shift * (2.0 * other.distances + count * shift);
        self.count += other.count;
        self.ints += other.ints;
        self.floats += other.floats;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.histogram.merge(&other.histogram);
    }

    fn sum(&self) -> Scalar {
        if self.floats == 0.0 { Scalar::Int(self.ints) } else { Scalar::Float(self.floats + self.ints as f64) }
    }

    fn distribution(&self) -> Option<Distribution> {
        if self.count == 0 {
            return None;
        }
        let (count, sum) = (self.count as f64, self.sum().as_f64());
        let squares = (self.squares - self.distances * self.distances / count).max(0.0);
        let std = if self.count > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        let mut stats = Stats {
            avg: Some(sum / count),
            min: Some(self.min),
            max: Some(self.max),
            sum: Some(sum),
            std: Some(std),
            count: Some(self.count),
            ..Stats::default()
        };
        stats.set_percentiles(self.histogram.percentiles(self.min, self.max));
        Some(Distribution { stats, sum: self.sum(), adjusted: None })
    }
}

/// The sum of a metric that is not shown live: totals need it.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    count: u64,
    ints: i128,
    floats: f64,
}

impl Total {
    #[inline]
    fn add(&mut self, number: Number) {
        match number {
            Number::Int(value) => self.ints += i128::from(value),
            Number::Float(value) => self.floats += value,
            Number::Gaps => return,
        }
        self.count += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.ints += other.ints;
        self.floats += other.floats;
    }

    fn sum(&self) -> Option<Scalar> {
        let sum =
            if self.floats == 0.0 { Scalar::Int(self.ints) } else { Scalar::Float(self.floats + self.ints as f64) };
        (self.count > 0).then_some(sum)
    }
}

#[derive(Clone, Debug)]
enum Slot {
    Running(Running),
    Total(Total),
    Folded(Fold, Option<i128>),
    Unused,
}

/// Running statistics of a phase. The reader merges those of several threads.
#[derive(Clone, Debug)]
pub struct Live {
    slots: Vec<Slot>,
    records: u64,
    failed: u64,
    widths: Widths,
}

/// How much earlier events may have arrived than reported, because this client read them late or without a stamp. Sums
/// in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Widths {
    first: u128,
    last: u128,
    /// Both, divided by the tokens after the first.
    first_by_token: f64,
    last_by_token: f64,
}

impl Widths {
    #[inline]
    fn add(&mut self, facts: &Facts) {
        let causes = facts.get(Fact::WidthCauses).unwrap_or(0);
        if causes == 0 || facts.failed() {
            return;
        }
        let width = |fact, bits| facts.get(fact).filter(|_| causes & bits != 0).unwrap_or(0);
        let first = width(Fact::FirstWidth, Facts::FIRST_LATE | Facts::FIRST_UNSTAMPED);
        let last = width(Fact::LastWidth, Facts::LAST_LATE | Facts::LAST_UNSTAMPED);
        let tokens = facts.get(Fact::Output).unwrap_or(0) + facts.get(Fact::Reasoning).unwrap_or(0);
        self.first += u128::from(first);
        self.last += u128::from(last);
        let divisor = tokens.saturating_sub(1).max(1) as f64;
        self.first_by_token += first as f64 / divisor;
        self.last_by_token += last as f64 / divisor;
    }

    fn merge(&mut self, other: &Self) {
        self.first += other.first;
        self.last += other.last;
        self.first_by_token += other.first_by_token;
        self.last_by_token += other.last_by_token;
    }
}

type WidthSum = fn(&Widths) -> f64;

/// The metrics with bounds, and the sum of the widths that move each.
const BOUNDED: [(&str, WidthSum); 3] = [
    ("time_to_first_token", |widths| widths.first as f64),
    ("inter_token_latency", |widths| widths.first_by_token.max(widths.last_by_token)),
    ("request_latency", |widths| widths.last as f64),
];

impl Live {
    pub(crate) fn new(metrics: &Metrics) -> Self {
        let slots = metrics
            .chosen
            .iter()
            .map(|chosen| match chosen.metric.compute {
                Compute::Ints(_) | Compute::Floats(_) if is_live(chosen.metric.group, chosen.metric.flags) => {
                    Slot::Running(Running::new())
                }
                Compute::Ints(_) | Compute::Floats(_) => Slot::Total(Total::default()),
                Compute::Fold(fold, _) => Slot::Folded(fold, None),
                _ => Slot::Unused,
            })
            .collect();
        Self { slots, records: 0, failed: 0, widths: Widths::default() }
    }

    pub(crate) fn add(&mut self, record: &RecordMetrics) {
        self.records += 1;
        self.failed += u64::from(record.facts.failed());
        self.widths.add(&record.facts);
        for entry in &record.entries {
            match (&mut self.slots[entry.chosen], entry.number) {
                (Slot::Running(running), number) => running.add(number),
                (Slot::Total(total), number) => total.add(number),
                (Slot::Folded(how, folded), Number::Int(value)) => {
                    *folded = Some(fold(*how, *folded, i128::from(value)));
                }
                _ => {}
            }
        }
    }

    /// Adds the statistics of another thread for the same phase.
    pub fn merge(&mut self, other: &Self) {
        self.records += other.records;
        self.failed += other.failed;
        self.widths.merge(&other.widths);
        for (own, others) in self.slots.iter_mut().zip(&other.slots) {
            match (own, others) {
                (Slot::Running(own), Slot::Running(others)) => own.merge(others),
                (Slot::Total(own), Slot::Total(others)) => own.merge(others),
                (Slot::Folded(how, own), Slot::Folded(_, Some(others))) => *own = Some(fold(*how, *own, *others)),
                _ => {}
            }
        }
    }

    /// Records so far, including failed ones.
    pub fn records(&self) -> u64 {
        self.records
    }

    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// The metrics so far: record metrics with percentiles exact to 0.4%, counts, totals and rates. No curves and no
    /// lists. Of metrics that are not shown live, only what others need.
    pub fn summary(&self, metrics: &Metrics) -> Summary {
        let mut tally = Tally::new(self.records, self.failed);
        for (slot, chosen) in self.slots.iter().zip(&metrics.chosen) {
            match slot {
                Slot::Running(running) => tally.set_distribution(chosen.place, running.distribution()),
                Slot::Total(total) => tally.set_sum(chosen.place, total.sum()),
                Slot::Folded(_, folded) => tally.set_scalar(chosen.place, folded.map(Scalar::Int)),
                Slot::Unused => {}
            }
        }
        tally.derive(metrics, None);
        tally.into_summary(metrics)
    }

    /// The distribution of a record metric, in its display unit: at most `most` ranges from the lowest value to the
    /// highest, each with a start, an end and a count. Empty for a metric that is not shown live.
    pub fn ranges(&self, metrics: &Metrics, tag: &str, most: usize) -> Vec<(f64, f64, u64)> {
        let slot = self.slots.iter().zip(&metrics.chosen).find(|(_, chosen)| chosen.metric.tag == tag);
        let Some((Slot::Running(running), chosen)) = slot else { return Vec::new() };
        let scale = chosen.metric.scale();
        let ranges = running.histogram.ranges(most).into_iter();
        ranges.map(|(start, end, count)| (start * scale, end * scale, count)).collect()
    }

    /// How far the means of the main metrics can be from the truth, as far as this client is the cause.
    pub fn bounds(&self, metrics: &Metrics, summary: &Summary) -> Vec<MetricBounds> {
        let bound = |(tag, sum): (&'static str, WidthSum)| {
            let result = summary.get(tag)?;
            let (value, count) = (result.stats.avg?, result.stats.count.filter(|count| *count > 0)?);
            let scale = metrics.chosen.iter().find(|chosen| chosen.metric.tag == tag)?.metric.scale();
            let ours = sum(&self.widths) * scale / count as f64;
            Some(MetricBounds { tag, bounds: vec![("avg", Bound { value, early: ours, ours, ..Bound::default() })] })
        };
        BOUNDED.into_iter().filter_map(bound).collect()
    }

    pub(crate) fn size(&self) -> usize {
        let running = self.slots.iter().map(|slot| match slot {
            Slot::Running(running) => size_of::<Running>() + running.histogram.size(),
            _ => 0,
        });
        running.sum()
    }
}

pub(crate) fn fold(how: Fold, folded: Option<i128>, value: i128) -> i128 {
    match (how, folded) {
        (_, None) => value,
        (Fold::Sum, Some(folded)) => folded + value,
        (Fold::Min, Some(folded)) => folded.min(value),
        (Fold::Max, Some(folded)) => folded.max(value),
    }
}
