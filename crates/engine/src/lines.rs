//! Record lines in order of completion, written by whichever record thread is there. No thread waits for another:
//! batches go into a queue, and the one that finds the file free writes what is next.

use aiperf_metrics::RecordMetrics;
use aiperf_types::{Measured, RecordMeta};
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines are on disk at most this long after they were made.
const FLUSH_EVERY: Duration = Duration::from_millis(500);

/// Puts one record into a line; each record thread has its own.
pub trait LineWriter: Send {
    /// Appends the line of a record.
    fn write(&mut self, out: &mut Vec<u8>, meta: &RecordMeta, measured: &Measured, metrics: &RecordMetrics);
}

/// Where lines go.
pub trait LineSink: Send {
    /// Appends whole lines.
    fn append(&mut self, lines: &[u8]) -> io::Result<()>;
    /// Makes sure that what was appended can be read by others.
    fn flush(&mut self) -> io::Result<()>;
}

/// Brings batches into order.
pub(crate) struct OrderedLines {
    sender: Sender<(u64, Vec<u8>)>,
    state: Mutex<State>,
}

struct State {
    receiver: Receiver<(u64, Vec<u8>)>,
    early: BTreeMap<u64, Vec<u8>>,
    next: u64,
    sink: Option<Box<dyn LineSink>>,
    failure: Option<io::Error>,
    flushed: Instant,
}

impl OrderedLines {
    pub(crate) fn new(sink: Option<Box<dyn LineSink>>) -> Self {
        let (sender, receiver) = mpsc::channel();
        let state = State { receiver, early: BTreeMap::new(), next: 0, sink, failure: None, flushed: Instant::now() };
        Self { sender, state: Mutex::new(state) }
    }

    /// Hands in the lines of a batch.
    pub(crate) fn submit(&self, batch: u64, lines: Vec<u8>) {
        // The receiver lives as long as this value: sending cannot fail.
        let _ = self.sender.send((batch, lines));
        if let Ok(mut state) = self.state.try_lock() {
            state.write_ready();
        }
    }

    /// Flushes when it is time.
    pub(crate) fn tick(&self) {
        if let Ok(mut state) = self.state.try_lock() {
            state.write_ready();
            if state.flushed.elapsed() >= FLUSH_EVERY {
                state.flush();
            }
        }
    }

    /// Writes everything and says what went wrong, if anything did.
    pub(crate) fn finish(&self) -> Option<io::Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.write_ready();
        state.flush();
        state.failure.take()
    }
}

impl State {
    fn write_ready(&mut self) {
        while let Ok((batch, lines)) = self.receiver.try_recv() {
            self.early.insert(batch, lines);
        }
        while let Some(lines) = self.early.remove(&self.next) {
            self.next += 1;
            let Some(sink) = &mut self.sink else { continue };
            if let Err(error) = sink.append(&lines) {
                self.fail(error);
            }
        }
    }

    fn flush(&mut self) {
        self.flushed = Instant::now();
        if let Some(sink) = &mut self.sink
            && let Err(error) = sink.flush()
        {
            self.fail(error);
        }
    }

    /// A full disk ends the file, not the run: what was written stays, the summary is still computed.
    fn fail(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
        self.sink = None;
    }
}
