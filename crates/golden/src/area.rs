//! Where golden data lies: areas, their files, and the shapes of their cases.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// A folder of golden data.
#[derive(Clone, Debug)]
pub struct Area {
    folder: PathBuf,
}

/// A list of cases: a JSON file, or a member of one.
#[derive(Clone, Debug)]
pub struct CaseList {
    pub path: PathBuf,
    pub content: Value,
}

/// A file or folder of the project's own golden data, wherever `AIPERF_GOLDEN_DIR` points.
pub fn own_path(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data")).join(path)
}

/// The root of golden data: the project's own, or `$AIPERF_GOLDEN_DIR`.
pub(crate) fn root() -> PathBuf {
    other_root().unwrap_or_else(|| own_path(""))
}

/// Whether golden data is the project's own. Another root may lack kinds, and hold files that no test reads.
pub fn is_own_root() -> bool {
    other_root().is_none()
}

fn other_root() -> Option<PathBuf> {
    std::env::var_os("AIPERF_GOLDEN_DIR").map(PathBuf::from)
}

/// Whether a case looks like those of a kind: how a test finds its files.
pub type Shape = fn(&Value) -> bool;

/// Whether a case has a member, by its path: `expected.error`. One that is null is there.
pub fn has(case: &Value, path: &str) -> bool {
    path.split('.').try_fold(case, |value, key| value.get(key)).is_some()
}

/// Why a text of a case that begins with a byte order mark is read otherwise than the reference does: it is skipped,
/// wherever a text is read. Nothing where no text does.
pub fn skips_mark(texts: &Value) -> Option<String> {
    fn is_marked(value: &Value) -> bool {
        match value {
            Value::String(text) => text.starts_with('\u{feff}'),
            Value::Array(items) => items.iter().any(is_marked),
            Value::Object(members) => members.values().any(is_marked),
            _ => false,
        }
    }
    is_marked(texts).then(|| "a byte order mark is skipped".to_owned())
}

impl Area {
    pub fn of(area: &str) -> Self {
        Self { folder: root().join(area) }
    }

    /// The folder, which may not be there.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Every JSON file directly in the folder, by name. A folder that is missing has none.
    pub fn files(&self) -> Vec<CaseList> {
        self.paths().into_iter().filter(|path| is_json(path)).map(CaseList::read).collect()
    }

    /// What lies directly in the folder, files and folders, by name.
    pub fn paths(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    }
}

fn is_json(path: &Path) -> bool {
    path.is_file() && path.extension().is_some_and(|ending| ending == "json")
}

impl CaseList {
    fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let content = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path, content }
    }

    /// The file's name without its ending.
    pub fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// What it lists under `cases`, or all of it where it is a list; nothing where it lists none.
    pub fn cases(&self) -> &[Value] {
        let list = self.content.as_array().or_else(|| self.content["cases"].as_array());
        list.map_or(&[], Vec::as_slice)
    }
}

/// A case's name as its file gives it, for messages only: nothing may depend on it.
pub fn name(case: &Value) -> String {
    let named = ["name", "id", "case"].iter().find_map(|key| case[*key].as_str());
    named.map_or_else(|| case.to_string().chars().take(120).collect(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_in_every_text() {
        assert!(skips_mark(&serde_json::json!({"a": ["x", "\u{feff}{}"]})).is_some());
        assert!(skips_mark(&serde_json::json!({"a": ["x\u{feff}", 1]})).is_none());
    }

    #[test]
    fn a_missing_folder_has_no_files() {
        assert!(Area::of("none").files().is_empty());
    }
}
