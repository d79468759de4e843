//! What records measured as histograms, one a metric and set of attributes: for receivers that take no single values.
//!
//! Each record thread has its own; nothing is shared while a run is on. Counts and sums are exact, whatever is merged
//! with what.

use crate::numbers::buckets::Buckets;
use crate::registry::instrument::{DURATION, Instrument};
use crate::run::Metrics;
use crate::run::error_type::ErrorType;
use crate::run::record::{Number, RecordMetrics};
use aiperf_types::{Histogram, HistogramPoint, PhaseId, RecordMeta, RequestError};
use std::sync::Arc;

/// The histograms that a run has.
#[derive(Debug)]
pub struct Instruments {
    list: Vec<Placed>,
    /// By place among the metrics of the run.
    by_metric: Vec<Option<usize>>,
    /// Place of the one that failed requests have too.
    duration: Option<usize>,
}

#[derive(Debug)]
struct Placed {
    instrument: Instrument,
    /// In the base unit of the metric.
    bounds: Vec<f64>,
}

impl Instruments {
    pub fn of(metrics: &Metrics) -> Self {
        let (mut list, mut duration) = (Vec::new(), None);
        let mut place = |metric| {
            let instrument = Instrument::of(metric)?;
            if metric.tag == DURATION {
                duration = Some(list.len());
            }
            list.push(Placed { bounds: instrument.base_bounds(), instrument });
            Some(list.len() - 1)
        };
        let by_metric = metrics.chosen().map(&mut place).collect();
        Self { list, by_metric, duration }
    }
}

/// Histograms of records.
#[derive(Clone, Debug)]
pub struct RecordHistograms {
    instruments: Arc<Instruments>,
    sets: Vec<Set>,
    /// The one that the record before was added to.
    latest: usize,
}

/// Records that are alike.
#[derive(Clone, Debug)]
struct Set {
    key: Key,
    /// By instrument.
    values: Vec<Buckets>,
    /// How long requests took that failed, by how they did.
    failed: Vec<(ErrorType, Buckets)>,
}

#[derive(Clone, Debug)]
struct Key {
    phase: Arc<PhaseId>,
    worker: u16,
    record_thread: u16,
    was_cancelled: bool,
    has_error: bool,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        let plain = |key: &Self| (key.phase.index, key.worker, key.record_thread, key.was_cancelled, key.has_error);
        plain(self) == plain(other)
    }
}

impl RecordHistograms {
    pub fn new(instruments: Arc<Instruments>) -> Self {
        Self { instruments, sets: Vec::new(), latest: 0 }
    }

    /// Adds a record: whose it is, its metrics, and why it failed, with the status of its response.
    pub fn add(&mut self, meta: &RecordMeta, record: &RecordMetrics, error: Option<(&RequestError, Option<u16>)>) {
        let at = self.set_of(meta, error.is_some());
        let Self { instruments, sets, .. } = self;
        let set = &mut sets[at];
        for entry in &record.entries {
            let Some(place) = instruments.by_metric[entry.chosen] else { continue };
            let (buckets, bounds) = (&mut set.values[place], &instruments.list[place].bounds);
            match entry.number {
                Number::Int(value) => buckets.add_int(value, bounds),
                Number::Float(value) => buckets.add_float(value, bounds),
                Number::Gaps => record.gaps.iter().for_each(|gap| buckets.add_int(*gap as i64, bounds)),
            }
        }
        if let Some((error, status)) = error {
            set.add_failed(meta, ErrorType::of(error, status), instruments);
        }
    }

    /// The place of the records that are like this one.
    fn set_of(&mut self, meta: &RecordMeta, has_error: bool) -> usize {
        let RecordMeta { worker, record_thread, was_cancelled, .. } = *meta;
        let is_it = |set: &Set| {
            let key = &set.key;
            (key.worker, key.phase.index, key.has_error, key.was_cancelled, key.record_thread)
                == (worker, meta.phase.index, has_error, was_cancelled, record_thread)
        };
        if !self.sets.get(self.latest).is_some_and(is_it) {
            self.latest = self.sets.iter().position(is_it).unwrap_or_else(|| {
                let key = Key { phase: meta.phase.clone(), worker, record_thread, was_cancelled, has_error };
                self.sets.push(Set::new(key, &self.instruments));
                self.sets.len() - 1
            });
        }
        self.latest
    }

    /// Both together.
    pub fn merge(&mut self, other: &Self) {
        for set in &other.sets {
            match self.sets.iter_mut().find(|own| own.key == set.key) {
                Some(own) => own.merge(set),
                None => self.sets.push(set.clone()),
            }
        }
    }

    /// As they are exported: one a name, with a point for each set of attributes that has values.
    pub fn histograms(&self) -> Vec<Histogram> {
        let mut out: Vec<Histogram> = Vec::new();
        for (place, Placed { instrument, .. }) in self.instruments.list.iter().enumerate() {
            let points: Vec<HistogramPoint> = self.sets.iter().flat_map(|set| self.points(set, place)).collect();
            match out.iter_mut().find(|known| known.name == instrument.name) {
                // One name may stand for two metrics, which differ in an attribute.
                Some(known) => known.points.extend(points),
                None => out.push(Histogram {
                    name: instrument.name.clone(),
                    unit: instrument.unit,
                    description: instrument.description.clone(),
                    is_convention: instrument.is_convention,
                    bounds: instrument.bounds.clone(),
                    points,
                }),
            }
        }
        out.retain(|histogram| !histogram.points.is_empty());
        out
    }

    /// What a set has of an instrument.
    fn points(&self, set: &Set, place: usize) -> Vec<HistogramPoint> {
        let Instrument { per_unit, token_type, .. } = self.instruments.list[place].instrument;
        let point = |buckets: &Buckets, error_type: Option<ErrorType>| {
            let Key { phase, worker, record_thread, was_cancelled, has_error } = &set.key;
            let (min, max) = buckets.range();
            HistogramPoint {
                phase: phase.clone(),
                worker: *worker,
                record_thread: *record_thread,
                was_cancelled: *was_cancelled,
                has_error: *has_error,
                error_type: error_type.map(ErrorType::name),
                token_type,
                count: buckets.total(),
                sum: buckets.sum() / per_unit,
                min: min / per_unit,
                max: max / per_unit,
                buckets: buckets.counts().to_vec(),
            }
        };
        let values = Some(&set.values[place]).filter(|buckets| buckets.total() > 0);
        let failed = set.failed.iter().filter(|_| self.instruments.duration == Some(place));
        let values = values.into_iter().map(|buckets| point(buckets, None));
        values.chain(failed.map(|(kind, buckets)| point(buckets, Some(*kind)))).collect()
    }
}

impl Set {
    fn new(key: Key, instruments: &Instruments) -> Self {
        Self { key, values: vec![Buckets::default(); instruments.list.len()], failed: Vec::new() }
    }

    /// How long a request took that failed.
    fn add_failed(&mut self, meta: &RecordMeta, kind: ErrorType, instruments: &Instruments) {
        if let Some(place) = instruments.duration {
            let took = meta.request_end.0.saturating_sub(meta.request_start.0) as i64;
            failed(&mut self.failed, kind).add_int(took, &instruments.list[place].bounds);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.values.iter_mut().zip(&other.values).for_each(|(own, others)| own.merge(others));
        other.failed.iter().for_each(|(kind, buckets)| failed(&mut self.failed, *kind).merge(buckets));
    }
}

/// The histogram of requests that failed in a way.
fn failed(all: &mut Vec<(ErrorType, Buckets)>, kind: ErrorType) -> &mut Buckets {
    let at = all.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
        all.push((kind, Buckets::default()));
        all.len() - 1
    });
    &mut all[at].1
}
