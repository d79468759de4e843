//! Where records are written while the run is on: any number of sinks, each in order of completion.
//!
//! Each sink has its own thread. A write may block without limit, on a busy disk or a file server that does not
//! respond. If one thread wrote to all sinks, a blocked sink would delay the others. The coordinator only brings
//! batches into order and forwards their bytes. Bytes that a sink has not written count in the queue's budgets of bytes
//! and of time: memory is bounded, and no new request is sent while records wait for too long.
//!
//! No writer is woken before the end. Each looks for batches every `LOOK_EVERY`, and writes them in one go.
//!
//! - `writer`: the end of a sink that writes
//! - `stall`: sinks that keep records waiting for too long

mod stall;
mod writer;

pub(crate) use stall::StallNews;
pub(crate) use writer::SinkWriter;
#[cfg(test)]
pub(crate) use writer::Wrote;

use crate::recording::batch::{Batch, BatchRecords};
use crate::recording::shelf::Shelf;
use crate::recording::stalls::ThreadCounters;
use aiperf_metrics::{RecordEncoder, SinkStall};
use aiperf_types::{MonoNs, Nanos};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::mpsc::{self, Sender};
use std::thread::Thread;
use writer::SinkState;

/// Receives every record of a run.
pub struct RecordSink {
    /// Its name in failures.
    pub name: &'static str,
    /// The file, as messages name it.
    pub path: PathBuf,
    /// Makes an encoder for each thread that computes records.
    pub encoder: Box<dyn Fn() -> Box<dyn RecordEncoder>>,
    /// Receives the encoded records in order of completion. An error of the kind `WouldBlock` means that it has kept
    /// the bytes and must be called again: a full disk may have room later.
    pub file: Box<dyn Write + Send>,
    /// The most bytes that it keeps in memory. They are taken from the queue's budget.
    pub holds: usize,
}

/// A sink that could not be written completely. Earlier records stay in the file.
#[derive(Debug)]
pub struct SinkFailure {
    pub sink: &'static str,
    pub path: PathBuf,
    pub error: io::Error,
}

/// Brings batches into order and gives them to the sinks.
pub(crate) struct OrderedSinks {
    sinks: Vec<OpenSink>,
    /// Batches that wait for an earlier one. Their exchanges count in the queue's budget.
    early: BTreeMap<u64, Ready>,
    next: u64,
    /// Batches that the sinks have and not all of them have written, in order.
    handed: VecDeque<Handed>,
    /// The number of the first of them.
    first_handed: u64,
    failures: Vec<SinkFailure>,
    /// How many of them were reported.
    reported: usize,
    /// Reads the counters of a sink's thread.
    measure: fn(&SinkState, MonoNs) -> ThreadCounters,
}

/// A batch whose records are with the sinks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Handed {
    /// The phase of each record.
    pub(crate) phases: Vec<u16>,
    /// The size of its encoded records in the budget.
    pub(crate) bytes: usize,
    /// When the sinks got it.
    at: MonoNs,
}

struct OpenSink {
    name: &'static str,
    path: PathBuf,
    /// `None` when no more batches follow.
    batches: Option<Sender<Arc<Vec<u8>>>>,
    state: Arc<SinkState>,
    /// The start of a reported stall.
    stalled: Option<MonoNs>,
    stall: SinkStall,
    /// The counters of its thread when no record had waited for long.
    calm: Option<ThreadCounters>,
}

/// A batch whose records can be written.
pub(crate) struct Ready {
    pub(crate) batch: Arc<Batch>,
    /// Its records, if the coordinator took the batch over; `None` if the thread that took it computed them.
    pub(crate) own: Option<BatchRecords>,
}

impl Ready {
    pub(crate) fn computed(&self) -> Option<&BatchRecords> {
        self.own.as_ref().or(self.batch.computed.get())
    }

    fn encoded(&self) -> &[Arc<Vec<u8>>] {
        self.computed().map_or(&[], |computed| computed.encoded.as_slice())
    }

    /// What its records in bytes hold in memory.
    pub(crate) fn encoded_bytes(&self) -> usize {
        self.encoded().iter().map(|bytes| bytes.capacity()).sum()
    }
}

impl OrderedSinks {
    /// The sinks, and those who write to them.
    pub(crate) fn new(
        sinks: Vec<RecordSink>,
        shelves: &[Shelf],
        flush_every: Nanos,
        now: MonoNs,
    ) -> (Self, Vec<SinkWriter>) {
        let open = |(RecordSink { name, path, file, .. }, shelf): (RecordSink, &Shelf)| {
            let ((sender, batches), state) = (mpsc::channel(), Arc::<SinkState>::default());
            let (file, shelf) = (Some(file), shelf.clone());
            let (writer_state, is_delayed) = (state.clone(), false);
            let writer =
                SinkWriter { name, batches, file, flush_every, flushed: now, state: writer_state, is_delayed, shelf };
            let stall = SinkStall::none(path.clone());
            (OpenSink { name, path, batches: Some(sender), state, stalled: None, stall, calm: None }, writer)
        };
        let (sinks, writers) = sinks.into_iter().zip(shelves).map(open).unzip();
        let (early, handed, measure) = (BTreeMap::new(), VecDeque::new(), SinkState::counters);
        (Self { sinks, early, next: 0, handed, first_handed: 0, failures: Vec::new(), reported: 0, measure }, writers)
    }

    /// Takes a batch and hands on all that is next in order; gives the batches that were handed on.
    pub(crate) fn hand_on(&mut self, ready: Ready, now: MonoNs) -> Vec<Ready> {
        self.early.insert(ready.batch.number, ready);
        let mut handed = Vec::new();
        while let Some(ready) = self.early.remove(&self.next) {
            self.next += 1;
            for (at, sink) in self.sinks.iter().enumerate() {
                // Of a batch that could not be computed there is nothing to write; it is counted all the same.
                let bytes = ready.encoded().get(at).cloned().unwrap_or_default();
                // A writer that is gone is found out by what it leaves.
                let _ = sink.batches.as_ref().map(|batches| batches.send(bytes));
            }
            let phases = ready.batch.exchanges.iter().map(|exchange| exchange.tag.phase.0).collect();
            self.handed.push_back(Handed { phases, bytes: ready.encoded_bytes(), at: now });
            handed.push(ready);
        }
        handed
    }

    /// The next batch that every sink is done with.
    pub(crate) fn take_written(&mut self) -> Option<Handed> {
        let written = self.sinks.iter().map(|sink| sink.state.written.load(Acquire)).min();
        if written.is_some_and(|written| written <= self.first_handed) {
            return None;
        }
        let handed = self.handed.pop_front()?;
        self.first_handed += 1;
        Some(handed)
    }

    /// How many batches were handed on.
    pub(crate) fn handed_on(&self) -> u64 {
        self.next
    }

    /// Nothing more comes: what is left is written at once.
    pub(crate) fn close(&mut self) {
        for sink in &mut self.sinks {
            sink.batches = None;
            sink.state.thread.get().into_iter().for_each(Thread::unpark);
        }
    }

    /// Whether every writer has written what it had, to the operating system, and went.
    pub(crate) fn have_ended(&self) -> bool {
        self.sinks.iter().all(|sink| sink.state.ended.load(Acquire))
    }

    /// Sinks that failed since this was asked last.
    pub(crate) fn new_failures(&mut self) -> &[SinkFailure] {
        for OpenSink { name, path, state, .. } in &self.sinks {
            let failure = state.failure.try_lock().ok().and_then(|mut failure| failure.take());
            self.failures.extend(failure.map(|error| SinkFailure { sink: name, path: path.clone(), error }));
        }
        let reported = std::mem::replace(&mut self.reported, self.failures.len());
        &self.failures[reported..]
    }

    /// Sinks that cannot be written for now, and why; each time once.
    pub(crate) fn new_delays(&self) -> Vec<(&Path, io::Error)> {
        let delay = |sink: &OpenSink| sink.state.delay.try_lock().ok().and_then(|mut delay| delay.take());
        self.sinks.iter().filter_map(|sink| Some((sink.path.as_path(), delay(sink)?))).collect()
    }

    /// Looks which sinks stall, or do no more; gives the path of each of them. One that blocks has not come back from a
    /// write; one that is slow has, and still what it was given waits for long.
    pub(crate) fn look_for_stalls(&mut self, now: MonoNs, holds_sending: bool) -> Vec<(&Path, StallNews)> {
        let Self { sinks, handed, first_handed, measure, .. } = self;
        let since = |state: &SinkState| {
            let ahead = state.written.load(Acquire).saturating_sub(*first_handed);
            let oldest = usize::try_from(ahead).ok().and_then(|at| handed.get(at));
            let busy_since = MonoNs(state.busy_since.load(Relaxed)).taken();
            oldest.map(|handed| handed.at).into_iter().chain(busy_since).min()
        };
        sinks
            .iter_mut()
            .filter_map(|sink| {
                let news = sink.look_for_stall(since(&sink.state), now, holds_sending, *measure)?;
                Some((sink.path.as_path(), news))
            })
            .collect()
    }

    pub(crate) fn into_reports(self) -> (Vec<SinkFailure>, Vec<SinkStall>) {
        let stalls = self.sinks.into_iter().map(|sink| sink.stall).filter(|stall| stall.count > 0).collect();
        (self.failures, stalls)
    }
}

#[cfg(test)]
mod tests;
