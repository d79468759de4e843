//! The directory of many runs.

use super::{remove_results, take};
use crate::aggregate::AggregateNames;
use crate::error::ReportError;
use crate::files;
use aiperf_plan::ArtifactPlan;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The directory of many runs. No other command can use it until this is dropped.
#[derive(Debug)]
pub struct RunsFolder {
    dir: PathBuf,
    lock: File,
}

impl Drop for RunsFolder {
    /// Unlocks before the file is closed: a child process that is just starting may hold a copy of it.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

impl RunsFolder {
    /// Makes the directory, checks that it can be written to, and locks it. Changes nothing in it.
    pub fn take(dir: &Path) -> Result<Self, ReportError> {
        Ok(Self { lock: take(dir)?, dir: dir.to_owned() })
    }

    /// Removes the files of a single run from the directory itself, so that they are not mistaken for the results of
    /// these runs.
    pub fn remove_lone_run(&self, artifacts: &ArtifactPlan) -> Result<(), ReportError> {
        let own = ArtifactPlan { dir: self.dir.clone(), ..artifacts.clone() };
        remove_results(&own, None).map_err(|source| ReportError::Directory { dir: self.dir.clone(), source })
    }

    /// Removes the results of all runs of an earlier command from these folders, so that they are not mistaken for
    /// those of these runs. `documents` are files with names of their own.
    pub fn remove_stale<'a>(
        &self,
        folders: impl IntoIterator<Item = PathBuf>,
        names: &'a AggregateNames,
        documents: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Result<(), ReportError> {
        for folder in folders {
            let stale: Vec<_> =
                names.all().into_iter().chain(documents.clone()).map(|name| folder.join(name)).collect();
            files::remove_with_temporaries(&stale)
                .map_err(|source| ReportError::Directory { dir: self.dir.clone(), source })?;
        }
        Ok(())
    }
}
