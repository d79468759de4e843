//! The artifact directory: prepared before a run, filled during it and after it.
//!
//! Exporters do not depend on each other: one that fails is reported, and the others still write.
//!
//! # Layout
//! - `kinds`: every kind of file in one table
//! - `user_files`: texts of the user, written before a run
//! - `reserve`: disk space for the files that are written at the end
//! - [`marker`]: the sign that everything is written
//! - `runs_folder`: the directory of many runs

mod kinds;
pub mod marker;
mod reserve;
mod runs_folder;
mod user_files;

pub use runs_folder::RunsFolder;

use crate::error::{ExportFailure, ReportError};
use crate::export::{Completion, Folder, RecordFile, RecordRun, RecordWriting, WrittenFile};
use crate::files;
use crate::format::json::document_text;
use crate::records::inputs_json::{InputsEntry, write_inputs};
use crate::run::RunResult;
use crate::server_metrics::jsonl::ScrapeFile;
use crate::staged::{self, Staged};
use crate::summary::phases::remove_phases;
use aiperf_plan::redact::Redactor;
use aiperf_plan::{ArtifactPlan, FileNames};
use kinds::{FileKind, INPUTS, KINDS, LOG};
use marker::ready_marker;
use reserve::{RESERVES, Reserves};
use serde_json::Value;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The file that tests whether the directory can be written to.
const PROBE: &str = "aiperf_probe";
/// A disk without space for this is full.
const PROBE_BYTES: usize = 64 << 10;

/// The result of the first part of writing.
#[derive(Debug)]
#[must_use = "a run is written down only with the rest"]
pub struct FirstWritten {
    pub failures: Vec<ExportFailure>,
}

/// The result of writing all files.
#[derive(Debug, Default)]
pub struct Written {
    /// Files that exist, in the order of the footer.
    pub files: Vec<WrittenFile>,
    pub failures: Vec<ExportFailure>,
}

/// A prepared artifact directory. No other run can use it until this is dropped.
#[derive(Debug)]
pub struct Artifacts {
    plan: ArtifactPlan,
    /// Locked, if the file system has locks. The lock ends with the process, however it ends.
    lock: File,
    /// Disk space for what is written when the run is over: in the first part, and at the end.
    reserves: Mutex<Reserves>,
}

/// `inputs.json`, written but not yet in its place.
#[derive(Debug)]
pub struct StagedInputs(Staged);

impl Drop for Artifacts {
    /// Ends the thread that writes reserves first. Unlocks before the file is closed: a child process that is just
    /// starting may hold a copy of it.
    fn drop(&mut self) {
        *self.reserves.get_mut().unwrap_or_else(PoisonError::into_inner) = Reserves::default();
        let _ = self.lock.unlock();
    }
}

/// Makes a directory, checks that it can be written to, and locks it. Changes nothing in it.
fn take(dir: &Path) -> Result<File, ReportError> {
    let at = |source| ReportError::Directory { dir: dir.to_owned(), source };
    std::fs::create_dir_all(dir).map_err(at)?;
    let lock = File::open(dir).map_err(at)?;
    // If the file system has no locks, the user is responsible.
    if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(ReportError::InUse { dir: dir.to_owned() });
    }
    probe(dir).map_err(at)?;
    Ok(lock)
}

/// Removes the results of a run from a directory, and the temporary files of a run that was killed, except one.
fn remove_results(plan: &ArtifactPlan, except: Option<&Path>) -> io::Result<()> {
    let stale = KINDS.iter().filter(|kind| kind.is_removed_before_a_run()).map(|kind| kind.file(&plan.names));
    std::iter::once(FileNames::READY_MARKER)
        .chain(stale)
        .try_for_each(|name| files::remove_if_there(&plan.dir.join(name)))
        .and_then(|()| earlier_records(plan).map_or(Ok(()), |path| files::remove_if_there(&path)))
        .and_then(|()| remove_phases(plan))
        .and_then(|()| remove_temporaries(plan, except))?;
    remove_records_folder(plan);
    Ok(())
}

fn remove_temporaries(plan: &ArtifactPlan, except: Option<&Path>) -> io::Result<()> {
    let files: Vec<PathBuf> = KINDS
        .iter()
        .map(|kind| kind.file(&plan.names))
        .chain(plan.names.earlier_records_parquet())
        .chain([FileNames::READY_MARKER, FileNames::RUN_CONFIG, PROBE])
        .chain(RESERVES)
        .map(|name| plan.dir.join(name))
        .chain(user_files::paths(plan))
        .collect();
    files::remove_temporaries(&files, except)
}

/// The Parquet file of records, in the place of earlier versions.
fn earlier_records(plan: &ArtifactPlan) -> Option<PathBuf> {
    plan.names.earlier_records_parquet().map(|name| plan.dir.join(name)).filter(|path| path.is_file())
}

/// Removes the folder of the records, unless it contains other files.
fn remove_records_folder(plan: &ArtifactPlan) {
    let folders =
        Path::new(&plan.names.records_parquet).ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
    for folder in folders {
        let _ = std::fs::remove_dir(plan.dir.join(folder));
    }
}

/// A record file that is open for the run.
pub struct OpenRecordFile {
    pub name: &'static str,
    pub path: PathBuf,
    pub writing: RecordWriting,
}

/// A record file that is complete only with the result of the run.
pub struct IncompleteFile {
    pub name: &'static str,
    pub path: PathBuf,
    pub complete: Completion,
}

impl Artifacts {
    /// Makes the directory, checks that it can be written to, and locks it for this run. Changes nothing in it.
    pub fn prepare(plan: &ArtifactPlan) -> Result<Self, ReportError> {
        let dir = &plan.dir;
        let lock = take(dir)?;
        let artifacts = Self { plan: plan.clone(), lock, reserves: Mutex::default() };
        let mut names = KINDS.iter().map(|kind| kind.file(&plan.names));
        if let Some(name) = names.find(|name| files::is_too_long(dir, Path::new(name))) {
            return Err(ReportError::NameTooLong { path: artifacts.path(name) });
        }
        let paths = || KINDS.iter().map(|kind| artifacts.path(kind.file(&plan.names)));
        if let Some(path) = paths().find(|path| path.is_dir()) {
            return Err(ReportError::IsFolder { path });
        }
        let file_among_folders = |path: PathBuf| {
            let mut folders = path.ancestors().skip(1).take_while(|folder| folder != dir);
            folders.find(|folder| folder.is_file()).map(Path::to_owned)
        };
        if let Some(path) = paths().find_map(file_among_folders) {
            return Err(ReportError::IsFile { path });
        }
        user_files::check(plan).map(|()| artifacts)
    }

    /// Removes the files of an earlier run, so that none is mistaken for this run's. Call it when everything is checked
    /// and the run is about to start.
    pub fn remove_stale(&self) -> Result<(), ReportError> {
        // The temporary file of `inputs.json` belongs to this run, and is about to be published.
        let own = staged::temporary_name(&self.path(INPUTS));
        remove_results(&self.plan, Some(&own))
            .map_err(|source| ReportError::Directory { dir: self.plan.dir.clone(), source })
    }

    /// Removes the temporary `inputs.json`, for a run that ends before it starts.
    pub fn abandon_inputs(&self) {
        let _ = files::remove_if_there(&staged::temporary_name(&self.path(INPUTS)));
    }

    pub fn dir(&self) -> &Path {
        &self.plan.dir
    }

    /// The path of the log.
    pub fn log_file(&self) -> PathBuf {
        self.path(LOG)
    }

    /// Opens every file that takes records while the run is on.
    pub fn open_record_files(&self, run: &RecordRun) -> Result<Vec<OpenRecordFile>, ReportError> {
        let kinds = KINDS.iter().filter_map(|kind| match kind {
            FileKind::Records(kind) if (kind.wanted)(&self.plan) => Some(*kind),
            _ => None,
        });
        let open = |kind: &'static RecordFile| {
            let path = self.path((kind.file)(&self.plan.names));
            match (kind.open)(&path, run) {
                Ok(writing) => Ok(OpenRecordFile { name: kind.name, path, writing }),
                Err(source) => Err(ReportError::File { path, source }),
            }
        };
        kinds.map(open).collect()
    }

    /// Begins to reserve disk space for the files that are written when the run is over, however much its records take.
    /// Call it when the run is about to start. If there is no space, the run continues: a short run may need none.
    pub fn keep_room(&self) {
        *self.reserves.lock().unwrap_or_else(PoisonError::into_inner) = Reserves::take(&self.plan.dir);
    }

    fn give_room(&self, part: usize) {
        self.reserves.lock().unwrap_or_else(PoisonError::into_inner).give(part);
    }

    /// The file that takes scrapes of the servers' own metrics while the run is on.
    pub fn scrape_file(&self) -> ScrapeFile {
        ScrapeFile::new(self.path(&self.plan.names.server_metrics_jsonl))
    }

    /// The file that takes probes of the network while the run is on.
    pub fn network_latency_file(&self) -> ScrapeFile {
        ScrapeFile::new(self.path(&self.plan.names.network_latency_jsonl))
    }

    /// The file that takes samples of GPUs while the run is on.
    pub fn gpu_file(&self) -> ScrapeFile {
        ScrapeFile::new(self.path(&self.plan.names.gpu_telemetry_jsonl))
    }

    /// Writes `inputs.json` to a temporary file. `fill` adds its sessions, in their order.
    pub fn stage_inputs(
        &self,
        fill: impl FnOnce(&mut dyn FnMut(&InputsEntry) -> io::Result<()>) -> io::Result<()>,
    ) -> Result<StagedInputs, ReportError> {
        let path = self.path(INPUTS);
        Staged::write(&path, None, |file| write_inputs(file, fill))
            .map(StagedInputs)
            .map_err(|source| ReportError::File { path, source })
    }

    /// Renames `inputs.json` to its final name.
    pub fn publish_inputs(&self, StagedInputs(staged): StagedInputs) -> Result<(), ReportError> {
        staged.publish().map_err(|source| ReportError::File { path: self.path(INPUTS), source })
    }

    /// Writes the files with the user's texts. Call it when the run is about to start.
    pub fn write_user_files(&self, redactor: &Redactor) -> Result<(), ReportError> {
        user_files::write(&self.plan, redactor)
    }

    /// Writes the run's configuration, so that a later command can decide whether to run it again. Call it when the run
    /// is about to start.
    pub fn write_run_config(&self, document: &Value) -> Result<(), ReportError> {
        let path = self.path(FileNames::RUN_CONFIG);
        let written = files::write_whole(&path, |out| out.write_all(&document_text(document)));
        written.map_err(|source| ReportError::File { path, source })
    }

    /// Writes the files of a finished run that do not depend on observers. `earlier` are exporters that failed before;
    /// `incomplete` are record files to complete.
    pub fn write_first(
        &self,
        run: &RunResult,
        earlier: Vec<ExportFailure>,
        incomplete: Vec<IncompleteFile>,
    ) -> FirstWritten {
        self.give_room(0);
        let mut failures = earlier;
        self.export(run, false, &mut failures);
        for IncompleteFile { name, path, complete } in incomplete {
            if failures.iter().all(|failure| failure.exporter != name)
                && let Err(source) = complete(run)
            {
                failures.push(ExportFailure::of(name, path, source));
            }
        }
        FirstWritten { failures }
    }

    /// Writes the rest, when the observers' results are in `run`, and the ready marker last.
    pub fn write_rest(&self, run: &RunResult, FirstWritten { mut failures }: FirstWritten) -> Written {
        self.give_room(1);
        self.export(run, true, &mut failures);
        self.mark_ready(run, &mut failures);
        Written { files: self.files_there(&failures), failures }
    }

    fn export(&self, run: &RunResult, with_observers: bool, failures: &mut Vec<ExportFailure>) {
        for kind in KINDS {
            if let FileKind::Export(exporter) = kind
                && exporter.needs_observers == with_observers
                && exporter.applies.is_none_or(|applies| applies(run))
            {
                let mut folder = Folder::new(&self.plan.dir);
                (exporter.write)(run, &mut folder);
                let failed = folder.into_failures().into_iter();
                failures.extend(failed.map(|(path, source)| ExportFailure::of(exporter.name, path, source)));
            }
        }
    }

    fn mark_ready(&self, run: &RunResult, failures: &mut Vec<ExportFailure>) {
        let mut failed: Vec<&str> = Vec::new();
        for failure in failures.iter() {
            if !failed.contains(&failure.exporter) {
                failed.push(failure.exporter);
            }
        }
        let path = self.path(FileNames::READY_MARKER);
        let marker = ready_marker(run.was_cancelled, run.has_lost_records, &failed);
        if let Err(source) = files::write_private(&path, &marker) {
            failures.push(ExportFailure::of("ready_marker", path, source));
        }
    }

    /// Every file of this run on disk. A file whose exporter failed may be from an earlier run.
    fn files_there(&self, failures: &[ExportFailure]) -> Vec<WrittenFile> {
        let failed = |path: &Path| {
            failures.iter().any(|failure| matches!(&failure.error, ReportError::File { path: at, .. } if at == path))
        };
        let file = |kind: &FileKind| WrittenFile { label: kind.label(), path: self.path(kind.file(&self.plan.names)) };
        let own = user_files::paths(&self.plan).map(|path| WrittenFile { label: user_files::LABEL, path });
        let all = KINDS.iter().map(file).chain(own);
        all.filter(|file| file.path.is_file() && !failed(&file.path)).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.plan.dir.join(name)
    }
}

/// Writes a file and removes it: the only sure test that a directory can be written to and has space.
fn probe(dir: &Path) -> io::Result<()> {
    let (staged, ()) = Staged::begin(&dir.join(PROBE), |path| std::fs::write(path, [0; PROBE_BYTES]))?;
    staged.end_by(|path, _| files::remove_if_there(path))
}
