//! The interface of a kind of file: a record file during the run, an exporter after it.

use crate::files;
use crate::run::RunResult;
use aiperf_metrics::{Metrics, RecordEncoder};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{ArtifactPlan, FileNames};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that receives every record while the run is on.
pub struct RecordFile {
    /// Its name in the ready marker.
    pub name: &'static str,
    pub label: &'static str,
    pub file: fn(&FileNames) -> &str,
    /// Whether a plan asks for it.
    pub wanted: fn(&ArtifactPlan) -> bool,
    pub open: fn(&Path, &RecordRun) -> io::Result<RecordWriting>,
}

/// The run whose records a file receives.
#[derive(Clone)]
pub struct RecordRun {
    pub benchmark_id: Arc<str>,
    /// The metrics that its records may have.
    pub metrics: Arc<Metrics>,
    pub redactor: Arc<Redactor>,
}

/// Both ends of a record file: encoders on many threads turn records into bytes, and the file's own thread writes these
/// in order of completion.
pub struct RecordWriting {
    /// Makes an encoder for each record thread.
    pub encoder: Box<dyn Fn() -> Box<dyn RecordEncoder>>,
    /// Receives the bytes of encoders. One thread writes to it, and no other thread waits for that one. Its errors are
    /// shown to the user and should state what is preserved.
    pub file: Box<dyn Write + Send>,
    /// The most bytes that it holds in memory, for any number of records.
    pub holds: usize,
    /// Completes the file when the run is summarised. If writing failed, it is dropped and leaves nothing behind.
    pub complete: Option<Completion>,
}

pub type Completion = Box<dyn FnOnce(&RunResult) -> io::Result<()> + Send>;

/// Writes a file of a finished run.
pub(crate) struct Exporter {
    /// Its name in the ready marker.
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    /// The file that the footer lists.
    pub(crate) file: fn(&FileNames) -> &str,
    /// Whether a run has something for it to write; `None` means always.
    pub(crate) applies: Option<fn(&RunResult) -> bool>,
    /// It contains results of observers, which are known some time after the last request.
    pub(crate) needs_observers: bool,
    pub(crate) write: fn(&RunResult, &mut Folder<'_>),
}

/// Where an exporter writes, and what failed there.
pub(crate) struct Folder<'a> {
    dir: &'a Path,
    failures: Vec<(PathBuf, io::Error)>,
}

impl<'a> Folder<'a> {
    pub(crate) fn new(dir: &'a Path) -> Self {
        Self { dir, failures: Vec::new() }
    }

    /// Writes a file as a whole, by a name relative to the artifact directory.
    pub(crate) fn write(&mut self, name: &str, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        let path = self.dir.join(name);
        if let Err(error) = files::write_whole(&path, fill) {
            self.failures.push((path, error));
        }
    }

    pub(crate) fn into_failures(self) -> Vec<(PathBuf, io::Error)> {
        self.failures
    }
}

/// A file of the run and its label in the footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    pub label: &'static str,
    pub path: PathBuf,
}
