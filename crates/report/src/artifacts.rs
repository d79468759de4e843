//! The artifact directory: prepared before a run, filled during it and after it.
//!
//! Exporters do not depend on each other: one that fails is reported, and the others still write.

use crate::export::{Folder, RecordFile};
use crate::files::{self, LinesFile};
use crate::inputs_json::write_inputs;
use crate::kinds::{FileKind, INPUTS, KINDS, LOG};
use crate::marker::{READY_MARKER, ready_marker};
use crate::run::RunResult;
use aiperf_plan::ArtifactPlan;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The directory cannot be made or written to.
    #[error(
        "cannot write to the artifact directory {}: {source}\n  every result of a run is written there\n  \
         try: --artifact-dir with a directory that can be written to", dir.display()
    )]
    Directory { dir: PathBuf, source: io::Error },
    /// A file in it cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// An exporter that failed.
#[derive(Debug)]
pub struct ExportFailure {
    /// Name of the exporter, as the ready marker lists it.
    pub exporter: &'static str,
    pub error: ReportError,
}

impl ExportFailure {
    /// An exporter that could not write a file.
    pub fn of(exporter: &'static str, path: PathBuf, source: io::Error) -> Self {
        Self { exporter, error: ReportError::File { path, source } }
    }
}

/// A file of the run and what it is called in the footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    pub label: &'static str,
    pub path: PathBuf,
}

/// What came of writing a run down.
#[derive(Debug, Default)]
pub struct Written {
    /// Files that are there, in the order the footer lists them.
    pub files: Vec<WrittenFile>,
    pub failures: Vec<ExportFailure>,
}

/// A prepared artifact directory.
#[derive(Clone, Debug)]
pub struct Artifacts {
    plan: ArtifactPlan,
}

/// A record file that is open for the run.
pub struct OpenRecordFile {
    pub kind: &'static RecordFile,
    pub path: PathBuf,
    pub file: LinesFile,
}

impl Artifacts {
    /// Makes the directory and makes sure that it can be written to. Nothing in it is touched.
    pub fn prepare(plan: &ArtifactPlan) -> Result<Self, ReportError> {
        std::fs::create_dir_all(&plan.dir)
            .and_then(|()| probe(&plan.dir))
            .map_err(|source| ReportError::Directory { dir: plan.dir.clone(), source })?;
        Ok(Self { plan: plan.clone() })
    }

    /// Removes what an earlier run left and this one may not write, so that nothing of it is taken for this run's.
    pub fn remove_stale(&self) -> Result<(), ReportError> {
        let stale = KINDS.iter().filter(|kind| kind.may_be_stale()).map(|kind| kind.file(&self.plan.names));
        std::iter::once(READY_MARKER)
            .chain(stale)
            .try_for_each(|name| files::remove_if_there(&self.path(name)))
            .map_err(|source| ReportError::Directory { dir: self.plan.dir.clone(), source })
    }

    pub fn dir(&self) -> &Path {
        &self.plan.dir
    }

    /// Where the log belongs.
    pub fn log_file(&self) -> PathBuf {
        self.path(LOG)
    }

    /// Opens every file that takes records while the run is on.
    pub fn open_record_files(&self) -> Result<Vec<OpenRecordFile>, ReportError> {
        let kinds = KINDS.iter().filter_map(|kind| match kind {
            FileKind::Records(kind) if (kind.wanted)(&self.plan) => Some(*kind),
            _ => None,
        });
        let open = |kind: &'static RecordFile| {
            let path = self.path((kind.file)(&self.plan.names));
            match LinesFile::create(&path) {
                Ok(file) => Ok(OpenRecordFile { kind, path, file }),
                Err(source) => Err(ReportError::File { path, source }),
            }
        };
        kinds.map(open).collect()
    }

    /// Writes `inputs.json`: for each session its id and the body of each turn.
    pub fn write_inputs<S, B, T>(&self, sessions: S) -> Result<(), ReportError>
    where
        S: IntoIterator<Item = (T, B)>,
        T: AsRef<str>,
        B: IntoIterator,
        B::Item: AsRef<[u8]>,
    {
        let path = self.path(INPUTS);
        files::write_whole(&path, |file| write_inputs(file, sessions))
            .map_err(|source| ReportError::File { path, source })
    }

    /// Writes everything that a finished run leaves, the ready marker last. `earlier` are exporters that failed before.
    pub fn write(&self, run: &RunResult, earlier: Vec<ExportFailure>) -> Written {
        let mut failures = earlier;
        for kind in KINDS {
            if let FileKind::Export(exporter) = kind
                && exporter.applies.is_none_or(|applies| applies(run))
            {
                let mut folder = Folder::new(&self.plan.dir);
                (exporter.write)(run, &mut folder);
                let failed = folder.into_failures().into_iter();
                failures.extend(failed.map(|(path, source)| ExportFailure::of(exporter.name, path, source)));
            }
        }
        self.mark_ready(run.was_cancelled, &mut failures);
        Written { files: self.files_there(&failures), failures }
    }

    fn mark_ready(&self, was_cancelled: bool, failures: &mut Vec<ExportFailure>) {
        let mut failed: Vec<&str> = failures.iter().map(|failure| failure.exporter).collect();
        failed.dedup();
        let path = self.path(READY_MARKER);
        if let Err(source) = files::write_private(&path, &ready_marker(was_cancelled, &failed)) {
            failures.push(ExportFailure::of("ready_marker", path, source));
        }
    }

    /// Every file of this run that is on disk; one that an exporter failed on may be an earlier run's.
    fn files_there(&self, failures: &[ExportFailure]) -> Vec<WrittenFile> {
        let failed = |path: &Path| {
            failures.iter().any(|failure| matches!(&failure.error, ReportError::File { path: at, .. } if at == path))
        };
        let file = |kind: &FileKind| WrittenFile { label: kind.label(), path: self.path(kind.file(&self.plan.names)) };
        KINDS.iter().map(file).filter(|file| file.path.is_file() && !failed(&file.path)).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.plan.dir.join(name)
    }
}

/// Creates a file and removes it: the only sure way to know that a directory can be written to.
fn probe(dir: &Path) -> io::Result<()> {
    let path = dir.join(format!(".aiperf_probe.{}", std::process::id()));
    std::fs::File::create(&path)?;
    std::fs::remove_file(&path)
}
