//! The artifact directory: prepared before a run, filled during it and after it.
//!
//! Exporters do not depend on each other: one that fails is reported, and the others still write.

use crate::console::page::Page;
use crate::console::report;
use crate::files::{self, LinesFile};
use crate::inputs_json::write_inputs;
use crate::marker::{READY_MARKER, ready_marker};
use crate::phases::{PHASE_MANIFEST, phase_folder, phase_manifest};
use crate::run::RunResult;
use crate::summary_csv::summary_csv;
use crate::summary_json::{phase_summary_json, summary_json};
use crate::timeslices_csv::write_timeslices_csv;
use crate::timeslices_json::write_timeslices_json;
use aiperf_plan::{ArtifactPlan, ExportLevel};
use std::io;
use std::path::{Path, PathBuf};

const INPUTS: &str = "inputs.json";
const LOG: &str = "logs/aiperf.log";

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The directory cannot be made or written to.
    #[error(
        "cannot write to the artifact directory {}: {source}\n  every result of a run is written there\n  \
         try: --artifact-dir with a directory that can be written to", dir.display()
    )]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file in it cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// An exporter that failed.
#[derive(Debug)]
pub struct ExportFailure {
    /// Name of the exporter, as the ready marker lists it.
    pub exporter: &'static str,
    /// What happened.
    pub error: ReportError,
}

/// A file of the run and what it is called in the footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// What it is.
    pub label: &'static str,
    /// Where it is.
    pub path: PathBuf,
}

/// What came of writing a run down.
#[derive(Debug, Default)]
pub struct Written {
    /// Files that are there, in the order the footer lists them.
    pub files: Vec<WrittenFile>,
    /// Exporters that failed.
    pub failures: Vec<ExportFailure>,
}

/// A prepared artifact directory.
#[derive(Clone, Debug)]
pub struct Artifacts {
    plan: ArtifactPlan,
}

impl Artifacts {
    /// Makes the directory, makes sure that it can be written to, and removes what an earlier run left in it and this
    /// one may not write, so that nothing of it is taken for this run's.
    pub fn prepare(plan: &ArtifactPlan) -> Result<Self, ReportError> {
        let artifacts = Self { plan: plan.clone() };
        let names = &plan.names;
        let slices = [names.timeslices_csv.as_str(), &names.timeslices_json];
        let streamed = [names.records_jsonl.as_str(), &names.raw_jsonl];
        let stale = [READY_MARKER, PHASE_MANIFEST].into_iter().chain(slices).chain(streamed);
        std::fs::create_dir_all(&plan.dir)
            .and_then(|()| probe(&plan.dir))
            .and_then(|()| { stale }.try_for_each(|name| files::remove_if_there(&artifacts.path(name))))
            .map_err(|source| ReportError::Directory { dir: plan.dir.clone(), source })?;
        Ok(artifacts)
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.plan.dir
    }

    /// Where the log belongs.
    pub fn log_file(&self) -> PathBuf {
        self.path(LOG)
    }

    /// The file of record lines, when the export level has one.
    pub fn records(&self) -> Result<Option<LinesFile>, ReportError> {
        if self.plan.level < ExportLevel::Records {
            return Ok(None);
        }
        let path = self.path(&self.plan.names.records_jsonl);
        LinesFile::create(&path).map(Some).map_err(|source| ReportError::File { path, source })
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
        files::write_whole_with(&path, |file| write_inputs(file, sessions))
            .map_err(|source| ReportError::File { path, source })
    }

    /// Writes everything that a finished run leaves, the ready marker last. `earlier` are exporters that failed while
    /// the run was on; `page` is how the console file is laid out.
    pub fn write(&self, run: &RunResult, page: Page, earlier: Vec<ExportFailure>) -> Written {
        let names = &self.plan.names;
        let mut failures = earlier;
        let mut check = |exporter, path: PathBuf, written: io::Result<()>| {
            if let Err(source) = written {
                failures.push(ExportFailure { exporter, error: ReportError::File { path, source } });
            }
        };
        if !run.slices.is_empty() {
            let (csv, json) = (self.path(&names.timeslices_csv), self.path(&names.timeslices_json));
            let written = files::write_whole_with(&csv, |file| write_timeslices_csv(file, &run.slices));
            check("timeslices_csv", csv, written);
            let written = files::write_whole_with(&json, |file| write_timeslices_json(file, run));
            check("timeslices_json", json, written);
        }
        let mut export = |exporter, name: &str, bytes: &[u8]| {
            let path = self.path(name);
            let written = files::write_whole(&path, bytes);
            check(exporter, path, written);
        };
        export("csv", &names.summary_csv, summary_csv(&run.metrics).as_bytes());
        export("json", &names.summary_json, &summary_json(run));
        if run.phases.len() > 1 {
            for phase in &run.phases {
                let folder = phase_folder(&phase.id.name);
                let csv = summary_csv(&phase.metrics);
                export("phases", &format!("{folder}/{}", names.summary_csv), csv.as_bytes());
                export("phases", &format!("{folder}/{}", names.summary_json), &phase_summary_json(run, phase));
            }
            export("phases", PHASE_MANIFEST, &phase_manifest(run));
        }
        export("console", &names.console_txt, report(run, page).as_bytes());
        self.mark_ready(run.was_cancelled, &mut failures);
        Written { files: self.files_there(&failures), failures }
    }

    fn mark_ready(&self, was_cancelled: bool, failures: &mut Vec<ExportFailure>) {
        let mut failed: Vec<&str> = failures.iter().map(|failure| failure.exporter).collect();
        failed.dedup();
        let path = self.path(READY_MARKER);
        if let Err(source) = files::write_private(&path, &ready_marker(was_cancelled, &failed)) {
            failures.push(ExportFailure { exporter: "ready_marker", error: ReportError::File { path, source } });
        }
    }

    /// Every file of this run that is on disk; one that an exporter failed on may be an earlier run's.
    fn files_there(&self, failures: &[ExportFailure]) -> Vec<WrittenFile> {
        let names = &self.plan.names;
        let failed = |path: &Path| {
            failures.iter().any(|failure| matches!(&failure.error, ReportError::File { path: at, .. } if at == path))
        };
        [
            ("CSV Export", names.summary_csv.as_str()),
            ("JSON Export", &names.summary_json),
            ("Records JSONL", &names.records_jsonl),
            ("Raw Records", &names.raw_jsonl),
            ("Timeslice CSV Export", &names.timeslices_csv),
            ("Timeslice JSON Export", &names.timeslices_json),
            ("Inputs JSON", INPUTS),
            ("Console Output", &names.console_txt),
            ("Phase Manifest", PHASE_MANIFEST),
            ("Log File", LOG),
        ]
        .into_iter()
        .map(|(label, name)| WrittenFile { label, path: self.path(name) })
        .filter(|file| file.path.is_file() && !failed(&file.path))
        .collect()
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
