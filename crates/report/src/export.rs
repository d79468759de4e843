//! What a kind of file must give: a record file while the run is on, an exporter when it is over.

use crate::files;
use crate::run::RunResult;
use aiperf_metrics::RecordEncoder;
use aiperf_plan::{ArtifactPlan, FileNames};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// A file that takes every record while the run is on.
pub struct RecordFile {
    /// As the ready marker names it.
    pub name: &'static str,
    pub label: &'static str,
    pub file: fn(&FileNames) -> &str,
    /// Whether a plan asks for it.
    pub wanted: fn(&ArtifactPlan) -> bool,
    /// Makes an encoder for the run with this id.
    pub encoder: fn(&str) -> Box<dyn RecordEncoder>,
}

/// Writes a finished run down.
pub(crate) struct Exporter {
    /// As the ready marker names it.
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    /// The file that the footer lists.
    pub(crate) file: fn(&FileNames) -> &str,
    /// Whether a run has something for it to write; `None` where every run has.
    pub(crate) applies: Option<fn(&RunResult) -> bool>,
    /// It says what observers saw, which is known a while after the last request.
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
