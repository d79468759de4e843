//! A phase while it is on: running statistics, without sorting.

use crate::numbers::histogram::Histogram;
use crate::numbers::scalar::Scalar;
use crate::numbers::stats::{Distribution, Stats};
use crate::phase::main_metrics::{Cause, MAIN_METRICS, MainMetric, Widths};
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
    moved: Vec<Moved>,
}

/// A main metric with how far its mean can be from the truth because this client read late or without a stamp. Sums in
/// the base unit.
#[derive(Clone, Copy, Debug)]
struct Moved {
    metric: MainMetric,
    /// Its index among the metrics of the run.
    chosen: usize,
    earlier: f64,
    later: f64,
}

impl Moved {
    fn all(metrics: &Metrics) -> Vec<Self> {
        let place = |tag| metrics.chosen.iter().position(|chosen| chosen.metric.tag == tag);
        let of = |metric: MainMetric| Some(Self { metric, chosen: place(metric.tag)?, earlier: 0.0, later: 0.0 });
        MAIN_METRICS.into_iter().filter_map(of).collect()
    }

    fn add(&mut self, record: &RecordMetrics, widths: &Widths) {
        let entry = record.entries.iter().find(|entry| entry.chosen == self.chosen);
        let value = match entry.map(|entry| entry.number) {
            Some(Number::Int(value)) => value as f64,
            Some(Number::Float(value)) => value,
            Some(Number::Gaps) | None => return,
        };
        self.earlier += (self.metric.earlier)(widths, value);
        self.later += (self.metric.later)(widths);
    }
}

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
        Self { slots, records: 0, failed: 0, moved: Moved::all(metrics) }
    }

    pub(crate) fn add(&mut self, record: &RecordMetrics) {
        self.records += 1;
        self.failed += u64::from(record.facts.failed());
        if !record.facts.failed()
            && let Some(widths) = Widths::of(&record.facts, Cause::Ours, 1.0)
        {
            self.moved.iter_mut().for_each(|moved| moved.add(record, &widths));
        }
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
        for (own, others) in self.moved.iter_mut().zip(&other.moved) {
            own.earlier += others.earlier;
            own.later += others.later;
        }
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
        let bound = |moved: &Moved| {
            let tag = moved.metric.tag;
            let stats = summary.get(tag)?.stats;
            let (value, count) = (stats.avg?, stats.count.filter(|count| *count > 0)? as f64);
            let scale = metrics.chosen[moved.chosen].metric.scale();
            let (early, late) = (moved.earlier * scale / count, moved.later * scale / count);
            let bound = Bound { value, early, late, ours: early.max(late), ..Bound::default() };
            Some(MetricBounds { tag, bounds: vec![("avg", bound)] })
        };
        self.moved.iter().filter_map(bound).collect()
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
