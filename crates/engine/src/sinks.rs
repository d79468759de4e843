//! Where records are written while the run is on: any number of sinks, each in order of completion.

use crate::queue::Batch;
use crate::recorder::Computed;
use aiperf_metrics::RecordEncoder;
use aiperf_types::{MonoNs, Nanos};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Takes every record of a run.
pub struct RecordSink {
    /// As failures name it.
    pub name: &'static str,
    /// Where the records go, for people.
    pub path: PathBuf,
    /// Makes an encoder for each thread that computes records.
    pub encoder: Box<dyn Fn() -> Box<dyn RecordEncoder>>,
    /// Where the encoded records go, in order of completion.
    pub file: Box<dyn Write + Send>,
}

/// A sink that could not be written to its end. What was written before stays.
#[derive(Debug)]
pub struct SinkFailure {
    pub sink: &'static str,
    pub path: PathBuf,
    pub error: io::Error,
}

/// The records of a batch in bytes, by sink.
pub(crate) type Encoded = Vec<Vec<u8>>;

/// Brings batches back into order and writes them.
pub(crate) struct OrderedSinks {
    sinks: Vec<OpenSink>,
    /// Batches that wait for an earlier one. Their exchanges count in the queue's budget until they are written.
    early: BTreeMap<u64, Ready>,
    next: u64,
    /// What was written is handed to the operating system at least this often, so that it survives the process.
    flush_every: Nanos,
    flushed: MonoNs,
    failures: Vec<SinkFailure>,
    /// Of these, how many were told.
    told: usize,
}

struct OpenSink {
    name: &'static str,
    path: PathBuf,
    /// `None` once it failed.
    file: Option<Box<dyn Write + Send>>,
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

    fn encoded(&self) -> &[Vec<u8>] {
        self.computed().map_or(&[], |computed| computed.encoded.as_slice())
    }
}

impl OrderedSinks {
    pub(crate) fn new(sinks: Vec<RecordSink>, flush_every: Nanos, now: MonoNs) -> Self {
        let open = |RecordSink { name, path, file, .. }| OpenSink { name, path, file: Some(file) };
        let sinks = sinks.into_iter().map(open).collect();
        Self { sinks, early: BTreeMap::new(), next: 0, flush_every, flushed: now, failures: Vec::new(), told: 0 }
    }

    /// Takes a batch and writes all that is next in order; gives the batches that were written.
    pub(crate) fn write(&mut self, ready: Ready) -> Vec<Ready> {
        self.early.insert(ready.batch.number, ready);
        let mut written = Vec::new();
        while let Some(ready) = self.early.remove(&self.next) {
            self.next += 1;
            for (sink, bytes) in self.sinks.iter_mut().zip(ready.encoded()) {
                sink.put(&mut self.failures, |file| file.write_all(bytes));
            }
            written.push(ready);
        }
        written
    }

    pub(crate) fn flush_if_due(&mut self, now: MonoNs) {
        if now.since(self.flushed) >= self.flush_every {
            self.flushed = now;
            self.flush();
        }
    }

    pub(crate) fn flush(&mut self) {
        self.sinks.iter_mut().for_each(|sink| sink.put(&mut self.failures, |file| file.flush()));
    }

    /// Sinks that failed since this was asked last.
    pub(crate) fn new_failures(&mut self) -> &[SinkFailure] {
        let told = std::mem::replace(&mut self.told, self.failures.len());
        &self.failures[told..]
    }

    pub(crate) fn into_failures(self) -> Vec<SinkFailure> {
        self.failures
    }
}

impl OpenSink {
    /// A full disk ends the file, not the run: what was written stays, the summary is still computed.
    fn put(&mut self, failures: &mut Vec<SinkFailure>, put: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if let Some(file) = &mut self.file
            && let Err(error) = put(&mut **file)
        {
            failures.push(SinkFailure { sink: self.name, path: self.path.clone(), error });
            self.file = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        RecordSink { name, path: name.into(), encoder: Box::new(|| Box::new(NoRecords)), file: Box::new(file) }
    }

    fn ready(number: u64, bytes: &[&[u8]]) -> Ready {
        let batch = Arc::new(Batch::new(number, Vec::new(), Arc::new([])));
        let encoded = bytes.iter().map(|bytes| bytes.to_vec()).collect();
        Ready { batch, own: Some(Computed { encoded, failures: Vec::new(), odd_lengths: Vec::new() }) }
    }

    #[test]
    fn batches_are_written_in_order_and_given_back_when_they_are() {
        let shown = Shown::default();
        let mut sinks = OrderedSinks::new(vec![sink("records", shown.clone())], Nanos::ZERO, MonoNs(0));
        assert!(sinks.write(ready(1, &[b"b"])).is_empty());
        assert!(sinks.write(ready(2, &[b"c"])).is_empty());
        let written: Vec<u64> = sinks.write(ready(0, &[b"a"])).iter().map(|ready| ready.batch.number).collect();
        assert_eq!((written, shown.text()), (vec![0, 1, 2], "abc".to_owned()));
        assert!(sinks.into_failures().is_empty());
    }

    #[test]
    fn a_sink_that_fails_is_named_once_and_the_others_go_on() {
        let shown = Shown::default();
        let mut sinks =
            OrderedSinks::new(vec![sink("raw", Full), sink("records", shown.clone())], Nanos::ZERO, MonoNs(0));
        for number in 0..3 {
            sinks.write(ready(number, &[b"x", b"y"]));
            assert_eq!(sinks.new_failures().len(), usize::from(number == 0), "told when it happens, and once");
        }
        assert_eq!(shown.text(), "yyy");
        let failed: Vec<&str> = sinks.into_failures().iter().map(|failure| failure.sink).collect();
        assert_eq!(failed, ["raw"]);
    }
}
