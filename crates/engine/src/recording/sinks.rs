//! Where records are written while the run is on: any number of sinks, each in order of completion.
//!
//! Each sink has a thread of its own. A write may block for as long as it likes, on a disk that is busy or a server of
//! files that went away, and nobody can know beforehand: if one thread wrote to all of them, one that blocks would hold
//! up the others, and everything else that thread does. The coordinator only brings batches into order and hands
//! their bytes on; what a sink has not taken yet counts in the queue's budget, of bytes and of time, so that memory
//! has a bound and nothing new is sent while records wait for too long.
//!
//! Nobody is woken before the end: a writer looks every `LOOK_EVERY` what there is, and writes it in one go.

use crate::queue::LONGEST_WAIT;
use crate::recording::batch::{Batch, Computed};
use crate::recording::shelf::Shelf;
use crate::recording::stalls::{StallTimes, ThreadCounters};
use aiperf_metrics::RecordEncoder;
use aiperf_transport::clock::mono_now;
use aiperf_types::{MonoNs, Nanos};
use nix::unistd::gettid;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// How long a writer sleeps when there is nothing to write.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Batches that are written between two looks whether a flush is due.
const MOST_AT_ONCE: usize = 64;

/// Nothing waits for longer in a sink that keeps up.
const SHORT_WAIT: Nanos = Nanos(LONGEST_WAIT.0 / 4);
/// How often it is noted what the thread of a sink has done so far, while it keeps up.
const MEASURED_EVERY: Nanos = Nanos(LONGEST_WAIT.0 / 2);

/// Takes every record of a run.
pub struct RecordSink {
    /// As failures name it.
    pub name: &'static str,
    /// Where the records go, for people.
    pub path: PathBuf,
    /// Makes an encoder for each thread that computes records.
    pub encoder: Box<dyn Fn() -> Box<dyn RecordEncoder>>,
    /// Where the encoded records go, in order of completion. With an error of the kind `WouldBlock` it has kept what it
    /// was given, and is asked again: a full disk may have room later.
    pub file: Box<dyn Write + Send>,
    /// Bytes that it keeps in memory at most, which are taken from the queue's budget.
    pub holds: usize,
}

/// A sink that could not be written to its end. What was written before stays.
#[derive(Debug)]
pub struct SinkFailure {
    pub sink: &'static str,
    pub path: PathBuf,
    pub error: io::Error,
}

/// A sink that kept records waiting for longer than they may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkStall {
    pub path: PathBuf,
    /// How often.
    pub count: u64,
    pub total: Nanos,
    pub longest: Nanos,
    /// Whether requests waited too.
    pub held_sending: bool,
    /// What its thread did meanwhile.
    pub times: StallTimes,
}

impl SinkStall {
    fn none(path: PathBuf) -> Self {
        let times = StallTimes::default();
        Self { path, count: 0, total: Nanos::ZERO, longest: Nanos::ZERO, held_sending: false, times }
    }
}

/// What was found of a sink that stalls, or does so no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StallNews {
    /// Its oldest record has waited for so long, while its thread did this.
    Began(Nanos, StallTimes),
    /// It lasted for so long.
    Ended(Nanos),
}

/// Brings batches back into order and hands them to the sinks.
pub(crate) struct OrderedSinks {
    sinks: Vec<OpenSink>,
    /// Batches that wait for an earlier one. Their exchanges count in the queue's budget.
    early: BTreeMap<u64, Ready>,
    next: u64,
    /// What sinks were handed and not all of them have written, in order; the first is that of this number.
    handed: VecDeque<Handed>,
    first_handed: u64,
    failures: Vec<SinkFailure>,
    /// Of these, how many were told.
    told: usize,
    /// What the thread of a sink did so far.
    measure: fn(&SinkState, MonoNs) -> ThreadCounters,
}

/// A batch whose records are with the sinks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Handed {
    /// The phase of each record.
    pub(crate) phases: Vec<u16>,
    /// What its records in bytes count in the budget.
    pub(crate) bytes: usize,
    /// When the sinks got it.
    at: MonoNs,
}

struct OpenSink {
    name: &'static str,
    path: PathBuf,
    /// `None` when nothing more comes.
    batches: Option<Sender<Arc<Vec<u8>>>>,
    state: Arc<SinkState>,
    /// Since when it is stalled, where that was told.
    stalled: Option<MonoNs>,
    stall: SinkStall,
    /// What its thread had done when nothing waited for long.
    calm: Option<ThreadCounters>,
}

/// What a writer tells of itself.
#[derive(Default)]
struct SinkState {
    /// Batches that it wrote, or will never write.
    written: AtomicU64,
    /// Since when it is in the write that it is in; 0 when in none.
    busy_since: AtomicU64,
    /// Time of all writes before it.
    in_writes: AtomicU64,
    failure: Mutex<Option<io::Error>>,
    /// Why it cannot be written for now.
    delay: Mutex<Option<io::Error>>,
    ended: AtomicBool,
    /// Its thread, to be woken at the end.
    thread: OnceLock<Thread>,
    /// The number of its thread, by which the kernel knows it; 0 while there is none.
    thread_id: AtomicI32,
}

impl SinkState {
    fn counters(&self, now: MonoNs) -> ThreadCounters {
        let busy = MonoNs(self.busy_since.load(Relaxed)).taken().map_or(Nanos::ZERO, |since| now.since(since));
        let in_writes = Nanos(self.in_writes.load(Relaxed) + busy.0);
        ThreadCounters::of_thread(self.thread_id.load(Relaxed), in_writes, now)
    }
}

/// The end of a sink that writes; it lives on a thread of its own.
pub(crate) struct SinkWriter {
    name: &'static str,
    batches: Receiver<Arc<Vec<u8>>>,
    /// `None` once it failed.
    file: Option<Box<dyn Write + Send>>,
    /// What was written is handed to the operating system at least this often, so that it survives the process.
    flush_every: Nanos,
    flushed: MonoNs,
    state: Arc<SinkState>,
    /// It could not be written for now when this was last tried.
    is_delayed: bool,
    /// Where buffers go that are written.
    shelf: Shelf,
}

/// What there is to do for a writer that wrote some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrote {
    MoreToWrite,
    /// There is nothing to write for now.
    Idle,
    /// Nothing more comes, and all is with the operating system.
    Over,
}

/// Whether something is put for the last time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Yes,
    No,
}

/// A batch whose records can be written.
pub(crate) struct Ready {
    pub(crate) batch: Arc<Batch>,
    /// What the coordinator made of it; `None` where its record thread did.
    pub(crate) own: Option<Computed>,
}

impl Ready {
    pub(crate) fn computed(&self) -> Option<&Computed> {
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
        (Self { sinks, early, next: 0, handed, first_handed: 0, failures: Vec::new(), told: 0, measure }, writers)
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
        let told = std::mem::replace(&mut self.told, self.failures.len());
        &self.failures[told..]
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

    pub(crate) fn into_findings(self) -> (Vec<SinkFailure>, Vec<SinkStall>) {
        let stalls = self.sinks.into_iter().map(|sink| sink.stall).filter(|stall| stall.count > 0).collect();
        (self.failures, stalls)
    }
}

impl OpenSink {
    /// `since`: since when something waits for it.
    fn look_for_stall(
        &mut self,
        since: Option<MonoNs>,
        now: MonoNs,
        holds_sending: bool,
        measure: fn(&SinkState, MonoNs) -> ThreadCounters,
    ) -> Option<StallNews> {
        let waited = since.map_or(Nanos::ZERO, |since| now.since(since));
        let counters = || measure(&self.state, now);
        let is_calm = self.stalled.is_none() && waited < SHORT_WAIT;
        let is_old = self.calm.is_none_or(|calm| now.since(calm.at) >= MEASURED_EVERY);
        if is_calm && is_old {
            self.calm = Some(counters());
        }
        let times =
            |waited| self.calm.map_or(StallTimes::default(), |calm| StallTimes::between(calm, counters(), waited));
        match self.stalled {
            Some(stalled) if waited.0 < LONGEST_WAIT.0 / 2 => {
                let length = now.since(stalled);
                let times = times(length);
                self.stall.times.add(times);
                self.stall.total.0 += length.0;
                self.stall.longest = self.stall.longest.max(length);
                self.stalled = None;
                Some(StallNews::Ended(length))
            }
            Some(_) => {
                self.stall.held_sending |= holds_sending;
                None
            }
            None if waited > LONGEST_WAIT || (holds_sending && waited.0 > LONGEST_WAIT.0 / 2) => {
                let times = times(waited);
                self.stalled = since;
                self.stall.count += 1;
                self.stall.held_sending |= holds_sending;
                Some(StallNews::Began(waited, times))
            }
            None => None,
        }
    }
}

impl SinkWriter {
    /// Linux keeps 15 bytes of it.
    pub(crate) fn thread_name(&self) -> String {
        let name = self.name.strip_prefix("records_").unwrap_or(self.name);
        format!("sink-{name}")
    }

    /// Writes until nothing more comes.
    pub(crate) fn run(mut self) {
        self.state.thread_id.store(gettid().as_raw(), Relaxed);
        let _ = self.state.thread.set(std::thread::current());
        loop {
            match self.write_some(mono_now()) {
                Wrote::MoreToWrite => {}
                Wrote::Idle => std::thread::park_timeout(LOOK_EVERY),
                Wrote::Over => return,
            }
        }
    }

    /// Writes some of what there is, and flushes when that is due.
    pub(crate) fn write_some(&mut self, now: MonoNs) -> Wrote {
        let mut wrote = Wrote::MoreToWrite;
        for _ in 0..MOST_AT_ONCE {
            match self.batches.try_recv() {
                Ok(bytes) => {
                    self.put(Last::No, |file| file.write_all(&bytes));
                    self.shelf.give(bytes);
                    self.state.written.fetch_add(1, Release);
                    continue;
                }
                Err(TryRecvError::Empty) => wrote = Wrote::Idle,
                Err(TryRecvError::Disconnected) => wrote = Wrote::Over,
            }
            break;
        }
        if wrote == Wrote::Over || now.since(self.flushed) >= self.flush_every {
            self.flushed = now;
            self.put(if wrote == Wrote::Over { Last::Yes } else { Last::No }, |file| file.flush());
        }
        wrote
    }

    /// A file that cannot be written ends, not the run: what was written stays, the summary is still computed. A file
    /// that waits for room is tried again, up to the last time.
    fn put(&mut self, last: Last, put: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        let Some(file) = &mut self.file else { return };
        let began = mono_now();
        self.state.busy_since.store(began.0, Relaxed);
        let result = put(&mut **file);
        self.state.busy_since.store(0, Relaxed);
        self.state.in_writes.fetch_add(mono_now().since(began).0, Relaxed);
        match result {
            Ok(()) => self.is_delayed = false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && last == Last::No => {
                if !std::mem::replace(&mut self.is_delayed, true) {
                    *self.state.delay.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
            Err(error) => {
                *self.state.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                self.file = None;
            }
        }
    }
}

impl Drop for SinkWriter {
    /// Also when a file panicked: nobody waits for what will never be written.
    fn drop(&mut self) {
        self.state.busy_since.store(0, Relaxed);
        if std::thread::panicking() {
            let error = io::Error::other("whatever writes it broke down");
            self.state.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        self.file = None;
        self.state.written.store(u64::MAX, Release);
        self.state.ended.store(true, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::stalls::StallCause;
    use crate::testing::Shown;

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct NoRecords;

    impl RecordEncoder for NoRecords {
        fn encode(&mut self, _: &aiperf_metrics::RecordView<'_>, _: &mut Vec<u8>) {}
    }

    fn sink(name: &'static str, file: impl Write + Send + 'static) -> RecordSink {
        RecordSink {
            name,
            path: name.into(),
            encoder: Box::new(|| Box::new(NoRecords)),
            file: Box::new(file),
            holds: 0,
        }
    }

    fn ready(number: u64, bytes: &[&[u8]]) -> Ready {
        let batch = Arc::new(Batch::new(number, Vec::new(), Arc::new([])));
        let encoded = bytes.iter().map(|bytes| Arc::new(bytes.to_vec())).collect();
        Ready { batch, own: Some(Computed { encoded, failures: Vec::new(), odd_lengths: Vec::new() }) }
    }

    fn open(sinks: Vec<RecordSink>) -> (OrderedSinks, Vec<SinkWriter>) {
        let shelves: Vec<Shelf> = sinks.iter().map(|_| Shelf::default()).collect();
        OrderedSinks::new(sinks, &shelves, Nanos::ZERO, MonoNs(0))
    }

    fn numbers(batches: &[Ready]) -> Vec<u64> {
        batches.iter().map(|ready| ready.batch.number).collect()
    }

    fn written(sinks: &mut OrderedSinks) -> usize {
        std::iter::from_fn(|| sinks.take_written()).count()
    }

    #[test]
    fn batches_are_written_in_order_and_given_back_when_they_are() {
        let shown = Shown::default();
        let (mut sinks, mut writers) = open(vec![sink("records", shown.clone())]);
        assert!(sinks.hand_on(ready(1, &[b"b"]), MonoNs(1)).is_empty());
        assert!(sinks.hand_on(ready(2, &[b"c"]), MonoNs(1)).is_empty());
        assert_eq!(numbers(&sinks.hand_on(ready(0, &[b"a"]), MonoNs(1))), [0, 1, 2]);
        assert_eq!(written(&mut sinks), 0, "nobody wrote them yet");
        assert_eq!(writers[0].write_some(MonoNs(1)), Wrote::Idle);
        assert_eq!((written(&mut sinks), shown.text()), (3, "abc".to_owned()));
        sinks.close();
        assert!(writers[0].write_some(MonoNs(2)) == Wrote::Over && !sinks.have_ended());
        drop(writers);
        assert!(sinks.have_ended() && sinks.into_findings().0.is_empty());
    }

    #[test]
    fn a_sink_that_fails_is_named_once_and_the_others_go_on() {
        let shown = Shown::default();
        let (mut sinks, mut writers) = open(vec![sink("raw", Full), sink("records", shown.clone())]);
        for number in 0..3 {
            sinks.hand_on(ready(number, &[b"x", b"y"]), MonoNs(1));
            assert!(writers.iter_mut().all(|writer| writer.write_some(MonoNs(number)) == Wrote::Idle));
            assert_eq!(sinks.new_failures().len(), usize::from(number == 0), "told when it happens, and once");
        }
        assert_eq!((shown.text(), written(&mut sinks)), ("yyy".to_owned(), 3));
        let failed: Vec<&str> = sinks.into_findings().0.iter().map(|failure| failure.sink).collect();
        assert_eq!(failed, ["raw"]);
    }

    /// Keeps what it is given until its disk has room.
    struct Delayed {
        kept: Vec<u8>,
        has_room: Arc<AtomicBool>,
        shown: Shown,
    }

    impl Write for Delayed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.kept.extend_from_slice(bytes);
            self.flush().map(|()| bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            if !self.has_room.load(Relaxed) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.shown.write_all(&std::mem::take(&mut self.kept))
        }
    }

    #[test]
    fn a_sink_whose_disk_is_full_for_a_moment_loses_nothing() {
        for has_room_again in [true, false] {
            let (shown, has_room) = (Shown::default(), Arc::new(AtomicBool::new(false)));
            let file = Delayed { kept: Vec::new(), has_room: has_room.clone(), shown: shown.clone() };
            let (mut sinks, mut writers) = open(vec![sink("records", file)]);
            for number in 0..3 {
                sinks.hand_on(ready(number, &[b"x"]), MonoNs(1));
                assert_eq!(writers[0].write_some(MonoNs(number)), Wrote::Idle);
                assert_eq!(sinks.new_delays().len(), usize::from(number == 0), "reported when it happens, and once");
                assert!(sinks.new_failures().is_empty());
            }
            assert_eq!((written(&mut sinks), shown.text()), (3, String::new()));
            has_room.store(has_room_again, Relaxed);
            sinks.close();
            assert_eq!(writers[0].write_some(MonoNs(4)), Wrote::Over);
            assert_eq!(shown.text(), if has_room_again { "xxx" } else { "" });
            assert_eq!(sinks.new_failures().len(), usize::from(!has_room_again));
        }
    }

    /// Blocks in every write until it is let go.
    struct Blocked(Receiver<()>);

    impl Write for Blocked {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.recv().map(|()| bytes.len()).map_err(io::Error::other)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_sink_that_blocks_holds_up_no_other_and_is_named_with_the_time_it_took() {
        let (shown, (go, blocked)) = (Shown::default(), mpsc::channel());
        let (mut sinks, writers) = open(vec![sink("raw", Blocked(blocked)), sink("records", shown.clone())]);
        sinks.measure = |_, now| ThreadCounters { at: now, in_writes: Nanos(now.0), ..ThreadCounters::default() };
        assert!(sinks.look_for_stalls(MonoNs(1), false).is_empty());
        let threads: Vec<_> = writers.into_iter().map(|writer| std::thread::spawn(|| writer.run())).collect();
        (0..2).for_each(|number| drop(sinks.hand_on(ready(number, &[b"x", b"y"]), MonoNs(1))));
        let wait_until = |done: &mut dyn FnMut() -> bool| {
            while !done() {
                std::thread::yield_now();
            }
        };
        wait_until(&mut || shown.text() == "yy");
        assert!(sinks.take_written().is_none(), "not all sinks have it");
        let at = |nanos: u64| MonoNs(1 + nanos);
        assert!(sinks.look_for_stalls(at(LONGEST_WAIT.0), false).is_empty(), "it may yet be in time");
        let five = Nanos(5_000_000_000);
        let [(path, StallNews::Began(waited, times))] = sinks.look_for_stalls(at(five.0), false)[..] else {
            panic!("it began")
        };
        assert_eq!((path, waited, times.cause()), (Path::new("raw"), five, StallCause::Writes));
        assert!(sinks.look_for_stalls(at(five.0), false).is_empty(), "told once");
        (0..2).for_each(|_| go.send(()).unwrap());
        wait_until(&mut || sinks.sinks[0].state.written.load(Acquire) == 2);
        assert_eq!(sinks.look_for_stalls(at(five.0), true), [(Path::new("raw"), StallNews::Ended(five))]);
        assert_eq!(written(&mut sinks), 2);
        sinks.close();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let (failures, stalls) = sinks.into_findings();
        let times = stalls[0].times;
        let stall = SinkStall { count: 1, total: five, longest: five, times, ..SinkStall::none("raw".into()) };
        assert!(failures.is_empty() && stalls == [stall], "{stalls:?}");
        assert_eq!(times.cause(), StallCause::Writes);
    }

    #[test]
    fn a_sink_whose_writes_end_is_named_too_when_its_oldest_record_waits_for_too_long() {
        let tenths = |tenths: u64| MonoNs(tenths * 100_000_000);
        let (mut sinks, mut writers) = open(vec![sink("slow", io::sink()), sink("fast", io::sink())]);
        // Its thread never gets a core, and its writes last as long.
        sinks.measure = |_, now| ThreadCounters {
            at: now,
            in_writes: Nanos(now.0),
            core_wait: Nanos(now.0),
            ..ThreadCounters::default()
        };
        // A batch each tenth of a second, of which the slow one writes every third in time.
        for number in 0..20 {
            sinks.hand_on(ready(number, &[b"x", b"y"]), tenths(number));
            writers[1].write_some(tenths(number));
            sinks.sinks[0].state.written.store(number / 3, Release);
            let news = sinks.look_for_stalls(tenths(number), number > 11);
            let began = news.iter().map(|(path, news)| match news {
                StallNews::Began(waited, times) => (*path, *waited, times.cause()),
                StallNews::Ended(_) => panic!("it goes on"),
            });
            let wanted = [(Path::new("slow"), Nanos(800_000_000), StallCause::NoCore)];
            assert_eq!(began.collect::<Vec<_>>(), if number == 11 { &wanted[..] } else { &[] }, "{number}");
            written(&mut sinks);
        }
        sinks.sinks[0].state.written.store(20, Release);
        let ended = StallNews::Ended(Nanos(1_700_000_000));
        assert_eq!(sinks.look_for_stalls(tenths(20), false), [(Path::new("slow"), ended)]);
        let (_, stalls) = sinks.into_findings();
        assert!(stalls.len() == 1 && stalls[0].held_sending, "{stalls:?}");
        assert_eq!(stalls[0].times.cause(), StallCause::NoCore);
    }

    #[test]
    fn threads_of_writers_differ_in_the_part_of_their_names_that_is_kept() {
        let names = ["records", "records_parquet", "raw", "outputs"];
        let (_, writers) = open(names.map(|name| sink(name, io::sink())).into());
        let names: Vec<String> = writers.iter().map(SinkWriter::thread_name).collect();
        assert_eq!(names, ["sink-records", "sink-parquet", "sink-raw", "sink-outputs"]);
        assert!(names.iter().all(|name| name.len() <= 15));
    }

    #[test]
    fn a_writer_is_woken_when_nothing_more_comes() {
        let (mut sinks, writers) = open(vec![sink("records", Shown::default())]);
        let threads: Vec<_> = writers.into_iter().map(|writer| std::thread::spawn(|| writer.run())).collect();
        while sinks.sinks[0].state.thread.get().is_none() {
            std::thread::yield_now();
        }
        sinks.close();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(sinks.have_ended());
    }

    #[test]
    fn a_sink_that_breaks_down_is_a_failure_and_nobody_waits_for_it() {
        struct Broken;

        impl Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                panic!("as the test wants it");
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        let (mut sinks, writers) = open(vec![sink("raw", Broken)]);
        sinks.hand_on(ready(0, &[b"x"]), MonoNs(1));
        let threads: Vec<_> = writers.into_iter().map(|writer| std::thread::spawn(|| writer.run())).collect();
        assert!(threads.into_iter().all(|thread| thread.join().is_err()));
        assert_eq!((written(&mut sinks), sinks.have_ended(), sinks.new_failures().len()), (1, true, 1));
    }
}
