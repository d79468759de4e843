//! The values of records as histograms, one per metric and set of attributes: for receivers that take no single values.
//!
//! Each record thread has its own; nothing is shared while a run is on. Counts and sums are exact, in any order of
//! merging.

use crate::numbers::buckets::Buckets;
use crate::registry::instrument::{DURATION, Instrument};
use crate::run::Metrics;
use crate::run::error_type::ErrorType;
use crate::run::record::{Number, RecordMetrics};
use aiperf_types::{Histogram, HistogramPoint, PhaseId, RecordMeta, RequestError};
use std::collections::HashMap;
use std::sync::Arc;

/// The histograms of a run.
#[derive(Debug)]
pub struct Instruments {
    list: Vec<Placed>,
    /// By index of the metric among those of the run.
    by_metric: Vec<Option<usize>>,
    /// The index of the histogram that failed requests have too.
    duration: Option<usize>,
    /// Whether the record thread is an attribute of a record.
    by_record_thread: bool,
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
        Self { list, by_metric, duration, by_record_thread: true }
    }

    /// The same for a run with many threads: any of them may compute the records of any worker, so separate histograms
    /// per thread would multiply what is kept and sent.
    #[must_use]
    pub fn without_record_threads(self) -> Self {
        Self { by_record_thread: false, ..self }
    }
}

#[derive(Clone, Debug)]
pub struct RecordHistograms {
    instruments: Arc<Instruments>,
    sets: Vec<Set>,
    by_key: HashMap<Key, usize>,
    /// The set of the previous record.
    latest: usize,
}

/// Records with the same attributes.
#[derive(Clone, Debug)]
struct Set {
    key: Key,
    phase: Arc<PhaseId>,
    /// By instrument.
    values: Vec<Buckets>,
    /// The durations of failed requests, by type of failure.
    failed: Vec<(ErrorType, Buckets)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    phase: u16,
    worker: u16,
    /// `None` if record threads are not separated.
    record_thread: Option<u16>,
    was_cancelled: bool,
    has_error: bool,
}

impl RecordHistograms {
    pub fn new(instruments: Arc<Instruments>) -> Self {
        Self { instruments, sets: Vec::new(), by_key: HashMap::new(), latest: 0 }
    }

    /// Adds a record: its metadata, its metrics, and its error with the status of the response.
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

    /// The index of the set with this record's attributes.
    fn set_of(&mut self, meta: &RecordMeta, has_error: bool) -> usize {
        let RecordMeta { worker, record_thread, was_cancelled, .. } = *meta;
        let record_thread = self.instruments.by_record_thread.then_some(record_thread);
        let key = Key { phase: meta.phase.index, worker, record_thread, was_cancelled, has_error };
        if self.sets.get(self.latest).is_none_or(|set| set.key != key) {
            self.latest = *self.by_key.entry(key).or_insert_with(|| {
                self.sets.push(Set::new(key, meta.phase.clone(), &self.instruments));
                self.sets.len() - 1
            });
        }
        self.latest
    }

    pub fn merge(&mut self, other: &Self) {
        for set in &other.sets {
            match self.by_key.get(&set.key) {
                Some(own) => self.sets[*own].merge(set),
                None => {
                    self.by_key.insert(set.key, self.sets.len());
                    self.sets.push(set.clone());
                }
            }
        }
    }

    /// The export form: one per name, with a point for each set of attributes that has values.
    pub fn histograms(&self) -> Vec<Histogram> {
        let mut out: Vec<Histogram> = Vec::new();
        for (place, Placed { instrument, .. }) in self.instruments.list.iter().enumerate() {
            let points: Vec<HistogramPoint> = self.sets.iter().flat_map(|set| self.points(set, place)).collect();
            match out.iter_mut().find(|known| known.name == instrument.name) {
                // One name may be used by two metrics that differ in an attribute.
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

    /// The points of a set for an instrument.
    fn points(&self, set: &Set, place: usize) -> Vec<HistogramPoint> {
        let Instrument { per_unit, token_type, .. } = self.instruments.list[place].instrument;
        let point = |buckets: &Buckets, error_type: Option<ErrorType>| {
            let Key { worker, record_thread, was_cancelled, has_error, .. } = set.key;
            let (min, max) = buckets.range();
            HistogramPoint {
                phase: set.phase.clone(),
                worker,
                record_thread,
                was_cancelled,
                has_error,
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
    fn new(key: Key, phase: Arc<PhaseId>, instruments: &Instruments) -> Self {
        Self { key, phase, values: vec![Buckets::default(); instruments.list.len()], failed: Vec::new() }
    }

    /// Adds the duration of a failed request.
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

/// The histogram of requests with a type of failure.
fn failed(all: &mut Vec<(ErrorType, Buckets)>, kind: ErrorType) -> &mut Buckets {
    let at = all.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
        all.push((kind, Buckets::default()));
        all.len() - 1
    });
    &mut all[at].1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunTraits;
    use aiperf_types::{CorrelationId, EndpointKind, PhaseKind, WallNs};

    fn meta(worker: u16, record_thread: u16) -> RecordMeta {
        let phase = PhaseId { index: 0, profiling_index: Some(0), name: "p".into(), kind: PhaseKind::Profiling };
        RecordMeta {
            session_num: 0,
            request_id: 0,
            correlation_id: CorrelationId::Uuid(0),
            conversation_id: "c".into(),
            turn_index: 0,
            credit_issued: None,
            request_start: WallNs(0),
            request_ack: None,
            request_end: WallNs(1_000_000_000),
            worker,
            record_thread,
            phase: Arc::new(phase),
            was_cancelled: false,
            cancelled_at: None,
        }
    }

    /// Three record threads add four failed requests of each of two workers, in turns.
    fn durations(separate: bool) -> Vec<(u16, Option<u16>, u64, f64)> {
        let instruments = Instruments::of(&Metrics::for_run(RunTraits::new(EndpointKind::Chat, true)));
        let instruments = Arc::new(if separate { instruments } else { instruments.without_record_threads() });
        let error = RequestError { code: None, kind: None, message: "no".into(), cause: None, cause_chain: None };
        let of_thread = |thread: u16| {
            let mut histograms = RecordHistograms::new(instruments.clone());
            for worker in [0, 1, 0, 1, 0, 1, 0, 1] {
                histograms.add(&meta(worker, thread), &RecordMetrics::default(), Some((&error, None)));
            }
            histograms
        };
        let mut all = of_thread(0);
        [1, 2].map(of_thread).iter().for_each(|other| all.merge(other));
        let histograms = all.histograms();
        assert_eq!(histograms.len(), 1);
        histograms[0].points.iter().map(|point| (point.worker, point.record_thread, point.count, point.sum)).collect()
    }

    #[test]
    fn a_set_is_a_worker_and_a_record_thread_or_a_worker_alone() {
        let pairs = [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)];
        assert_eq!(durations(true), pairs.map(|(worker, thread)| (worker, Some(thread), 4, 4.0)));
        assert_eq!(durations(false), [(0, None, 12, 12.0), (1, None, 12, 12.0)]);
    }
}
