//! What a kind of file must give: a record file while the run is on, an exporter when it is over.

use crate::files;
use crate::run::RunResult;
use aiperf_metrics::{Metrics, RecordEncoder};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{ArtifactPlan, FileNames};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that takes every record while the run is on.
pub struct RecordFile {
    /// As the ready marker names it.
    pub name: &'static str,
    pub label: &'static str,
    pub file: fn(&FileNames) -> &str,
    /// Whether a plan asks for it.
    pub wanted: fn(&ArtifactPlan) -> bool,
    pub open: fn(&Path, &RecordRun) -> io::Result<RecordWriting>,
}

/// The run whose records a file takes.
#[derive(Clone)]
pub struct RecordRun {
    pub benchmark_id: Arc<str>,
    /// The metrics that its records may have.
    pub metrics: Arc<Metrics>,
    pub redactor: Arc<Redactor>,
}

/// Both ends of a record file: encoders make bytes of records on many threads, and a thread of the file's own writes these
/// in order of completion.
pub struct RecordWriting {
    /// Makes an encoder for each thread that computes records.
    pub encoder: Box<dyn Fn() -> Box<dyn RecordEncoder>>,
    /// Takes what encoders made. It is written to by one thread, which no other waits for. Its errors are shown
    /// to the user, who wants to know what is kept.
    pub file: Box<dyn Write + Send>,
    /// Bytes that it keeps in memory at most, whatever the number of records.
    pub holds: usize,
    /// What is left to do when the run is summed up; dropped where writing failed, and then it leaves nothing behind.
    pub complete: Option<Completion>,
}

pub type Completion = Box<dyn FnOnce(&RunResult) -> io::Result<()> + Send>;

/// Writes a finished run down.
pub(crate) struct Exporter {
    /// As the ready marker names it.
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    /// The file that the footer lists.
    pub(crate) file: fn(&FileNames) -> &str,
    /// Whether a run has something for it to write; `None` where every run has.
    pub(crate) applies: Option<fn(&RunResult) -> bool>,
    /// It contains what observers saw, which is known a while after the last request.
    pub(crate) needs_observers: bool,
    pub(crate) write: fn(&RunResult, &mut Folder<'_>),
}

/// Where an exporter writes, and what went wrong there.
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

/// A file of the run and what it is called in the footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    pub label: &'static str,
    pub path: PathBuf,
}
