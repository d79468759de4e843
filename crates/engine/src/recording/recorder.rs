//! Computes the records of exchanges and adds them up. Each thread that computes has its own recorder. Their totals are
//! merged when the run is over.

use crate::events::request_watch::OddLength;
use crate::queue::FinishedExchange;
use crate::recording::batch::{Batch, BatchRecords, Claimant};
use crate::recording::courtesy;
use crate::recording::curves::Sweeps;
use crate::recording::live_judge::ReadCounts;
use crate::recording::looks::Values;
use crate::recording::quality;
use crate::recording::raw::raw_exchange;
use crate::recording::record::{OnThread, Reader, Record};
use crate::recording::shelf::Shelf;
use crate::stop::Stop;
use aiperf_dialect::KnownMessages;
use aiperf_metrics::{
    Accumulator, Instruments, Limits, Live, Metrics, Quality, RecordEncoder, RecordHistograms, RecordMetrics,
    RecordView, Watched,
};
use aiperf_plan::redact::Redactor;
use aiperf_tokenize::{GivenUp, IsOver, interruptible};
use aiperf_transport::clock::mono_now;
use aiperf_types::{Exchange, Measured, MonoNs, Nanos, PhaseKind, RawExchange};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

/// The inputs that all recorders of a run share.
pub(crate) struct RecordContext {
    pub(crate) reader: Reader,
    pub(crate) metrics: Arc<Metrics>,
    /// Hides secrets in errors.
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) sweeps: Arc<Sweeps>,
    /// By sink.
    pub(crate) shelves: Vec<Shelf>,
    /// The limits of lists.
    pub(crate) limits: Limits,
    /// A consumer wants metrics while the run is on.
    pub(crate) is_watched: bool,
    /// The histograms that consumers want.
    pub(crate) instruments: Option<Arc<Instruments>>,
    pub(crate) counting_time: Arc<CountingTime>,
    /// The values that may end a phase.
    pub(crate) watched: Watched,
}

/// How long tokens of waiting exchanges are still counted after a stop request. The run should end within two or three
/// seconds, including its files.
const COUNTS_AFTER_STOP: Nanos = Nanos(1_000_000_000);

/// The end of token counting after a stop request. The request may come when all requests are done and only counting is
/// left.
#[derive(Default)]
pub(crate) struct CountingTime {
    stop: Stop,
    until: OnceLock<MonoNs>,
}

impl CountingTime {
    pub(crate) fn new(stop: Stop) -> Arc<Self> {
        Arc::new(Self { stop, until: OnceLock::new() })
    }

    fn is_over(&self) -> bool {
        self.stop.is_stopped() && mono_now() >= *self.until.get_or_init(|| mono_now().plus(COUNTS_AFTER_STOP))
    }

    /// Stops the run, with no time left to count.
    #[cfg(test)]
    pub(crate) fn end(&self) {
        self.stop.stop();
        self.until.get_or_init(mono_now);
    }
}

impl RecordContext {
    fn read(&self, exchange: &FinishedExchange, thread: OnThread<'_>, is_over: &IsOver) -> Record {
        let counted = match is_over() {
            true => Err(GivenUp::Stopped),
            // A count that has begun is given up too.
            false => interruptible(is_over, || self.reader.read_finished(exchange, thread)),
        };
        counted.unwrap_or_else(|why| self.reader.read_uncounted(exchange, thread.number, why))
    }

    /// The exchange for a raw file, if the plan has one.
    fn raw(&self, exchange: &Exchange, redactor: &Redactor) -> Option<RawExchange> {
        let plan = &self.reader.plan;
        plan.artifacts.raw.then(|| raw_exchange(exchange, plan.endpoint.http.kept_body_limit, redactor))
    }

    /// Hides secrets in the texts of a response that are kept. Most records keep none.
    fn redactor(&self, exchange: &Exchange, measured: &Measured) -> Cow<'_, Redactor> {
        match measured.error.is_some() || measured.http_trace.is_some() || self.reader.plan.artifacts.raw {
            true => self.redactor.with_body(&exchange.request_body),
            false => Cow::Borrowed(&self.redactor),
        }
    }
}

/// The totals of one thread, by phase and over all phases.
pub(crate) struct RecordTotals {
    pub(crate) phases: Vec<Accumulator>,
    /// By phase.
    pub(crate) quality: Vec<Quality>,
    /// By phase: exchanges whose records were lost by a defect of this program.
    pub(crate) lost: Vec<u64>,
    /// Values of records, for consumers that export histograms.
    pub(crate) histograms: Option<RecordHistograms>,
}

impl RecordTotals {
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.phases = self.phases.into_iter().zip(other.phases).map(|(one, two)| one.merge(two)).collect();
        self.quality.iter_mut().zip(&other.quality).for_each(|(quality, other)| quality.merge(other));
        self.lost.iter_mut().zip(&other.lost).for_each(|(lost, other)| *lost += other);
        join(&mut self.histograms, other.histograms.as_ref(), RecordHistograms::merge);
        self
    }
}

/// Merges two optional values.
fn join<T: Clone>(own: &mut Option<T>, others: Option<&T>, merge: impl FnOnce(&mut T, &T)) {
    match (own.as_mut(), others) {
        (Some(own), Some(others)) => merge(own, others),
        (None, others) => *own = others.cloned(),
        (_, None) => {}
    }
}

/// A request for running statistics. Each request of a run is different.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StatsRequest(u64);

impl StatsRequest {
    const METRICS: u64 = 1;
    const HISTOGRAMS: u64 = 2;

    /// The request after this one.
    pub(crate) fn next(self, metrics: bool, histograms: bool) -> Self {
        let number = (self.0 >> 2) + 1;
        let asked = if metrics { Self::METRICS } else { 0 } | if histograms { Self::HISTOGRAMS } else { 0 };
        Self(number << 2 | asked)
    }

    /// The request as an integer, for an atomic.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) fn wants_metrics(self) -> bool {
        self.0 & Self::METRICS != 0
    }

    pub(crate) fn wants_histograms(self) -> bool {
        self.0 & Self::HISTOGRAMS != 0
    }
}

/// The statistics of one or several threads while the run is on: those that were requested.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningStats {
    pub(crate) live: Option<LiveByKind>,
    /// Of the profiling phases.
    pub(crate) reads: ReadCounts,
    pub(crate) histograms: Option<RecordHistograms>,
}

impl RunningStats {
    /// Adds the requested statistics of another thread.
    pub(crate) fn merge(&mut self, other: &Self, asked: StatsRequest) {
        if asked.wants_metrics() {
            join(&mut self.live, other.live.as_ref(), LiveByKind::merge);
            self.reads.merge(&other.reads);
        }
        if asked.wants_histograms() {
            join(&mut self.histograms, other.histograms.as_ref(), RecordHistograms::merge);
        }
    }

    /// Replaces statistics with later ones of the same thread. Statistics that were not requested stay.
    pub(crate) fn update(&mut self, later: Self) {
        if later.live.is_some() {
            (self.live, self.reads) = (later.live, later.reads);
        }
        self.histograms = later.histograms.or_else(|| self.histograms.take());
    }
}

/// Running statistics, with warm-up and profiling separate.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveByKind {
    pub(crate) warmup: Option<Live>,
    pub(crate) profiling: Option<Live>,
}

impl LiveByKind {
    pub(crate) fn merge(&mut self, other: &Self) {
        for (own, others) in [(&mut self.warmup, &other.warmup), (&mut self.profiling, &other.profiling)] {
            join(own, others.as_ref(), Live::merge);
        }
    }
}

/// One thread's state.
pub(crate) struct Recorder {
    context: Arc<RecordContext>,
    number: u16,
    encoders: Vec<Box<dyn RecordEncoder>>,
    totals: RecordTotals,
    /// Whether counting is over. Each recorder has its own, so that threads do not share a reference count.
    is_over: IsOver,
    /// Messages learned from the responses read on this thread.
    known: KnownMessages,
    /// The records of the current batch.
    records: Vec<Record>,
    /// Their metrics. The list keeps its longest length, to reuse its allocations.
    metrics: Vec<RecordMetrics>,
}

impl Recorder {
    pub(crate) fn new(context: Arc<RecordContext>, number: u16, encoders: Vec<Box<dyn RecordEncoder>>) -> Self {
        let accumulator = || match context.is_watched {
            true => Accumulator::with_limits(&context.metrics, context.limits),
            false => Accumulator::with_limits(&context.metrics, context.limits).unwatched(),
        };
        let phases = 0..context.reader.phases.len();
        let phases: Vec<Accumulator> = phases.map(|phase| context.sweeps.accumulator(phase, accumulator())).collect();
        let lost = vec![0; phases.len()];
        let histograms = context.instruments.clone().map(RecordHistograms::new);
        let quality = vec![Quality::default(); phases.len()];
        let totals = RecordTotals { phases, quality, lost, histograms };
        let time = context.counting_time.clone();
        let is_over: IsOver = Arc::new(move || time.is_over());
        Self {
            context,
            number,
            encoders,
            totals,
            is_over,
            known: KnownMessages::default(),
            records: Vec::new(),
            metrics: Vec::new(),
        }
    }

    /// [`Self::compute`], which catches panics. A panic costs its batch and no other: nothing is added up meanwhile.
    pub(crate) fn compute_safely(
        &mut self,
        batch: &Batch,
        other: Claimant,
    ) -> std::thread::Result<Option<BatchRecords>> {
        catch_unwind(AssertUnwindSafe(|| self.compute(batch, other)))
    }

    /// [`Self::add_up`], which catches panics. After a panic, a part of the batch may be added; all of it counts as
    /// lost.
    pub(crate) fn add_up_safely(&mut self, batch: &Batch) {
        if catch_unwind(AssertUnwindSafe(|| self.add_up(batch))).is_err() {
            self.lose(batch);
        }
    }

    /// Counts the exchanges of a batch as lost.
    pub(crate) fn lose(&mut self, batch: &Batch) {
        for exchange in &batch.exchanges {
            self.totals.lost[usize::from(exchange.tag.phase.0)] += 1;
        }
    }

    /// Reads a batch and encodes its records. They count only once they are added up. Returns `None` if the other
    /// claimant has the batch.
    pub(crate) fn compute(&mut self, batch: &Batch, other: Claimant) -> Option<BatchRecords> {
        self.records.clear();
        let (mut failures, mut odd_lengths, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut encoded: Vec<Vec<u8>> = self.context.shelves.iter().map(Shelf::take).collect();
        for (at, exchange) in batch.exchanges.iter().enumerate() {
            if batch.is_claimed_by(other) {
                return None;
            }
            let thread = OnThread { number: self.number, known: Some(&self.known) };
            let mut record = self.context.read(exchange, thread, &self.is_over);
            // Secrets are hidden here, so that no file, table or log has the server's error text as it arrived.
            let redactor = self.context.redactor(exchange, &record.measured);
            record.measured.error = record.measured.error.map(|error| redactor.error(error));
            if let Some(trace) = &mut record.measured.http_trace {
                let fields = [&mut trace.request_headers, &mut trace.response_headers];
                fields.into_iter().flatten().for_each(|fields| redactor.headers(fields));
                trace.reason = trace.reason.as_ref().map(|reason| redactor.hide(reason).into_owned());
                for leg in &mut trace.earlier_legs {
                    leg.request = redactor.hide(&leg.request).into_owned();
                }
            }
            if self.metrics.len() == at {
                self.metrics.push(RecordMetrics::default());
            }
            let metrics = &mut self.metrics[at];
            self.context.metrics.record(&record.measured, metrics);
            let Record { meta, measured, parsed, .. } = &record;
            let raw = self.context.raw(exchange, &redactor);
            let view = RecordView { exchange, parsed, meta, measured, metrics, raw: raw.as_ref() };
            self.encoders.iter_mut().zip(&mut encoded).for_each(|(encoder, out)| encoder.encode(&view, out));
            if let Some(error) = record.measured.error.as_ref().filter(|_| !exchange.was_cut_off()) {
                failures.push((at, error.clone()));
            }
            odd_lengths.extend(OddLength::of(&record.measured, metrics));
            if !exchange.was_cut_off() {
                let (kind, phase) = (record.meta.phase.kind, exchange.tag.phase);
                values.extend(Values::of(&self.context.watched, kind, phase, &record.measured, metrics));
            }
            self.records.push(record);
            courtesy::give_way();
        }
        let encoded = encoded.into_iter().map(Arc::new).collect();
        Some(BatchRecords { encoded, failures, odd_lengths, values })
    }

    /// Adds up the records of the batch computed last.
    pub(crate) fn add_up(&mut self, batch: &Batch) {
        let computed = self.records.drain(..).zip(&self.metrics).zip(&batch.exchanges);
        for ((record, metrics), exchange) in computed {
            // Histograms count every record, like the record files. They show which requests were cut short.
            if let Some(histograms) = &mut self.totals.histograms {
                let error = record.measured.error.as_ref().map(|error| (error, exchange.status));
                histograms.add(&record.meta, metrics, error);
            }
            // A request that the run itself cut short is no result of the server.
            let phase = usize::from(record.meta.phase.index);
            let (records, quality) = (&mut self.totals.phases[phase], &mut self.totals.quality[phase]);
            if exchange.was_cut_off() {
                records.pass_over(record.measured.number, record.measured.credit_issued.unwrap_or_default());
                quality::add_cut_off(quality, exchange);
                continue;
            }
            records.add(&record.measured, metrics);
            quality::add(quality, exchange, &record);
        }
        self.sweep();
    }

    /// Gives the curves the records that were added since.
    pub(crate) fn sweep(&mut self) {
        for (phase, records) in self.totals.phases.iter_mut().enumerate() {
            self.context.sweeps.tend(phase, records);
        }
    }

    /// The requested statistics so far.
    pub(crate) fn running_stats(&self, asked: StatsRequest) -> RunningStats {
        let histograms = self.totals.histograms.as_ref().filter(|_| asked.wants_histograms());
        let (live, reads) = asked.wants_metrics().then(|| (self.live(), self.reads())).unzip();
        RunningStats { live, reads: reads.unwrap_or_default(), histograms: histograms.cloned() }
    }

    fn reads(&self) -> ReadCounts {
        let mut reads = ReadCounts::default();
        let phases = self.context.reader.phases.iter().zip(&self.totals.quality);
        let profiling = phases.filter(|(id, _)| id.kind == PhaseKind::Profiling);
        profiling.for_each(|(_, quality)| reads.merge(&ReadCounts::of(quality)));
        reads
    }

    fn live(&self) -> LiveByKind {
        let mut live = LiveByKind::default();
        for (id, records) in self.context.reader.phases.iter().zip(&self.totals.phases) {
            if records.records() > 0 {
                live.merge(&match id.kind {
                    PhaseKind::Warmup => LiveByKind { warmup: records.live(), profiling: None },
                    PhaseKind::Profiling => LiveByKind { warmup: None, profiling: records.live() },
                });
            }
        }
        live
    }

    pub(crate) fn into_totals(self) -> RecordTotals {
        self.totals
    }
}
