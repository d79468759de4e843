//! What a dataset file contains about when and how much to send. Columnar files are checked when they are loaded.

use crate::row_file::{count, first_line, is_columnar, open};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Whether the first record of a file has a timestamp.
pub(super) fn has_timestamps(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    // Traces have a column of times; without it they are refused when they are read.
    if is_columnar(path) {
        return true;
    }
    let first = first_line(path);
    let Some(record) = first.and_then(|line| serde_json::from_str::<Value>(&line).ok()) else { return false };
    !record["timestamp"].is_null() || !record["timing_events"][0]["timestamp"].is_null()
}

/// The number of records in a file, or in the files of a directory.
pub(super) fn records(path: &Path) -> Option<i64> {
    if path.is_dir() {
        return Some(jsonl_files(path).iter().map(|file| count(file) as i64).sum());
    }
    if is_columnar(path) {
        return None;
    }
    let count = count(path) as i64;
    (count > 0).then_some(count)
}

/// The number of sessions of a file that no other session starts.
pub(super) fn roots(path: &Path) -> Option<i64> {
    let (mut ids, mut children) = (BTreeSet::new(), BTreeSet::new());
    let lines = open(path).into_iter().flat_map(|text| text.lines().map_while(Result::ok));
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let session: Value = serde_json::from_str(&line).ok()?;
        ids.insert(session["session_id"].as_str()?.to_owned());
        collect_children(&session, &mut children);
    }
    Some(ids.difference(&children).count() as i64)
}

fn collect_children(value: &Value, children: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if ["forks", "spawns", "pre_session_spawns"].contains(&key.as_str()) {
                    names(value, children);
                } else {
                    collect_children(value, children);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_children(item, children)),
        _ => {}
    }
}

fn names(value: &Value, children: &mut BTreeSet<String>) {
    match value {
        Value::String(name) => {
            children.insert(name.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, children)),
        Value::Object(map) => map.values().for_each(|item| names(item, children)),
        _ => {}
    }
}

fn jsonl_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|ext| ext == "jsonl") {
                found.push(path);
            }
        }
    }
    found
}
