//! Every kind of file that a run may leave. One table: what is removed before a run, what the footer lists and what the
//! ready marker names follow from it.

use crate::artifacts::{INPUTS, LOG};
use crate::files;
use crate::run::RunResult;
use crate::{console, phases, records_jsonl, summary_csv, summary_json, timeslices_csv, timeslices_json};
use aiperf_metrics::RecordEncoder;
use aiperf_plan::{ArtifactPlan, FileNames};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Every kind, in the order the footer lists them.
pub(crate) const KINDS: &[FileKind] = &[
    FileKind::Export(&summary_csv::EXPORTER),
    FileKind::Export(&summary_json::EXPORTER),
    FileKind::Records(&records_jsonl::SINK),
    FileKind::OfOthers { label: "Raw Records", file: |names| &names.raw_jsonl },
    FileKind::Export(&timeslices_csv::EXPORTER),
    FileKind::Export(&timeslices_json::EXPORTER),
    FileKind::Prepared { label: "Inputs JSON", file: INPUTS },
    FileKind::Export(&console::EXPORTER),
    FileKind::Export(&phases::EXPORTER),
    FileKind::Prepared { label: "Log File", file: LOG },
];

/// One kind of file, by when it is written.
pub(crate) enum FileKind {
    /// Before the load, or from outside, whatever the plan says.
    Prepared { label: &'static str, file: &'static str },
    /// While the run is on, record by record.
    Records(&'static RecordFile),
    /// When the run is over.
    Export(&'static Exporter),
    /// Not by this program: what another left there must not be taken for this run's.
    OfOthers { label: &'static str, file: fn(&FileNames) -> &str },
}

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
    pub(crate) write: fn(&RunResult, &mut Folder<'_>),
}

impl FileKind {
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Prepared { label, .. } | Self::OfOthers { label, .. } => label,
            Self::Records(kind) => kind.label,
            Self::Export(kind) => kind.label,
        }
    }

    pub(crate) fn file<'a>(&self, names: &'a FileNames) -> &'a str {
        match self {
            Self::Prepared { file, .. } => file,
            Self::OfOthers { file, .. } => file(names),
            Self::Records(kind) => (kind.file)(names),
            Self::Export(kind) => (kind.file)(names),
        }
    }

    /// Whether an earlier run's file could be taken for this one's: it is not written by every run.
    pub(crate) fn may_be_stale(&self) -> bool {
        match self {
            Self::Prepared { .. } => false,
            Self::Records(_) | Self::OfOthers { .. } => true,
            Self::Export(kind) => kind.applies.is_some(),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_kinds_share_a_file_or_a_label() {
        let names = FileNames::new(Some("run"));
        let files: BTreeSet<&str> = KINDS.iter().map(|kind| kind.file(&names)).collect();
        let labels: BTreeSet<&str> = KINDS.iter().map(FileKind::label).collect();
        assert_eq!((files.len(), labels.len()), (KINDS.len(), KINDS.len()));
    }
}
