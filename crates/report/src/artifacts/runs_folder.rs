//! The directory of many runs.

use super::{remove_results, take};
use crate::aggregate::AggregateNames;
use crate::error::ReportError;
use crate::files;
use aiperf_plan::ArtifactPlan;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The directory that many runs have theirs in. Until this goes, no other command may have it.
#[derive(Debug)]
pub struct RunsFolder {
    dir: PathBuf,
    lock: File,
}

impl Drop for RunsFolder {
    /// Unlocks at once, before the file is closed: a child process that is just being started may hold a copy of it.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

impl RunsFolder {
    /// Makes the directory, makes sure that it can be written to, and takes it. Nothing in it is touched.
    pub fn take(dir: &Path) -> Result<Self, ReportError> {
        Ok(Self { lock: take(dir)?, dir: dir.to_owned() })
    }

    /// Removes what a run on its own left in the directory itself, so that it is not taken for the result of these.
    pub fn remove_lone_run(&self, artifacts: &ArtifactPlan) -> Result<(), ReportError> {
        let own = ArtifactPlan { dir: self.dir.clone(), ..artifacts.clone() };
        remove_results(&own).map_err(|source| ReportError::Directory { dir: self.dir.clone(), source })
    }

    /// Removes from these folders the results of all runs of an earlier command, so that they are not taken for
    /// those of these. `documents` are files that have names of their own.
    pub fn remove_stale<'a>(
        &self,
        folders: impl IntoIterator<Item = PathBuf>,
        names: &'a AggregateNames,
        documents: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Result<(), ReportError> {
        for folder in folders {
            for name in names.all().into_iter().chain(documents.clone()) {
                let path = folder.join(name);
                files::remove_if_there(&path)
                    .map_err(|source| ReportError::Directory { dir: self.dir.clone(), source })?;
            }
        }
        Ok(())
    }
}
