//! Why something could not be written, and the way out.

use std::io;
use std::path::PathBuf;

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
    /// Another run writes there.
    #[error(
        "another run is writing to the artifact directory {}\n  two runs in one directory would mix their results\n  \
         try: --artifact-dir with another directory, or wait for that run", dir.display()
    )]
    InUse { dir: PathBuf },
    /// A file of the run has the name of a folder.
    #[error(
        "{} is a folder, and a file of the run has that name\n  try: --artifact-dir with another directory, or another \
         --profile-export-prefix", path.display()
    )]
    IsFolder { path: PathBuf },
    /// A folder of the run has the name of a file.
    #[error(
        "{} is a file, and a folder of the run has that name\n  try: --artifact-dir with another directory, or move the \
         file away", path.display()
    )]
    IsFile { path: PathBuf },
    /// A file of the run has an invalid name.
    #[error(
        "the file system takes no name as long as that of {}\n  try: a shorter --profile-export-prefix, or \
         --artifact-dir with a shorter path", path.display()
    )]
    NameTooLong { path: PathBuf },
    /// A file of the user cannot be in its place.
    #[error(
        "cannot write the user file {}: {why}\n  try: another path in artifacts.user_files", path.display()
    )]
    UserFile { path: PathBuf, why: String },
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
