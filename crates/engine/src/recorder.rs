//! The threads that turn exchanges into records.
//!
//! They run under SCHED_IDLE: on two cores, one busy thread beside a thousand streams adds 0.2 ms to the mean read so,
//! and 0.6 to 1.4 ms when merely nice. Such a thread may get no time at all on busy cores, so one relief thread of
//! normal priority helps when the oldest exchange has waited for half a second or half of the budget is used.

use crate::curves::SharedSweep;
use crate::lines::{LineWriter, OrderedLines};
use crate::quality::Quality;
use crate::queue::{self, Batch, Queue};
use crate::record::Reader;
use crate::watch::Watch;
use aiperf_metrics::{Accumulator, Metrics, RecordMetrics};
use aiperf_transport::clock::mono_now;
use aiperf_transport::{BufferReturn, sys};
use aiperf_types::{Nanos, PhaseKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The relief thread helps when something has waited for this long.
const RELIEF_AGE: Nanos = Nanos(500_000_000);
/// How long a record thread sleeps when there is nothing to do.
const IDLE_SLEEP: Duration = Duration::from_millis(2);
/// How often the relief thread looks.
const RELIEF_SLEEP: Duration = Duration::from_millis(20);
/// A line buffer larger than this is not kept.
const LINE_BUFFER: usize = 64 << 10;

/// What every record thread shares.
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    pub(crate) lines: OrderedLines,
    pub(crate) reader: Reader,
    pub(crate) metrics: Arc<Metrics>,
    /// By phase.
    pub(crate) sweeps: Vec<SharedSweep>,
    /// By worker.
    pub(crate) buffers: Vec<BufferReturn>,
    /// Records computed, and of these failed ones.
    pub(crate) records: AtomicU64,
    pub(crate) errors: AtomicU64,
    /// Time the relief thread worked before the queue was closed, in nanoseconds.
    pub(crate) relief: AtomicU64,
}

/// What one record thread found: by phase, and over all.
pub(crate) struct Findings {
    pub(crate) phases: Vec<Accumulator>,
    pub(crate) quality: Quality,
}

/// One record thread's own state.
pub(crate) struct Recorder {
    shared: Arc<Shared>,
    number: u16,
    writer: Option<Box<dyn LineWriter>>,
    watch: Watch,
    /// Which question of the watch was answered last.
    answered: u64,
    findings: Findings,
    computed: RecordMetrics,
    spent: Vec<Vec<aiperf_transport::buffers::Spent>>,
}

impl Recorder {
    pub(crate) fn new(shared: Arc<Shared>, number: u16, writer: Option<Box<dyn LineWriter>>, watch: Watch) -> Self {
        let phases = shared.reader.phases.iter().map(|_| Accumulator::new(&shared.metrics)).collect();
        let spent = shared.buffers.iter().map(|_| Vec::new()).collect();
        let findings = Findings { phases, quality: Quality::default() };
        Self { shared, number, writer, watch, answered: 0, findings, computed: RecordMetrics::default(), spent }
    }

    /// Works at the lowest priority until the queue is closed and empty.
    pub(crate) fn run(mut self) -> Findings {
        // A kernel that refuses leaves the thread at normal priority: slower reads, same results.
        let _ = sys::yield_to_everyone();
        loop {
            match self.shared.queue.take() {
                Some(batch) => self.compute(batch),
                None if self.shared.queue.is_closed() && self.shared.queue.waiting() == 0 => break,
                None => {
                    self.shared.lines.tick();
                    self.hand_on();
                    std::thread::sleep(IDLE_SLEEP);
                }
            }
        }
        self.findings
    }

    /// Helps at normal priority when the others fall behind, and when only the rest is left to do.
    pub(crate) fn relieve(mut self) -> Findings {
        loop {
            let queue = &self.shared.queue;
            let closed = queue.is_closed();
            if closed && queue.waiting() == 0 {
                break;
            }
            let needed = closed || queue.age(mono_now()) > RELIEF_AGE || queue.is_half_full();
            let batch = if needed { queue.take() } else { None };
            match batch {
                Some(batch) => {
                    let start = mono_now();
                    self.compute(batch);
                    if !closed {
                        self.shared.relief.fetch_add(mono_now().since(start).0, Relaxed);
                    }
                }
                None if closed => std::thread::sleep(Duration::from_micros(200)),
                None => {
                    self.hand_on();
                    std::thread::sleep(RELIEF_SLEEP);
                }
            }
        }
        self.findings
    }

    fn compute(&mut self, batch: Batch) {
        let Batch { number, exchanges } = batch;
        let (count, mut bytes, mut errors) = (exchanges.len(), 0, 0);
        let mut lines = Vec::with_capacity(if self.writer.is_some() { LINE_BUFFER } else { 0 });
        for exchange in exchanges {
            bytes += queue::size(&exchange);
            let record = self.shared.reader.read(&exchange, self.number);
            self.shared.metrics.record(&record.measured, &mut self.computed);
            errors += u64::from(record.measured.error.is_some());
            if let Some(writer) = &mut self.writer {
                writer.write(&mut lines, &record.meta, &record.measured, &self.computed);
            }
            // A request that the run itself cut short says nothing about the server.
            if !record.meta.was_cancelled {
                let phase = usize::from(record.meta.phase.index);
                self.findings.phases[phase].add(&record.measured, &self.computed);
                if record.meta.phase.kind == PhaseKind::Profiling {
                    self.findings.quality.add(&exchange, &record);
                }
            }
            self.spent[usize::from(exchange.tag.worker)].push((exchange.raw, exchange.timeline.reads));
            // A kernel that preempts lazily notices that a worker wants this core only when this thread enters it or
            // the clock ticks, 4 ms later. Entering it after every record makes that one record's time.
            std::thread::yield_now();
        }
        for (buffers, spent) in self.shared.buffers.iter().zip(&mut self.spent) {
            if !spent.is_empty() {
                buffers.give(spent);
            }
        }
        self.shared.lines.submit(number, lines);
        self.shared.records.fetch_add(count as u64, Relaxed);
        self.shared.errors.fetch_add(errors, Relaxed);
        self.shared.queue.done(count, bytes);
        self.hand_on();
    }

    /// Tells those who watch what is known so far, if they asked.
    fn answer(&mut self) {
        let asked = self.watch.asked();
        if asked == self.answered {
            return;
        }
        self.answered = asked;
        let phases = self.shared.reader.phases.iter().zip(&self.findings.phases);
        let profiling = phases.filter(|(id, records)| id.kind == PhaseKind::Profiling && records.records() > 0);
        let live = profiling.map(|(_, records)| records.live()).reduce(|mut all, live| {
            all.merge(&live);
            all
        });
        self.watch.answer(usize::from(self.number), asked, live);
    }

    /// Hands on what curves need, and what those who watch asked for.
    fn hand_on(&mut self) {
        self.answer();
        self.findings.phases.iter_mut().zip(&self.shared.sweeps).for_each(|(records, sweep)| sweep.tend(records));
    }
}
