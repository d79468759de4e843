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

/// Batches that are written between two looks whether a flush is due.
const MOST_AT_ONCE: usize = 64;

/// The state of a writer, for the threads that watch it.
#[derive(Default)]
pub(super) struct SinkState {
    /// Batches that it wrote, or will never write.
    pub(super) written: AtomicU64,
    /// Since when it is in the write that it is in; 0 when in none.
    pub(super) busy_since: AtomicU64,
    /// Time of all writes before it.
    in_writes: AtomicU64,
    pub(super) failure: Mutex<Option<io::Error>>,
    /// Why it cannot be written for now.
    pub(super) delay: Mutex<Option<io::Error>>,
    pub(super) ended: AtomicBool,
    /// Its thread, to be woken at the end.
    pub(super) thread: OnceLock<Thread>,
    /// The number of its thread, by which the kernel knows it; 0 while there is none.
    thread_id: AtomicI32,
}

impl SinkState {
    pub(super) fn counters(&self, now: MonoNs) -> ThreadCounters {
        let busy = MonoNs(self.busy_since.load(Relaxed)).taken().map_or(Nanos::ZERO, |since| now.since(since));
        let in_writes = Nanos(self.in_writes.load(Relaxed) + busy.0);
        ThreadCounters::of_thread(self.thread_id.load(Relaxed), in_writes, now)
    }
}

/// The end of a sink that writes; it lives on a thread of its own.
pub(crate) struct SinkWriter {
    pub(super) name: &'static str,
    pub(super) batches: Receiver<Arc<Vec<u8>>>,
    /// `None` once it failed.
    pub(super) file: Option<Box<dyn Write + Send>>,
    /// What was written is handed to the operating system at least this often, so that it survives the process.
    pub(super) flush_every: Nanos,
    pub(super) flushed: MonoNs,
    pub(super) state: Arc<SinkState>,
    /// It could not be written for now when this was last tried.
    pub(super) is_delayed: bool,
    /// Where buffers go that are written.
    pub(super) shelf: Shelf,
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
    /// Also when a file panicked: no thread may wait for what will never be written.
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
