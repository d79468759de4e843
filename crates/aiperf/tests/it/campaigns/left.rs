//! The files of a command with several runs.

use crate::bench::{Bench, Run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// A streaming benchmark of ten requests.
pub(crate) fn short(url: &str) -> Bench {
    Bench::of(url).with(&["--streaming", "--request-count", "10"])
}

pub(crate) fn json(run: &Run, name: &str) -> Value {
    serde_json::from_str(&run.text(name)).unwrap()
}

/// Every file below the artifact directory, by its path.
pub(crate) fn files(run: &Run) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(&run.path(""), &run.path(""), &mut found);
    found
}

fn collect(root: &Path, dir: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => collect(root, &path, found),
            false => drop(found.insert(path.strip_prefix(root).unwrap().display().to_string())),
        }
    }
}

/// The numbers of one metric in the records of a run.
pub(crate) fn values(run: &Run, dir: &str, tag: &str) -> Vec<f64> {
    let text = run.text(&format!("{dir}/profile_export.jsonl"));
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line["metrics"][tag]["value"].as_f64()).collect()
}

/// The names of a JSON object's members.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}
