//! Rejects a run that would replace a file it reads, and an output that would replace a file of the run.

use aiperf_plan::{DatasetPlan, FileSource, Plan, collide};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file that would be replaced.
#[derive(Debug, Error)]
#[error("{flag} {} is also {other}, and one would replace the other\n  try: {way_out}", path.display())]
pub struct OverwriteError {
    flag: String,
    path: PathBuf,
    other: String,
    way_out: &'static str,
}

/// Rejects a plan whose files would replace its input.
pub(crate) fn check(plan: &Plan) -> Result<(), OverwriteError> {
    match inputs(plan).find_map(|(flag, path)| Some((flag, path, own_file(plan, path)?))) {
        Some((flag, path, own)) => Err(OverwriteError {
            flag: flag.to_owned(),
            path: path.to_owned(),
            other: format!("the file {own} of this run"),
            way_out: "another --artifact-dir, or a copy of the file in another folder",
        }),
        None => Ok(()),
    }
}

/// Refuses a file to be written after a run, by the flag that names it, if the run reads or writes that file itself.
pub fn check_output(flag: &str, path: &Path, plan: &Plan) -> Result<(), OverwriteError> {
    let read = |(_, input): &(&str, &Path)| real(input).is_some_and(|input| Some(input) == real(path));
    let own = own_file(plan, path).map(|own| format!("the file {own} of this run"));
    match own.or_else(|| inputs(plan).find(read).map(|(setting, _)| format!("the file of {setting}"))) {
        Some(other) => {
            Err(OverwriteError { flag: flag.to_owned(), path: path.to_owned(), other, way_out: "another file" })
        }
        None => Ok(()),
    }
}

/// The files that a run reads, by the setting that names each.
fn inputs(plan: &Plan) -> impl Iterator<Item = (&str, &Path)> {
    let settings = plan.artifacts.inputs.iter().map(|file| (file.setting.as_str(), file.path.as_path()));
    input(plan).map(|path| ("--input-file", path)).into_iter().chain(settings)
}

fn input(plan: &Plan) -> Option<&Path> {
    match &plan.dataset {
        DatasetPlan::File(file) => match &file.source {
            FileSource::Path(path) => Some(path),
            FileSource::Records { .. } => None,
        },
        DatasetPlan::Trace(trace) => Some(&trace.path),
        _ => None,
    }
}

/// The run's own file at this path. A folder that does not exist yet has none.
fn own_file(plan: &Plan, path: &Path) -> Option<String> {
    let dir = plan.artifacts.dir.canonicalize().ok()?;
    let inside = real(path)?.strip_prefix(&dir).ok()?.to_owned();
    let own = plan.artifacts.names.all().find(|own| collide(&inside, Path::new(own))).map(str::to_owned);
    let mut user_files = plan.artifacts.user_files.iter().map(|file| &file.path);
    own.or_else(|| user_files.find(|file| collide(&inside, file)).map(|file| file.display().to_string()))
}

/// A path with all links resolved; the file itself need not exist.
fn real(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    path.canonicalize().ok().or_else(|| Some(folder.canonicalize().ok()?.join(path.file_name()?)))
}
