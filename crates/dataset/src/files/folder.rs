//! The files to read in a folder, in order.

use std::path::{Path, PathBuf};

use super::notes::NAMES_SHOWN;
use super::{Folder, Format};
use crate::error::DatasetError;

/// Levels of nested folders to search: deeper ones are a mistake, or a cycle of links.
const DEEPEST: usize = 32;

/// The files to read, and a note on entries with a matching name that are not files.
pub(super) fn files_of(path: &Path, format: &Format) -> Result<(Vec<PathBuf>, Option<String>), DatasetError> {
    if !path.is_dir() {
        return Ok((vec![path.to_owned()], None));
    }
    let refused = |fault: String| DatasetError::of_file(path, fault);
    let mut named = Vec::new();
    let is_jsonl = |path: &Path| path.extension().is_some_and(|ending| ending == "jsonl");
    let wanted: fn(&Path) -> bool = match format.folder {
        Folder::Refused => {
            let fault = format!("is a folder, and {} is read from a file\n  try: one of its files", format.name);
            return Err(refused(fault));
        }
        Folder::ConversationAFile | Folder::AllFiles => is_jsonl,
        // Names that begin with a dot belong to the system.
        Folder::PoolAFile => {
            |path| path.is_file() && path.file_name().is_none_or(|name| name.as_encoded_bytes()[0] != b'.')
        }
    };
    let depth = if format.folder == Folder::AllFiles { DEEPEST } else { 0 };
    list(path, depth, wanted, &mut named).map_err(|error| refused(format!("cannot be read: {error}")))?;
    named.sort();
    let (files, others): (Vec<_>, Vec<_>) = named.into_iter().partition(|path| path.is_file());
    let names: Vec<_> = others.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy()).collect();
    let more = if names.len() > NAMES_SHOWN { " and others" } else { "" };
    let shown = names[..names.len().min(NAMES_SHOWN)].join(", ");
    let note = format!("{}: not read, because they are no files: {shown}{more}", path.display());
    if files.is_empty() {
        return Err(refused(match format.folder {
            Folder::PoolAFile => "is a folder without files\n  try: a pool a file, a line for each entry".into(),
            Folder::AllFiles => {
                "is a folder without *.jsonl files\n  try: the folder that captures were written to".into()
            }
            _ => "is a folder without *.jsonl files\n  try: a conversation a file, a line for each turn".into(),
        }));
    }
    Ok((files, (!names.is_empty()).then_some(note)))
}

fn list(folder: &Path, depth: usize, wanted: fn(&Path) -> bool, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if depth > 0 && path.is_dir() {
            list(&path, depth - 1, wanted, found)?;
        } else if wanted(&path) {
            found.push(path);
        }
    }
    Ok(())
}
