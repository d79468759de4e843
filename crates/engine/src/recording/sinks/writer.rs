//! The end of a sink that writes, on a thread of its own.

use crate::recording::shelf::Shelf;
use crate::recording::stalls::ThreadCounters;
use aiperf_transport::clock::mono_now;
use aiperf_types::{MonoNs, Nanos};
use nix::unistd::gettid;
use std::io::{self, Write};
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// How long a writer sleeps when there is nothing to write.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The batches that are written between two checks for a due flush.
const MOST_AT_ONCE: usize = 64;

/// The state of a writer, for the threads that watch it.
#[derive(Default)]
pub(super) struct SinkState {
    /// Batches that it wrote, or will never write.
    pub(super) written: AtomicU64,
    /// The start of the current write; 0 if there is none.
    pub(super) busy_since: AtomicU64,
    /// The time of all earlier writes.
    in_writes: AtomicU64,
    pub(super) failure: Mutex<Option<io::Error>>,
    /// Why it cannot be written at the moment.
    pub(super) delay: Mutex<Option<io::Error>>,
    pub(super) ended: AtomicBool,
    /// Its thread, which is woken at the end.
    pub(super) thread: OnceLock<Thread>,
    /// The kernel's id of its thread; 0 before the thread runs.
    thread_id: AtomicI32,
}

impl SinkState {
    pub(super) fn counters(&self, now: MonoNs) -> ThreadCounters {
        let busy = MonoNs(self.busy_since.load(Relaxed)).taken().map_or(Nanos::ZERO, |since| now.since(since));
        let in_writes = Nanos(self.in_writes.load(Relaxed) + busy.0);
        ThreadCounters::of_thread(self.thread_id.load(Relaxed), in_writes, now)
    }
}

/// The end of a sink that writes. It runs on its own thread.
pub(crate) struct SinkWriter {
    pub(super) name: &'static str,
    pub(super) batches: Receiver<Arc<Vec<u8>>>,
    /// `None` after a failure.
    pub(super) file: Option<Box<dyn Write + Send>>,
    /// The interval of flushes to the operating system. Flushed bytes survive the process.
    pub(super) flush_every: Nanos,
    pub(super) flushed: MonoNs,
    pub(super) state: Arc<SinkState>,
    /// The last write was delayed.
    pub(super) is_delayed: bool,
    /// Takes written buffers back.
    pub(super) shelf: Shelf,
}

/// What a writer does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrote {
    MoreToWrite,
    /// There is nothing to write at the moment.
    Idle,
    /// No more batches follow, and all were flushed.
    Over,
}

/// Whether a write is the last one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Yes,
    No,
}

impl SinkWriter {
    /// Linux keeps the first 15 bytes.
    pub(crate) fn thread_name(&self) -> String {
        let name = self.name.strip_prefix("records_").unwrap_or(self.name);
        format!("sink-{name}")
    }

    /// Writes until no more batches follow.
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

    /// Writes some batches, and flushes if that is due.
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

    /// An error ends the file and not the run: earlier records stay in the file, and the summary is still computed. A
    /// file that waits for room is tried again until the last write.
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
    /// Runs after a panic of the file too: no thread may wait for a write that never comes.
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
