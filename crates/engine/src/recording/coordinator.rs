//! The thread between the workers and the record threads: it hands out finished exchanges, hands the records to their
//! sinks in order of completion, and asks for running statistics.
//!
//! It runs at normal priority and waits for nobody, no file either: each sink is written by a thread of its own. Record
//! threads may get no core at all on a busy machine; then it computes what has waited for too long itself, also what it
//! handed out and did not get back. So a record is on disk within a second of its request's end whatever the record
//! threads do.

use crate::events::Events;
use crate::events::phases::PhaseTrack;
use crate::events::progress::{PhaseReports, RecordReports};
use crate::events::request_watch::RequestWatch;
use crate::lanes::Arrivals;
use crate::queue::{Finished, Queue, Queued};
use crate::recording::batch::{Batch, Claimant, Computed};
use crate::recording::live_judge::LiveJudge;
use crate::recording::looks::Looks;
use crate::recording::record_thread::Mailboxes;
use crate::recording::recorder::{Findings, Recorder, RunningStats};
use crate::recording::sampler::{self, Sampler};
use crate::recording::sinks::{Handed, OrderedSinks, Ready, SinkFailure, StallNews};
use aiperf_metrics::{Live, SinkStall, Summary};
use aiperf_transport::BufferReturn;
use aiperf_transport::clock::mono_now;
use aiperf_types::{Histograms, LogLevel, MonoNs, Nanos, PhaseMoment, RunEvent};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Exchanges in a batch: few, so that a thread that gets no core holds few back.
const BATCH: usize = 16;
/// Batches that a record thread may have at a time: what it computes between two looks of the coordinator, and some
/// more.
const MOST_HANDED: usize = 8;
/// What has waited for this long to be handed out, or to come back, is computed here. Both and the time until the next
/// flush are well under a second.
const PATIENCE: Nanos = Nanos(250_000_000);
/// How long to sleep when there is nothing to do: while requests are sent, and afterwards.
const SLEEP: Duration = Duration::from_millis(5);
const SHORT_SLEEP: Duration = Duration::from_micros(200);

/// What the coordinator needs.
pub(crate) struct Resources {
    pub(crate) queue: Arc<Queue>,
    pub(crate) queued: Arrivals<Queued>,
    pub(crate) mailboxes: Mailboxes,
    /// Its own, for what the record threads do not get done.
    pub(crate) recorder: Recorder,
    pub(crate) sinks: OrderedSinks,
    pub(crate) buffers: Arc<[BufferReturn]>,
    pub(crate) progress: PhaseReports,
    pub(crate) phases: Arc<[PhaseTrack]>,
    pub(crate) live_judge: LiveJudge,
    pub(crate) events: Events,
    /// Looks at requests as they end.
    pub(crate) watch: RequestWatch,
    /// Passes on the values that may end a phase.
    pub(crate) looks: Option<Looks>,
}

/// What it leaves.
pub(crate) struct Coordinated {
    pub(crate) findings: Findings,
    pub(crate) failures: Vec<SinkFailure>,
    pub(crate) stalls: Vec<SinkStall>,
    /// Time it spent computing while requests were being sent.
    pub(crate) relief: Nanos,
}

pub(crate) struct Coordinator {
    resources: Resources,
    /// The oldest exchange that is not handed out yet; those after it stay in the queue.
    oldest: Option<Queued>,
    /// By record thread, in the order handed out.
    handed: Vec<VecDeque<InHand>>,
    next_batch: u64,
    /// When each batch came in that is not written yet, in order.
    unwritten: VecDeque<MonoNs>,
    sampler: Option<Sampler>,
    /// By phase: whether its completion was reported.
    complete: Vec<bool>,
    reports: RecordReports,
    relief: Nanos,
}

struct InHand {
    at: MonoNs,
    batch: Arc<Batch>,
}

impl Coordinator {
    pub(crate) fn new(resources: Resources, now: MonoNs) -> Self {
        let threads = resources.mailboxes.len();
        let sampler = Sampler::of(&resources.events, threads, now);
        let complete = vec![false; resources.phases.len()];
        let reports = RecordReports::new(resources.progress.clone());
        let handed = (0..threads).map(|_| VecDeque::new()).collect();
        Self {
            resources,
            oldest: None,
            handed,
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
        // As long as a sink takes: what it does not take is lost.
        while !self.resources.sinks.have_ended() {
            self.report_written(mono_now());
            std::thread::sleep(SHORT_SLEEP);
        }
        self.report_written(mono_now());
        let (failures, stalls) = self.resources.sinks.into_findings();
        Coordinated { findings: self.resources.recorder.into_findings(), failures, stalls, relief: self.relief }
    }

    fn has_handed_on_all(&mut self) -> bool {
        self.oldest_queued().is_none() && self.resources.sinks.handed_on() == self.next_batch
    }

    /// One round; `true` when it computed something itself, so that there may be more of it.
    fn step(&mut self, now: MonoNs) -> bool {
        self.take_back(now);
        self.hand_out(now);
        let took_over = self.take_over(now);
        let helped = self.help(now);
        // The sweep may have been taken when this thread added up what it computed.
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

    /// Takes what the record threads are done with.
    fn take_back(&mut self, now: MonoNs) {
        for thread in 0..self.handed.len() {
            let is_done = |handed: &InHand| handed.batch.computed.get().is_some();
            while self.handed[thread].front().is_some_and(is_done)
                && let Some(InHand { batch, .. }) = self.handed[thread].pop_front()
            {
                self.hand_on(batch, None, now);
            }
        }
    }

    /// Gives each record thread as much as it may have, those with the least first.
    fn hand_out(&mut self, now: MonoNs) {
        let mut busy = vec![false; self.handed.len()];
        while self.oldest_queued().is_some() {
            let free = |(thread, handed): &(usize, &VecDeque<InHand>)| !busy[*thread] && handed.len() < MOST_HANDED;
            let least = self.handed.iter().enumerate().filter(free).min_by_key(|(_, handed)| handed.len());
            let Some((thread, _)) = least else { return };
            let batch = self.next_batch();
            if self.resources.mailboxes[thread].try_hand(&batch) {
                self.handed[thread].push_back(InHand { at: now, batch });
            } else {
                // Numbers follow the order of completion: what cannot be handed over now is computed here.
                busy[thread] = true;
                self.relieve(batch, now);
            }
        }
    }

    /// When the oldest exchange that waits came in.
    fn oldest_queued(&mut self) -> Option<MonoNs> {
        if self.oldest.is_none() {
            self.oldest = self.resources.queued.try_next();
        }
        self.oldest.as_ref().map(|queued| queued.at)
    }

    fn next_batch(&mut self) -> Arc<Batch> {
        let oldest = self.oldest.take().into_iter();
        let queued = oldest.chain(std::iter::from_fn(|| self.resources.queued.try_next()));
        let (came_in, exchanges): (Vec<MonoNs>, Vec<Finished>) =
            queued.take(BATCH).map(|queued| (queued.at, queued.finished)).unzip();
        let arrived = came_in.first().copied().unwrap_or_else(mono_now);
        let batch = Batch::new(self.next_batch, exchanges, self.resources.buffers.clone());
        self.unwritten.push_back(arrived);
        self.next_batch += 1;
        Arc::new(batch)
    }

    /// Computes what was handed out and did not come back.
    fn take_over(&mut self, now: MonoNs) -> bool {
        let mut took_over = false;
        for thread in 0..self.handed.len() {
            // One a round, so that whatever the thread gets done meanwhile is not done twice. A batch that the thread
            // claimed itself is done, and taken back in the next round.
            let Some(InHand { at, batch }) = self.handed[thread].front() else { continue };
            let is_overdue = now.since(*at) > PATIENCE && batch.computed.get().is_none();
            if is_overdue
                && batch.claim(Claimant::Coordinator)
                && let Some(InHand { batch, .. }) = self.handed[thread].pop_front()
            {
                took_over = true;
                self.relieve(batch, now);
            }
        }
        took_over
    }

    /// Computes a batch of what waits, where the record threads fall behind or only the rest is left to do.
    fn help(&mut self, now: MonoNs) -> bool {
        let Some(oldest) = self.oldest_queued() else { return false };
        let queue = &self.resources.queue;
        if now.since(oldest) <= PATIENCE && !queue.is_half_full() && !queue.is_closed() {
            return false;
        }
        let batch = self.next_batch();
        self.relieve(batch, now);
        true
    }

    /// Computes a batch that no record thread computes. What breaks down here too is lost, and nothing else with it.
    fn relieve(&mut self, batch: Arc<Batch>, now: MonoNs) {
        let start = mono_now();
        let recorder = &mut self.resources.recorder;
        let computed = recorder.compute_safely(&batch, Claimant::RecordThread);
        match &computed {
            Ok(Some(_)) => recorder.add_up_safely(&batch),
            Ok(None) => {}
            Err(_) => recorder.lose(&batch),
        }
        if let Some(computed) = computed.unwrap_or_else(|_| Some(Computed::default())) {
            self.hand_on(batch, Some(computed), now);
        }
        if !self.resources.queue.is_closed() {
            self.relief.0 += mono_now().since(start).0;
        }
    }

    /// Hands a batch to the sinks, with all that waited for it. From here on only its records in bytes are kept.
    fn hand_on(&mut self, batch: Arc<Batch>, own: Option<Computed>, now: MonoNs) {
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

    /// Lets go of what every sink has written.
    fn take_written(&mut self) {
        while let Some(Handed { phases, bytes, .. }) = self.resources.sinks.take_written() {
            self.resources.queue.finish(phases.into_iter().map(usize::from), bytes);
            self.unwritten.pop_front();
        }
    }

    /// What sinks have done, when nothing is left to do here.
    fn report_written(&mut self, now: MonoNs) {
        self.take_written();
        self.report_sinks(now);
        self.report_phases(now);
    }

    /// Says so when a file cannot be written, or keeps records waiting for a while: not at the end of a run that may last
    /// for hours.
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

    /// A phase is complete when its requests are done and all their records written; until then its progress is reported.
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
        self.reports.tell(now, incomplete.map(|(index, _)| index));
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

#[cfg(test)]
mod tests;
