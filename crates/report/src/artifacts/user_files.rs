//! Files with a text of the user: where they may be, and how they are written.

use crate::error::ReportError;
use crate::files;
use aiperf_plan::redact::Redactor;
use aiperf_plan::{ArtifactPlan, UserFile, collide};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

pub(crate) const LABEL: &str = "User File";

/// Checks that each of them is in the directory and is no other file of the run. The directory exists already.
pub(crate) fn check(plan: &ArtifactPlan) -> Result<(), ReportError> {
    for (at, file) in plan.user_files.iter().enumerate() {
        let path = &within(file);
        let refused = |why: &str| ReportError::UserFile { path: plan.dir.join(path), why: why.to_owned() };
        if files::is_too_long(&plan.dir, path) {
            return Err(refused("the file system takes no name as long as that"));
        }
        check_folder(&plan.dir, path).map_err(refused)?;
        if plan.names.all().map(Path::new).any(|name| collide(name, path)) {
            return Err(refused("a file of the run has that path"));
        }
        if plan.user_files[..at].iter().any(|other| collide(&other.path, path)) {
            return Err(refused("another user file has that path, or a folder of it"));
        }
        let path = plan.dir.join(path);
        if path.is_dir() {
            return Err(ReportError::IsFolder { path });
        }
    }
    Ok(())
}

/// Writes all of them, each as a whole, with the folders they need.
pub(crate) fn write(plan: &ArtifactPlan, redactor: &Redactor) -> Result<(), ReportError> {
    for (path, text) in paths(plan).zip(plan.user_files.iter().map(|file| &file.text)) {
        let written = files::write_whole(&path, |out| out.write_all(redactor.hide(text).as_bytes()));
        written.map_err(|source| ReportError::File { path, source })?;
    }
    Ok(())
}

pub(crate) fn paths(plan: &ArtifactPlan) -> impl Iterator<Item = PathBuf> {
    plan.user_files.iter().map(|file| plan.dir.join(within(file)))
}

/// Its path in the directory, normalised: `./x` is `x`.
fn within(file: &UserFile) -> PathBuf {
    file.path.components().filter(|part| *part != Component::CurDir).collect()
}

/// Checks that a file would be in the directory, after following the existing folders.
fn check_folder(dir: &Path, path: &Path) -> Result<(), &'static str> {
    const OUTSIDE: &str = "it does not lie in the artifact directory";
    let parts: Vec<Component<'_>> = path.components().collect();
    let Some((_, folders)) = parts.split_last() else { return Err("it has no name") };
    if !parts.iter().all(|part| matches!(part, Component::Normal(_))) {
        return Err(OUTSIDE);
    }
    let root = dir.canonicalize().map_err(|_| "the artifact directory is gone")?;
    let mut folder = root.clone();
    for part in folders {
        folder.push(part);
        if folder.symlink_metadata().is_err() {
            // Missing parts are created.
            break;
        }
        folder = folder.canonicalize().map_err(|_| "a folder of its path is a link that leads nowhere")?;
        if !folder.starts_with(&root) {
            return Err(OUTSIDE);
        }
        if !folder.is_dir() {
            return Err("a folder of its path is a file");
        }
    }
    Ok(())
}
