//! Where records are written while the run is on: any number of sinks, each in order of completion.

use aiperf_metrics::RecordEncoder;
use aiperf_types::{MonoNs, Nanos};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What was written is handed to the operating system at least this often, so that it survives the process.
const FLUSH_EVERY: Nanos = Nanos(250_000_000);

/// Takes every record of a run.
pub struct RecordSink {
    /// As failures name it.
    pub name: &'static str,
    /// Makes an encoder for each thread that computes records.
    pub encoder: Box<dyn Fn() -> Box<dyn RecordEncoder>>,
    /// Where the encoded records go, in order of completion.
    pub file: Box<dyn Write + Send>,
}

/// A sink that could not be written to its end. What was written before stays.
#[derive(Debug)]
pub struct SinkFailure {
    pub sink: &'static str,
    pub error: io::Error,
}

/// The records of a batch in bytes, by sink.
pub(crate) type Encoded = Vec<Vec<u8>>;

/// Brings batches back into order and writes them.
pub(crate) struct OrderedSinks {
    sinks: Vec<Open>,
    early: BTreeMap<u64, (Encoded, Size)>,
    next: u64,
    flushed: MonoNs,
    failures: Vec<SinkFailure>,
}

struct Open {
    name: &'static str,
    /// `None` once it failed.
    file: Option<Box<dyn Write + Send>>,
}

/// What a batch counts in the queue until it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) records: u64,
    pub(crate) bytes: usize,
}

impl OrderedSinks {
    pub(crate) fn new(files: Vec<(&'static str, Box<dyn Write + Send>)>, now: MonoNs) -> Self {
        let sinks = files.into_iter().map(|(name, file)| Open { name, file: Some(file) }).collect();
        Self { sinks, early: BTreeMap::new(), next: 0, flushed: now, failures: Vec::new() }
    }

    /// Takes a batch and writes all that is next in order; gives the size of what was written.
    pub(crate) fn write(&mut self, number: u64, encoded: Encoded, size: Size) -> Size {
        self.early.insert(number, (encoded, size));
        let mut written = Size::default();
        while let Some((encoded, size)) = self.early.remove(&self.next) {
            self.next += 1;
            written.records += size.records;
            written.bytes += size.bytes;
            for (sink, bytes) in self.sinks.iter_mut().zip(encoded) {
                sink.put(&mut self.failures, |file| file.write_all(&bytes));
            }
        }
        written
    }

    pub(crate) fn flush_if_due(&mut self, now: MonoNs) {
        if now.since(self.flushed) >= FLUSH_EVERY {
            self.flushed = now;
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.sinks.iter_mut().for_each(|sink| sink.put(&mut self.failures, |file| file.flush()));
    }

    /// Writes everything and says what went wrong.
    pub(crate) fn finish(mut self) -> Vec<SinkFailure> {
        self.flush();
        self.failures
    }
}

impl Open {
    /// A full disk ends the file, not the run: what was written stays, the summary is still computed.
    fn put(&mut self, failures: &mut Vec<SinkFailure>, put: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if let Some(file) = &mut self.file
            && let Err(error) = put(&mut **file)
        {
            failures.push(SinkFailure { sink: self.name, error });
            self.file = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shown(Arc<Mutex<Vec<u8>>>);

    impl Write for Shown {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const ONE: Size = Size { records: 1, bytes: 10 };

    #[test]
    fn batches_are_written_in_order_and_count_until_they_are() {
        let shown = Shown::default();
        let mut sinks = OrderedSinks::new(vec![("records", Box::new(shown.clone()))], MonoNs(0));
        assert_eq!(sinks.write(1, vec![b"b".to_vec()], ONE), Size::default());
        assert_eq!(sinks.write(2, vec![b"c".to_vec()], ONE), Size::default());
        assert_eq!(sinks.write(0, vec![b"a".to_vec()], ONE), Size { records: 3, bytes: 30 });
        assert_eq!(*shown.0.lock().unwrap(), b"abc");
        assert!(sinks.finish().is_empty());
    }

    #[test]
    fn a_sink_that_fails_is_named_once_and_the_others_go_on() {
        let shown = Shown::default();
        let files: Vec<(_, Box<dyn Write + Send>)> =
            vec![("raw", Box::new(Full)), ("records", Box::new(shown.clone()))];
        let mut sinks = OrderedSinks::new(files, MonoNs(0));
        for number in 0..3 {
            sinks.write(number, vec![b"x".to_vec(), b"y".to_vec()], ONE);
        }
        assert_eq!(*shown.0.lock().unwrap(), b"yyy");
        let failed: Vec<&str> = sinks.finish().iter().map(|failure| failure.sink).collect();
        assert_eq!(failed, ["raw"]);
    }
}
