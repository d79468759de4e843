//! The thread between the workers and the record threads. It offers finished exchanges to record threads, gives the
//! records to the sinks in order of completion, and requests running statistics.
//!
//! It runs at normal priority and never blocks on another thread or on a file: each sink has a thread of its own. On a
//! busy machine, record threads may get no core at all. Then the coordinator computes the batches that have waited for
//! too long, even if a record thread has them. So a record is on disk within a second of the end of its request.

use crate::events::Events;
use crate::events::phases::PhaseTrack;
use crate::events::progress::{PhaseReports, RecordReports};
use crate::events::request_watch::RequestWatch;
use crate::lanes::Arrivals;
use crate::queue::{FinishedExchange, Queue, Queued};
use crate::recording::batch::{Batch, BatchRecords, Claimant};
use crate::recording::batch_ring::BatchRing;
use crate::recording::live_judge::LiveJudge;
use crate::recording::looks::Looks;
use crate::recording::record_thread::{self, Mailboxes};
use crate::recording::recorder::{RecordTotals, Recorder, RunningStats};
use crate::recording::sampler::{self, Sampler};
use crate::recording::sinks::{Handed, OrderedSinks, Ready, SinkFailure, StallNews};
use aiperf_metrics::{Live, SinkStall, Summary};
use aiperf_transport::BufferReturn;
use aiperf_transport::clock::mono_now;
use aiperf_types::{Histograms, LogLevel, MonoNs, Nanos, PhaseMoment, RunEvent};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Exchanges in a batch. They are few, so that a thread without a core delays few.
const BATCH: usize = 16;
/// The batches on offer for each record thread: more than it computes between two rounds of the coordinator, at 12 us a
/// record.
pub(crate) const BATCHES_A_THREAD: usize = 32;
/// The coordinator computes a batch itself if it has waited for this long, before or after a record thread took it.
/// Both waits and the time until the next flush together are well under a second.
const PATIENCE: Nanos = Nanos(250_000_000);
/// The least of it for a batch that a record thread has taken, if the other threads run out of work behind it or
/// sending is over. A batch of short responses takes 0.2 ms to compute. With `PATIENCE` for it too, dispatch was held
/// back for 8 of 13 s (`scripts/saturate --concurrency 4096 --sim-threads 8 --pin` on 16 cores).
const SHORT_PATIENCE: Nanos = Nanos(10_000_000);
/// Large batches take longer to compute: this much for each byte is ten times what it takes.
const PATIENCE_A_BYTE: u64 = 100;
/// The sleeps of an idle coordinator: while requests are sent, and afterwards.
const SLEEP: Duration = Duration::from_millis(5);
const SHORT_SLEEP: Duration = Duration::from_micros(200);

/// What the coordinator needs.
pub(crate) struct Resources {
    pub(crate) queue: Arc<Queue>,
    pub(crate) queued: Arrivals<Queued>,
    pub(crate) ring: Arc<BatchRing>,
    pub(crate) mailboxes: Mailboxes,
    /// For the batches that the coordinator computes itself.
    pub(crate) recorder: Recorder,
    pub(crate) sinks: OrderedSinks,
    pub(crate) buffers: Arc<[BufferReturn]>,
    pub(crate) progress: PhaseReports,
    pub(crate) phases: Arc<[PhaseTrack]>,
    pub(crate) live_judge: LiveJudge,
    pub(crate) events: Events,
    /// Logs requests as they end.
    pub(crate) watch: RequestWatch,
    /// Forwards the values that may end a phase.
    pub(crate) looks: Option<Looks>,
}

/// The results of the coordinator.
pub(crate) struct Coordinated {
    pub(crate) totals: RecordTotals,
    pub(crate) failures: Vec<SinkFailure>,
    pub(crate) stalls: Vec<SinkStall>,
    /// Time it spent computing while requests were being sent.
    pub(crate) relief: Nanos,
}

pub(crate) struct Coordinator {
    resources: Resources,
    /// The oldest exchange without a batch. Later ones stay in the queue.
    oldest: Option<Queued>,
    /// The batches that were offered and are not handed on yet, oldest first.
    offered: VecDeque<Offered>,
    next_batch: u64,
    /// The arrival of each batch that is not written yet, in order.
    unwritten: VecDeque<MonoNs>,
    sampler: Option<Sampler>,
    /// By phase: whether its completion was reported.
    complete: Vec<bool>,
    reports: RecordReports,
    relief: Nanos,
}

struct Offered {
    /// The arrival of its first exchange.
    arrived: MonoNs,
    /// Its position in the ring.
    position: u64,
    batch: Arc<Batch>,
}

impl Coordinator {
    pub(crate) fn new(resources: Resources, now: MonoNs) -> Self {
        let threads = resources.mailboxes.len();
        let sampler = Sampler::of(&resources.events, threads, now);
        let complete = vec![false; resources.phases.len()];
        let reports = RecordReports::new(resources.progress.clone());
        Self {
            resources,
            oldest: None,
            offered: VecDeque::new(),
            next_batch: 0,
            unwritten: VecDeque::new(),
            sampler,
            complete,
            reports,
            relief: Nanos::ZERO,
        }
    }

    /// Works until the queue is closed and everything is written.
    pub(crate) fn run(mut self) -> Coordinated {
        loop {
            let closed = self.resources.queue.is_closed();
            let computed = self.step(mono_now());
            if closed && self.has_handed_on_all() {
                break;
            }
            if !computed {
                std::thread::sleep(if closed { SHORT_SLEEP } else { SLEEP });
            }
        }
        self.resources.sinks.close();
        // Waits for as long as a sink takes. Records that it does not write are lost.
        while !self.resources.sinks.have_ended() {
            self.report_written(mono_now());
            std::thread::sleep(SHORT_SLEEP);
        }
        self.report_written(mono_now());
        let (failures, stalls) = self.resources.sinks.into_reports();
        Coordinated { totals: self.resources.recorder.into_totals(), failures, stalls, relief: self.relief }
    }

    fn has_handed_on_all(&mut self) -> bool {
        self.oldest_queued().is_none() && self.resources.sinks.handed_on() == self.next_batch
    }

    /// One round. Returns `true` if it computed a batch itself: there may be more to compute.
    fn step(&mut self, now: MonoNs) -> bool {
        self.take_back(now);
        self.offer();
        let took_over = self.take_over(now);
        let helped = self.help(now);
        // Another thread may have had the sweep when this thread added up its records.
        self.resources.recorder.sweep();
        self.take_written();
        let oldest = self.unwritten.front().copied().or_else(|| self.oldest_queued());
        self.resources.queue.set_oldest(oldest);
        self.resources.watch.report_failures();
        self.resources.looks.iter_mut().for_each(Looks::exchange);
        self.report_sinks(now);
        self.sample(now);
        self.report_phases(now);
        took_over || helped
    }

    /// Takes the batches that were computed, in order.
    fn take_back(&mut self, now: MonoNs) {
        while self.offered.front().is_some_and(|offered| offered.batch.computed.get().is_some())
            && let Some(Offered { batch, .. }) = self.offered.pop_front()
        {
            self.hand_on(batch, None, now);
        }
    }

    /// Offers as many batches to record threads as have room.
    fn offer(&mut self) {
        while self.offered.len() < self.resources.ring.room() && self.oldest_queued().is_some() {
            let (arrived, batch) = self.next_batch();
            let position = self.resources.ring.offer(&batch);
            self.offered.push_back(Offered { arrived, position, batch });
        }
    }

    /// The arrival of the oldest exchange without a batch.
    fn oldest_queued(&mut self) -> Option<MonoNs> {
        if self.oldest.is_none() {
            self.oldest = self.resources.queued.try_next();
        }
        self.oldest.as_ref().map(|queued| queued.at)
    }

    /// The next batch, and the arrival of its first exchange.
    fn next_batch(&mut self) -> (MonoNs, Arc<Batch>) {
        let oldest = self.oldest.take().into_iter();
        let queued = oldest.chain(std::iter::from_fn(|| self.resources.queued.try_next()));
        let (came_in, exchanges): (Vec<MonoNs>, Vec<FinishedExchange>) =
            queued.take(BATCH).map(|queued| (queued.at, queued.finished)).unzip();
        let arrived = came_in.first().copied().unwrap_or_else(mono_now);
        let batch = Batch::new(self.next_batch, exchanges, self.resources.buffers.clone());
        self.unwritten.push_back(arrived);
        self.next_batch += 1;
        (arrived, Arc::new(batch))
    }

    /// Computes the oldest batch if no record thread takes it, or the one that took it does not finish it: all later
    /// ones wait for it.
    fn take_over(&mut self, now: MonoNs) -> bool {
        let Some(Offered { arrived, batch, .. }) = self.offered.front() else { return false };
        let Resources { queue, ring, .. } = &self.resources;
        let holds_up_others = self.offered.len() >= ring.room() || queue.is_closed();
        let is_overdue = match batch.taken_at() {
            Some(taken) if holds_up_others => now.since(taken) > short_patience(batch),
            Some(taken) => now.since(taken) > PATIENCE,
            None => now.since(*arrived) > PATIENCE,
        };
        // A batch that the thread has claimed is computed, and is taken back in the next round.
        if !is_overdue || batch.computed.get().is_some() || !batch.claim(Claimant::Coordinator) {
            return false;
        }
        let Some(Offered { position, batch, .. }) = self.offered.pop_front() else { return false };
        self.resources.ring.remove(position);
        self.relieve(batch, now);
        true
    }

    /// Computes a batch as a record thread does, if these fall behind or the queue is closed.
    fn help(&mut self, now: MonoNs) -> bool {
        let has_waited = self.offered.back().is_some_and(|latest| now.since(latest.arrived) > PATIENCE);
        let queue = &self.resources.queue;
        if !has_waited && !queue.is_half_full() && !queue.is_closed() {
            return false;
        }
        let Some(batch) = self.resources.ring.take() else { return false };
        let start = mono_now();
        record_thread::work(&mut self.resources.recorder, &batch);
        self.note_relief(start);
        true
    }

    /// Computes a batch in place of a record thread. A batch that panics here too is lost; no other batch is.
    fn relieve(&mut self, batch: Arc<Batch>, now: MonoNs) {
        let start = mono_now();
        let recorder = &mut self.resources.recorder;
        let computed = recorder.compute_safely(&batch, Claimant::Taker);
        match &computed {
            Ok(Some(_)) => recorder.add_up_safely(&batch),
            Ok(None) => {}
            Err(_) => recorder.lose(&batch),
        }
        if let Some(computed) = computed.unwrap_or_else(|_| Some(BatchRecords::default())) {
            self.hand_on(batch, Some(computed), now);
        }
        self.note_relief(start);
    }

    fn note_relief(&mut self, start: MonoNs) {
        if !self.resources.queue.is_closed() {
            self.relief.0 += mono_now().since(start).0;
        }
    }

    /// Gives a batch to the sinks, with the batches that waited for it. From here on, only encoded records are kept.
    fn hand_on(&mut self, batch: Arc<Batch>, own: Option<BatchRecords>, now: MonoNs) {
        for ready in self.resources.sinks.hand_on(Ready { batch, own }, now) {
            let Batch { exchanges, bytes, .. } = &*ready.batch;
            let failures = ready.computed().map_or(&[][..], |computed| &computed.failures);
            failures
                .iter()
                .for_each(|(at, _)| self.resources.queue.count_failed(usize::from(exchanges[*at].tag.phase.0)));
            self.resources.watch.see(exchanges, failures, &self.resources.events);
            if let Some(computed) = ready.computed() {
                self.resources.watch.see_lengths(&computed.odd_lengths, &self.resources.events);
                self.resources.looks.iter_mut().for_each(|looks| looks.add(&computed.values));
            }
            self.resources.queue.replace(*bytes, ready.encoded_bytes());
        }
    }

    /// Releases the batches that every sink has written.
    fn take_written(&mut self) {
        while let Some(Handed { phases, bytes, .. }) = self.resources.sinks.take_written() {
            self.resources.queue.finish(phases.into_iter().map(usize::from), bytes);
            self.unwritten.pop_front();
        }
    }

    /// Reports the progress of sinks when there is nothing left to compute.
    fn report_written(&mut self, now: MonoNs) {
        self.take_written();
        self.report_sinks(now);
        self.report_phases(now);
    }

    /// Reports a file that cannot be written, or that falls behind, at once: the run may last for hours.
    fn report_sinks(&mut self, now: MonoNs) {
        let Resources { sinks, events, queue, phases, .. } = &mut self.resources;
        for SinkFailure { path, error, .. } in sinks.new_failures() {
            events.say(LogLevel::Error, format!("cannot write {}: {error}", path.display()));
        }
        for (path, error) in sinks.new_delays() {
            let then = "new records wait in memory, and are written as soon as there is room";
            events.say(LogLevel::Warning, format!("cannot write {} for now: {error}; {then}", path.display()));
        }
        let holds_sending = queue.holds_dispatch(now) && phases.iter().any(PhaseTrack::is_sending);
        for (path, news) in sinks.look_for_stalls(now, holds_sending) {
            let (path, waiting) = (path.display(), queue.waiting());
            match news {
                StallNews::Began(waited, times) => {
                    let then = if holds_sending { "; no new requests are sent until it has caught up" } else { "" };
                    let (waited, why) = (waited.as_secs_f64(), times.in_words());
                    let text = format!(
                        "{path} lags behind (the oldest record has waited for {waited:.1} s, {waiting} wait): {why}{then}"
                    );
                    events.say(LogLevel::Warning, text);
                }
                StallNews::Ended(length) => {
                    events.say(LogLevel::Notice, format!("{path} has caught up, after {:.1} s", length.as_secs_f64()));
                }
            }
        }
    }

    /// Reports phases whose requests are done: their progress, and their completion once all records are written.
    fn report_phases(&mut self, now: MonoNs) {
        for (index, complete) in self.complete.iter_mut().enumerate() {
            let phase = &self.resources.phases[index];
            if !*complete
                && let Some(done) = phase.requests_done.get()
                && self.resources.queue.recorded(index) >= self.resources.queue.arrived(index)
            {
                *complete = true;
                let counts = self.resources.queue.with_failures(index, done.counts);
                self.resources.events.emit(RunEvent::PhaseComplete(PhaseMoment { at: now, counts, ..done.clone() }));
            }
        }
        let incomplete = self.complete.iter().enumerate().filter(|(_, complete)| !**complete);
        self.reports.report(now, incomplete.map(|(index, _)| index));
    }

    fn sample(&mut self, now: MonoNs) {
        let Some(sampler) = &mut self.sampler else { return };
        if sampler.is_due(now) {
            let asked = sampler.ask(now);
            self.resources.mailboxes.iter().for_each(|mailbox| mailbox.ask(asked));
        }
        for (thread, mailbox) in self.resources.mailboxes.iter().enumerate() {
            if let Some((asked, stats)) = mailbox.try_take_stats() {
                sampler.add(thread, asked, stats);
            }
        }
        let Some(RunningStats { live, reads, histograms }) = sampler.take_merged(now, &self.resources.recorder) else {
            return;
        };
        let Resources { phases, live_judge, queue, .. } = &self.resources;
        let judge =
            |live: &Live, summary: &Summary, elapsed| live_judge.judge(live, summary, reads, elapsed, queue.held());
        let snapshot = live.and_then(|live| sampler::snapshot(phases, &live_judge.metrics, live, judge, now));
        if let Some(snapshot) = snapshot {
            self.resources.events.emit(RunEvent::Metrics(Arc::new(snapshot)));
        }
        if let Some(histograms) = histograms {
            let histograms = Histograms { at: now, histograms: histograms.histograms() };
            self.resources.events.emit(RunEvent::Histograms(Arc::new(histograms)));
        }
    }
}

fn short_patience(batch: &Batch) -> Nanos {
    Nanos((batch.bytes as u64 * PATIENCE_A_BYTE).clamp(SHORT_PATIENCE.0, PATIENCE.0))
}

#[cfg(test)]
mod tests;
